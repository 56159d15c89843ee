package semantic

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/internal/numeric"
)

func TestDefaultWordVectors(t *testing.T) {
	v := DefaultWordVectors()
	require.Greater(t, len(v.tools.scale), 2000)
	require.Greater(t, len(v.english.scale), 10000)
	require.LessOrEqual(t, len(toolsData)+len(englishData), 2<<20)
	for _, table := range []*wordTable{v.tools, v.english} {
		for stem := range table.number {
			require.Empty(t, strings.Trim(stem, "abcdefghijklmnopqrstuvwxyz"), "%q is a word", stem)
		}
	}
	for _, row := range [][3]string{
		{"delet", "remov", "weather"}, {"send", "messag", "temperatur"}, {"price", "market", "branch"}, {"commit", "branch", "hotel"},
		{"maid", "cleaner", "invoic"}, {"pharmaci", "medicin", "branch"}, // of these tools have one or none
	} {
		require.Greater(t, cosine(v, row[0], row[1]), cosine(v, row[0], row[2])+0.1, "%v", row)
	}
	require.Zero(t, cosine(v, "delet", "no such word"))
	require.True(t, v.Has("delet"))
	require.False(t, v.Has("maid"), "a word that no tool uses")
}

// The notice names the file that is here.
func TestNoticeNamesTheVectors(t *testing.T) {
	notice, err := os.ReadFile("../../NOTICE")
	require.NoError(t, err)
	for _, data := range [][]byte{toolsData, englishData} {
		require.Contains(t, string(notice), fmt.Sprintf("%x", sha256.Sum256(data)))
	}
}

// cosine of two stems, 0 if one has no vector.
func cosine(v *WordVectors, a, b string) float64 {
	x, y := make([]float64, v.Dimension()), make([]float64, v.Dimension())
	if !v.Vector(x, a) || !v.Vector(y, b) {
		return 0
	}
	return numeric.Dot(x, y) / (numeric.Norm(x) * numeric.Norm(y))
}

// table is a table of words of two numbers, the largest part of each of which is 1.
func table(words []string, weights []float32, codes ...int8) []byte {
	stems := strings.Join(words, "\n") + "\n"
	b := []byte(wordMagic)
	for _, n := range []int{len(words), 2, len(stems)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	b = append(b, stems...)
	for i, weight := range weights {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(weight))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(1.0/127))
		b = append(b, byte(codes[2*i]), byte(codes[2*i+1]))
	}
	return b
}

func TestReadWordVectors(t *testing.T) {
	tools := table([]string{"a", "b", "none"}, []float32{2, 1, 1}, 127, 0, 76, -102, 0, 0)
	english := table([]string{"a", "c"}, []float32{0.5, 0.5}, 0, 127, 127, 0)
	v, err := ReadWordVectors(tools, english)
	require.NoError(t, err)
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
	for n := range len(tools) {
		_, err := ReadWordVectors(tools[:n], english)
		require.Error(t, err, "%d bytes", n)
	}
}
