package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/internal/numeric"
	"waymark/suggest/semantic"
)

// corpus are tools of twenty servers that speak of fruit or of ships, never of both.
func corpus() (tools []catalog.Tool) {
	fruit, ships := []string{"apple", "pear", "cherry", "plum"}, []string{"anchor", "harbour", "sail", "mast"}
	for i := range 400 {
		words := fruit
		if i%2 == 1 {
			words = ships
		}
		var names string
		for k := range 3 {
			names += " " + words[(i/2+k*(1+i/8%3))%4]
		}
		for k := range 6 { // words of many kinds, for 64 dimensions
			names += fmt.Sprintf(" w%c%c", 'a'+(i*7+k*5)%26, 'a'+(i*3+k*11)%26)
		}
		tools = append(tools, catalog.Tool{Name: fmt.Sprint("tool", i), Description: names, Server: fmt.Sprint("server", i/2%20)})
	}
	return append(tools, catalog.Tool{Name: "own", Description: "hunter2 apple secretname x7f3a", Server: "server3"})
}

func TestTrain(t *testing.T) {
	words, err := train(textsOf(corpus()))
	require.NoError(t, err)
	data, err := encode(words)
	require.NoError(t, err)
	v, err := semantic.ReadWordVectors(data, data)
	require.NoError(t, err)
	cosine := func(a, b string) float64 {
		x, y := make([]float64, v.Dimension()), make([]float64, v.Dimension())
		require.True(t, v.Vector(x, a) && v.Vector(y, b))
		return numeric.Dot(x, y) / (numeric.Norm(x) * numeric.Norm(y))
	}
	require.Greater(t, cosine("appl", "pear"), cosine("appl", "anchor")+0.2)
	require.Greater(t, cosine("sail", "mast"), cosine("sail", "pear")+0.2)
	for _, w := range words {
		require.NotContains(t, []string{"secretnam", "hunter", "2", "x"}, w.Stem, "only one server uses it")
	}
	again, err := train(textsOf(corpus()))
	require.NoError(t, err)
	same, err := encode(again)
	require.NoError(t, err)
	require.Equal(t, data, same)
	_, err = train(textsOf(corpus()[:3]))
	require.EqualError(t, err, "too few texts")
}

func TestWithoutLeavesOutWholeServers(t *testing.T) {
	left := without(corpus(), []catalog.Tool{{Name: "own", Description: "hunter2 apple secretname x7f3a"}, {Name: "tool4", Description: "another text"}})
	require.NotEmpty(t, left)
	for _, tool := range left {
		require.NotEqual(t, "server3", tool.Server)
	}
	require.Len(t, left, 380)
}

// Words that stand for the same have like vectors, however often they are used; what all have in common is taken out.
func TestEnglish(t *testing.T) {
	var text strings.Builder
	direction := func(i, k int) float64 { return float64((i*k*7+k*k*3+i)%13) - 6 }
	for i, word := range []string{"the", "cat", "CAT", "ship", "cats", "kitten", "anchor", "two-part"} {
		text.WriteString(word)
		for k := range 2 * (dropped + dimension) {
			group := map[bool]int{true: 3, false: 5}[strings.Contains("cats kitten", word)]
			fmt.Fprintf(&text, " %.3f", 20+direction(group, k)+float64(i)/10)
		}
		text.WriteString("\n")
	}
	path := filepath.Join(t.TempDir(), "glove.txt")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	words, err := readEnglish(path)
	require.NoError(t, err)
	var stems []string
	for _, w := range words {
		stems = append(stems, w.Stem)
	}
	require.Equal(t, []string{"the", "cat", "ship", "kitten", "anchor"}, stems)
	require.InDelta(t, 1.0/2+1.0/5, words[1].Weight, 1e-12, "cat and cats")
	_, err = english(words)
	require.EqualError(t, err, "too few words")
	require.NoError(t, os.WriteFile(path, []byte("cat 1 2\nship 1 x\n"), 0o600))
	_, err = readEnglish(path)
	require.ErrorContains(t, err, "line 2")
	require.NoError(t, os.WriteFile(path, []byte("cat 1 2\nship 1\n"), 0o600))
	_, err = readEnglish(path)
	require.ErrorContains(t, err, "line 2: 1 numbers, the lines before have 2")
}
