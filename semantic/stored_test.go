package semantic

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/internal/codec"
)

func written(ix *Index) []byte {
	w := &codec.Writer{}
	ix.Write(w)
	return w.Bytes
}

// An index that was written and read answers as before: words, misspelled words, places and vectors.
func TestIndexIsReadAsWritten(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	docs := synthetic(700)
	given, long := make([][]float32, len(docs)), make([][]float32, len(docs)) // long ones are kept in eight bits, all together
	for d := range given {
		given[d], long[d] = randomVector(uint64(d), 24), randomVector(uint64(d), 96)
	}
	for name, o := range map[string]Options{
		"words and places": {Rank: 20}, "words alone": {Rank: -1}, "with vectors": {Rank: 8, Vectors: given}, "other weights": {Rank: 8, K1: 2, Seed: 7},
		"in eight bits": {Rank: 128, Vectors: long},
	} {
		ix := Build(docs, o)
		r := codec.NewReader(written(ix))
		again := ReadIndex(r)
		require.NoError(t, r.End(), name)
		assert.Equal(t, sum(t, ix), sum(t, again), name)
		assert.Equal(t, written(ix), written(again), name)
		for _, text := range append(queries(docs)[:20], "serach misspeled "+docs[3].Name, "") {
			assert.Equal(t, scores(ix, text, given[3], nil), scores(again, text, given[3], nil), name)
			assert.Equal(t, ix.Search(text, 10), again.Search(text, 10), name)
		}
	}
	empty := codec.NewReader(written(Build(nil, Options{})))
	assert.Empty(t, ReadIndex(empty).Search("anything", 3))
	require.NoError(t, empty.End())
}

func TestIntentsAreReadAsWritten(t *testing.T) {
	texts := queries(synthetic(300))
	in := NewIntents(texts, nil)
	w := &codec.Writer{}
	in.Write(w)
	r := codec.NewReader(w.Bytes)
	again := ReadIntents(r)
	require.NoError(t, r.End())
	for _, text := range append(slices.Clone(texts[:50]), "never said", "") {
		assert.Equal(t, in.Nearest(text, 5), again.Nearest(text, 5))
	}
}

// Whatever the bytes: an error, or an index that answers.
func FuzzReadIndex(f *testing.F) {
	docs := synthetic(12)
	f.Add(written(Build(docs, Options{Rank: 2})))
	f.Add(written(Build(docs, Options{Rank: -1})))
	w := &codec.Writer{}
	NewIntents([]string{"read a file", "write a file"}, nil).Write(w)
	f.Add(w.Bytes)
	f.Fuzz(func(t *testing.T, b []byte) {
		if ix := ReadIndex(codec.NewReader(b)); ix.Len() < 1000 {
			ix.Search("read the fiel "+docs[1].Text, 5)
		}
		ReadIntents(codec.NewReader(b)).Nearest("read a fiel", 2)
	})
}
