package semantic

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever was read before, the index is that of a build that reads everything itself, byte by byte.
func TestWordsChangeNoIndex(t *testing.T) {
	pool := synthetic(40)
	for _, name := range []string{"web_search", "websearch", "we_bsearch", "who_am_i", "the", "GitHub_star", "github", "git_hub", ""} {
		pool = append(pool, Document{Name: name}, Document{Text: name + " of pages", Context: []string{name}})
	}
	rapid.Check(t, func(t *rapid.T) {
		words := new(Words)
		for range rapid.IntRange(1, 4).Draw(t, "builds") {
			docs := rapid.SliceOfN(rapid.SampledFrom(pool), 0, 12).Draw(t, "docs")
			require.Equal(t, hashOf(t, Build(docs, Options{Rank: 4})), hashOf(t, Build(docs, Options{Rank: 4, Words: words})))
		}
	})
}

// A build that was stopped while it read leaves nothing half read behind.
func TestWordsOfAStoppedBuild(t *testing.T) {
	docs, words := synthetic(600), new(Words)
	assert.Nil(t, Build(docs, Options{Words: words, Stop: func() bool { return true }}))
	require.Equal(t, hashOf(t, Build(docs, Options{})), hashOf(t, Build(docs, Options{Words: words})))
}

func hashOf(t require.TestingT, ix *Index) []byte {
	var b bytes.Buffer
	require.NoError(t, ix.Hash(&b))
	return b.Bytes()
}
