package semantic

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func all(int32) bool { return true }

func additionDocuments(n int) []Document {
	nouns, verbs := []string{"invoice", "ticket", "branch", "deployment", "calendar"}, []string{"create", "delete", "list", "merge"}
	docs := make([]Document, n)
	for i := range docs {
		verb, noun := verbs[i%len(verbs)], nouns[i/2%len(nouns)]
		docs[i] = Document{Name: fmt.Sprintf("s%d:%s_%s", i%7, verb, noun), Text: fmt.Sprintf("Does %s for one %s of customer %d.", verb, noun, i%11), Properties: noun + "_id"}
	}
	return docs
}

// Documents added one by one and all at once have the same hits, bit by bit, and earlier additions stay as they are.
func TestAdditionsDoNotDependOnTheirSegments(t *testing.T) {
	docs := additionDocuments(60)
	ix := Build(docs[:30], Options{})
	atOnce := ix.NewAdditions(slices.Values(docs[:30])).With(docs[30:])
	single := ix.NewAdditions(slices.Values(docs[:30]))
	q := ix.Query("merge the invoice of customer 4 with zebras", nil)
	defer q.Close()
	for i, d := range docs[30:] {
		before := single.Score(nil, q, all)
		next := single.With([]Document{d})
		assert.Equal(t, before, single.Score(nil, q, all))
		single = next
		require.Equal(t, i+1, single.Len())
	}
	require.Equal(t, atOnce.Score(nil, q, all), single.Score(nil, q, all))
	require.LessOrEqual(t, len(single.segments), 6, "merged")
}

// An added document is found by words that the index has, and by words that it does not have.
func TestAdditionsAreFoundByTheirWords(t *testing.T) {
	docs := additionDocuments(40)
	ix := Build(docs, Options{})
	a := ix.NewAdditions(slices.Values(docs)).With([]Document{
		{Name: "zoo:feed_zebra", Text: "Feeds a zebra."}, {Name: "zoo:list_animals", Text: "Lists the animals."}, {Name: "GitHub_star"}, {Name: "who_am_i"},
	})
	for query, want := range map[string]int32{"feed the zebra": 0, "zebras": 0, "animals": 1, "list animal": 1, "github": 2, "who am i": 3} {
		q := ix.Query(query, nil)
		hits := a.Score(nil, q, all)
		require.NotEmpty(t, hits, query)
		best := slices.MaxFunc(hits, func(x, y Hit) int { return order(y, x) })
		assert.Equal(t, want, best.Doc, query)
		for _, h := range hits {
			assert.Truef(t, h.Score > 0 && h.Score <= 1, "%s: %v", query, h)
		}
		q.Close()
	}
	empty := Build(nil, Options{})
	q := empty.Query("feed the zebra", nil)
	defer q.Close()
	assert.Len(t, empty.NewAdditions(slices.Values(docs[:0])).With([]Document{{Name: "feed_zebra"}}).Score(nil, q, all), 1, "into an empty index")
	assert.True(t, a.Has("zebra"))
	assert.False(t, a.Has("invoice"), "only the index has it")
}

// A request added has the cosine that it would have in the index, except that idf stays as it was.
func TestRequestsAddedCompareWithThoseIndexed(t *testing.T) {
	texts := []string{"merge the branch", "delete the invoice of a customer", "list the open tickets", "send the invoice again"}
	in := NewIntents(texts, nil)
	a := in.NewAdditions().With(texts[:2]).With(texts[2:])
	for _, query := range []string{"delete the invoice", "open tickets", "invoice invoice again", "a zebra and the branch"} {
		want, got := in.Nearest(query, 4), a.AppendNearest(nil, query, 4)
		require.Len(t, got, len(want), query)
		for i := range want {
			assert.Equal(t, want[i].Doc, got[i].Doc, query)
			assert.InDelta(t, want[i].Score, got[i].Score, 1e-6, query)
		}
	}
	assert.Empty(t, a.AppendNearest(nil, "zebra", 4))
}

func BenchmarkAdditionsWith(b *testing.B) {
	docs := additionDocuments(1000)
	ix := Build(docs, Options{})
	for b.Loop() {
		a := ix.NewAdditions(slices.Values(docs[:10]))
		for i := range 1000 {
			a = a.With(docs[i : i+1])
		}
	}
}
