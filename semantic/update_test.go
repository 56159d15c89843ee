package semantic

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The oracle is Build of the documents that are left, byte by byte. Words that only removed documents
// had, joined forms that somebody wrote as a word, spellings with other parts and names of stop words
// come and go.
func TestUpdateIsBuild(t *testing.T) {
	pool := synthetic(40)
	for _, name := range []string{"web_search", "websearch", "we_bsearch", "who_am_i", "the", "GitHub_star", "github", "git_hub", ""} {
		pool = append(pool, Document{Name: name}, Document{Text: name + " of pages", Context: []string{name}})
	}
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfN(rapid.SampledFrom(pool), 0, 12)
		docs := some.Draw(t, "docs")
		opts := Options{Rank: -1, Updatable: true}
		ix := Build(docs, opts)
		for range rapid.IntRange(1, 4).Draw(t, "updates") {
			var removed []int32
			var left []Document
			for d := range docs {
				if rapid.Bool().Draw(t, "remove") {
					removed = append(removed, int32(d))
				} else {
					left = append(left, docs[d])
				}
			}
			added := some.Draw(t, "added")
			docs = append(left, added...)
			before := hashOf(t, ix)
			next := ix.Update(removed, added, nil)
			require.Equal(t, before, hashOf(t, ix), "the index updated stays as it was")
			ix = next
			require.Equal(t, hashOf(t, Build(docs, opts)), hashOf(t, ix))
		}
	})
}

func hashOf(t require.TestingT, ix *Index) []byte {
	var b bytes.Buffer
	require.NoError(t, ix.Hash(&b))
	return b.Bytes()
}

// Documents that stay keep their places, and one that is added again takes the place it had as long as
// the weights of its words have not changed: here one copy goes as another comes.
func TestUpdateFoldsIn(t *testing.T) {
	docs := synthetic(600)
	vectors := make([][]float32, len(docs))
	for d := range vectors {
		vectors[d] = randomVector(uint64(d), 32)
	}
	ix := Build(docs, Options{Updatable: true, Vectors: vectors})
	next := ix.Update([]int32{5}, docs[5:6], vectors[5:6])
	require.Equal(t, 600, next.Len())
	text := "zzz " + docs[5].Text
	want, got := ix.ScoresVector(text, vectors[9], nil), next.ScoresVector(text, vectors[9], nil)
	moved := want[5]
	want = append(slices.Delete(want, 5, 6), moved)
	for d := range want {
		want[d].Doc = int32(d)
		require.Equal(t, want[d], got[d])
	}

	// A document of new words alone is found by them, and by nothing else.
	grown := next.Update(nil, []Document{{Name: "quux_frobnicator", Text: docs[7].Text}, {Name: "blorp"}}, nil)
	hits := grown.Search("frobnicator", 3)
	require.NotEmpty(t, hits)
	assert.EqualValues(t, 600, hits[0].Doc)
	near, far := grown.Similarity(docs[7].Text, 600), grown.Similarity(docs[7].Text, 601)
	assert.Greater(t, near.Latent, .9)
	assert.Zero(t, far.Score)
	top := grown.Search(docs[7].Text, 40)
	all := grown.Scores(docs[7].Text, nil)
	sortHits(all)
	assert.Equal(t, all[:40], top)
}

func TestUpdateRefuses(t *testing.T) {
	ix := Build(synthetic(3), Options{Updatable: true})
	assert.Panics(t, func() { ix.Update([]int32{3}, nil, nil) })
	assert.Panics(t, func() { ix.Update([]int32{1, 1}, nil, nil) })
	assert.Panics(t, func() { Build(synthetic(3), Options{}).Update(nil, nil, nil) })
	assert.Empty(t, ix.Update([]int32{0, 1, 2}, nil, nil).Search("a", 3))
}

func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		docs := synthetic(n)
		ix := Build(docs, Options{Updatable: true})
		for _, k := range []int{1, 100} {
			b.Run(fmt.Sprintf("tools=%d/added=%d", n, k), func(b *testing.B) {
				for b.Loop() {
					ix.Update([]int32{1}, docs[:k], nil)
				}
			})
		}
	}
}
