package semantic_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/suggest/semantic"
	"waymark/suggest/semantic/thesaurus"
)

// A name of nothing but stop words is found as it is written, joined or apart, also while documents were added.
func TestNamesOfStopWords(t *testing.T) {
	docs := []semantic.Document{{Name: "who_am_i", Text: "account"}, {Name: "list", Text: "lists files"}}
	m := semantic.NewMatcher(docs, thesaurus.Default(), nil, nil)
	added := semantic.NewAdditions(slices.Values(docs)).With([]semantic.Document{{Name: "added", Text: "adds things"}})
	for _, request := range []string{"whoami", "who am i", "Who_Am_I"} {
		x := m.Match(request)
		assert.Greater(t, x.Of(0), 0.5, request)
		assert.Empty(t, added.Match(nil, x, func(int32) bool { return true }), request)
		x.Close()
	}
}

// A document answers a request by the same figures whether it is in the index or was added to it.
func TestAddedDocumentsAnswerAsIndexedOnes(t *testing.T) {
	th, err := thesaurus.Parse("t", strings.NewReader("frobnicate, list\n"))
	require.NoError(t, err)
	var docs []semantic.Document
	for i := range 40 {
		docs = append(docs, semantic.Document{Name: "n" + string(rune('a'+i%26)) + string(rune('a'+i/26)), Text: "list things"})
	}
	target := semantic.Document{Name: "target", Text: "list things"}
	x := semantic.NewMatcher(append(docs, target), th, nil, nil).Match("frobnicate")
	defer x.Close()
	hits := semantic.NewAdditions(slices.Values(docs)).With([]semantic.Document{target}).Match(nil, x, func(int32) bool { return true })
	require.Len(t, hits, 1)
	assert.InDelta(t, x.Of(40), hits[0].Score, 0.01)
}
