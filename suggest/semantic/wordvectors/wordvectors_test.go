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
	require.Greater(t, v.tools.Len(), 2000)
	require.Greater(t, v.english.Len(), 10000)
	require.LessOrEqual(t, len(toolsData)+len(englishData), 2<<20)
	for _, table := range []*Table{v.tools, v.english} {
		for stem := range table.number {
			require.Empty(t, strings.Trim(stem, "abcdefghijklmnopqrstuvwxyz"), "%q is a word", stem)
		}
	}
	for _, row := range [][3]string{
		{"delet", "remov", "weather"}, {"send", "messag", "temperatur"}, {"price", "market", "branch"}, {"commit", "branch", "hotel"},
		{"maid", "cleaner", "invoic"}, {"pharmaci", "medicin", "branch"}, // of these tools have one or none
	} {
		require.Greater(t, v.Cosine(row[0], row[1]), v.Cosine(row[0], row[2])+0.1, "%v", row)
	}
	require.Zero(t, v.Cosine("delet", "no such word"))
	require.True(t, v.Has("delet"))
	require.False(t, v.Has("maid"), "a word that no tool uses")
}

// The notice names the file that is here.
func TestNoticeNamesTheVectors(t *testing.T) {
	notice, err := os.ReadFile("../../../NOTICE")
	require.NoError(t, err)
	for _, data := range [][]byte{toolsData, englishData} {
		require.Contains(t, string(notice), fmt.Sprintf("%x", sha256.Sum256(data)))
	}
}

func TestEncodeAndDecode(t *testing.T) {
	b, err := Encode([]Word{{"a", 2, []float64{1, 0}}, {"b", 1, []float64{0.6, -0.8}}, {"none", 1, []float64{0, 0}}})
	require.NoError(t, err)
	tools, err := Decode(b)
	require.NoError(t, err)
	require.Equal(t, 3, tools.Len())
	e, err := Encode([]Word{{"a", 0.5, []float64{0, 1}}, {"c", 0.5, []float64{1, 0}}})
	require.NoError(t, err)
	english, err := Decode(e)
	require.NoError(t, err)
	v := Join(tools, english)
	require.Equal(t, 4, v.Dimension())
	for _, row := range []struct {
		stem string
		want []float64
	}{
		{"a", []float64{0.7071, 0, 0, 0.7071}}, // 2·½, half of it from each table
		{"b", []float64{0.6, -0.8, 0, 0}},
		{"c", []float64{0, 0, unusedInformation / 2.0, 0}},
		{"none", []float64{0, 0, 0, 0}},
	} {
		x := []float64{9, 9, 9, 9}
		require.True(t, v.Vector(x, row.stem))
		require.InDeltaSlice(t, row.want, x, 0.03, row.stem)
	}
	require.False(t, v.Vector(make([]float64, 4), "d"))
	for n := range len(b) {
		_, err := Decode(b[:n])
		require.Error(t, err, "%d bytes", n)
	}
	_, err = Encode(nil)
	require.EqualError(t, err, "no words")
	_, err = Encode([]Word{{"a", 1, []float64{1}}, {"b", 1, nil}})
	require.EqualError(t, err, `the word "b" does not fit`)
}
