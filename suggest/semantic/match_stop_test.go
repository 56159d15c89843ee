package semantic_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/suggest/semantic"
	"waymark/suggest/semantic/thesaurus"
)

// A name of nothing but stop words is found as it is written, joined or apart.
func TestNamesOfStopWords(t *testing.T) {
	docs := []semantic.Document{{Name: "who_am_i", Text: "account"}, {Name: "list", Text: "lists files"}}
	m := semantic.NewMatcher(docs, thesaurus.Default(), nil, nil)
	for _, request := range []string{"whoami", "who am i", "Who_Am_I"} {
		x := m.Match(request)
		assert.Greater(t, x.Of(0), 0.5, request)
		x.Close()
	}
}

// A document beside the index answers a request by the same figures as in it: words count what they count there.
func TestDocumentsBesideAnswerAsIndexedOnes(t *testing.T) {
	th, err := thesaurus.Parse("t", strings.NewReader("frobnicate, list\n"))
	require.NoError(t, err)
	docs := []semantic.Document{{Name: "rare", Text: "other words"}}
	for i := range 40 {
		docs = append(docs, semantic.Document{Name: "n" + string(rune('a'+i%26)) + string(rune('a'+i/26)), Text: "list things"})
	}
	target := semantic.Document{Name: "target", Text: "list things"}
	all, before := semantic.NewMatcher(append(docs, target), th, nil, nil), semantic.NewMatcher(docs, th, nil, nil)
	beside := before.Beside([]semantic.Document{target})
	require.Equal(t, 1, beside.Len())
	for _, request := range []string{"frobnicate", "list rare things", "other words", "target"} {
		x, y := all.Match(request), beside.Match(request)
		assert.InDelta(t, x.Of(41), y.Of(0), 0.02, request)
		x.Close()
		y.Close()
	}
}
