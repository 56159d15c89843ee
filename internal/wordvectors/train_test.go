package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/semantic/wordvectors"
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
		for k := range 6 { // words of many kinds, for 128 dimensions
			names += fmt.Sprintf(" w%c%c", 'a'+(i*7+k*5)%26, 'a'+(i*3+k*11)%26)
		}
		tools = append(tools, catalog.Tool{Name: fmt.Sprint("tool", i), Description: names, Server: fmt.Sprint("server", i/2%20)})
	}
	return append(tools, catalog.Tool{Name: "own", Description: "hunter2 apple secretname x7f3a", Server: "server3"})
}

func TestTrain(t *testing.T) {
	words, err := train(textsOf(corpus()))
	require.NoError(t, err)
	data, err := wordvectors.Encode(words)
	require.NoError(t, err)
	v, err := wordvectors.Decode(data)
	require.NoError(t, err)
	require.Greater(t, v.Cosine("appl", "pear"), v.Cosine("appl", "anchor")+0.2)
	require.Greater(t, v.Cosine("sail", "mast"), v.Cosine("sail", "pear")+0.2)
	for _, w := range words {
		require.NotContains(t, []string{"secretnam", "hunter", "2", "x"}, w.Stem, "only one server uses it")
	}
	again, err := train(textsOf(corpus()))
	require.NoError(t, err)
	same, err := wordvectors.Encode(again)
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
