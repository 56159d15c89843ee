package semantic

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A name of nothing but stop words is found as it is written, joined or apart.
func TestNamesOfStopWords(t *testing.T) {
	docs := []Document{{Name: "who_am_i", Text: "account"}, {Name: "list", Text: "lists files"}}
	m := NewMatcher(docs, DefaultThesaurus(), nil, nil)
	for _, request := range []string{"whoami", "who am i", "Who_Am_I"} {
		x := m.Match(request)
		assert.Greater(t, x.Of(0), 0.5, request)
		x.Close()
	}
}

// A document beside the index answers a request by the same figures as in it: words count what they count there.
func TestDocumentsBesideAnswerAsIndexedOnes(t *testing.T) {
	th, err := new(Thesaurus).Extend("t", strings.NewReader("frobnicate, list\n"))
	require.NoError(t, err)
	docs := []Document{{Name: "rare", Text: "other words"}}
	for i := range 40 {
		docs = append(docs, Document{Name: "n" + string(rune('a'+i%26)) + string(rune('a'+i/26)), Text: "list things"})
	}
	target := Document{Name: "target", Text: "list things"}
	all, before := NewMatcher(append(docs, target), th, nil, nil), NewMatcher(docs, th, nil, nil)
	beside := before.Beside([]Document{target})
	require.Equal(t, 1, beside.Len())
	for _, request := range []string{"frobnicate", "list rare things", "other words", "target"} {
		x, y := all.Match(request), beside.Match(request)
		assert.InDelta(t, x.Of(41), y.Of(0), 0.02, request)
		x.Close()
		y.Close()
	}
}
