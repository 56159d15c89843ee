package wordvectors

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDefault(t *testing.T) {
	v := Default()
	require.Greater(t, v.Len(), 2000)
	require.LessOrEqual(t, len(data), 2<<20)
	for stem := range v.number {
		require.Empty(t, strings.Trim(stem, "abcdefghijklmnopqrstuvwxyz"), "%q is a word", stem)
	}
	for _, row := range [][3]string{
		{"delet", "remov", "weather"}, {"send", "messag", "temperatur"}, {"price", "market", "branch"}, {"commit", "branch", "hotel"},
	} {
		require.Greater(t, v.Cosine(row[0], row[1]), v.Cosine(row[0], row[2])+0.1, "%v", row)
	}
	require.Zero(t, v.Cosine("delet", "no such word"))
}

// The notice names the file that is here.
func TestNoticeNamesTheVectors(t *testing.T) {
	notice, err := os.ReadFile("../../NOTICE")
	require.NoError(t, err)
	require.Contains(t, string(notice), fmt.Sprintf("%x", sha256.Sum256(data)))
}

func TestEncodeAndDecode(t *testing.T) {
	b, err := Encode([]Word{{"a", 2, []float64{1, 0}}, {"b", 1, []float64{0.6, -0.8}}, {"none", 1, []float64{0, 0}}})
	require.NoError(t, err)
	v, err := Decode(b)
	require.NoError(t, err)
	require.Equal(t, 3, v.Len())
	x := make([]float64, v.Dimension())
	require.True(t, v.Vector(x, "a"))
	require.InDeltaSlice(t, []float64{2, 0}, x, 0.01)
	require.True(t, v.Vector(x, "b"))
	require.InDeltaSlice(t, []float64{0.6, -0.8}, x, 0.01)
	require.True(t, v.Vector(x, "none"))
	require.Equal(t, []float64{0, 0}, x)
	require.False(t, v.Vector(x, "c"))
	for n := range len(b) {
		_, err := Decode(b[:n])
		require.Error(t, err, "%d bytes", n)
	}
	_, err = Encode(nil)
	require.EqualError(t, err, "no words")
	_, err = Encode([]Word{{"a", 1, []float64{1}}, {"b", 1, nil}})
	require.EqualError(t, err, `the word "b" does not fit`)
}
