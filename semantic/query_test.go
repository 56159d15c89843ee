package semantic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// indexes of 700 documents, enough for codes, with each set of signals.
func indexes() map[string]*Index {
	docs := synthetic(700)
	docs = append(docs, docs[3], docs[3], Document{}, Document{Name: "the"}) // equal ones, empty ones
	vectors := make([][]float32, len(docs))
	for d := range vectors {
		if d%7 != 0 {
			vectors[d] = randomVector(uint64(d), 40)
		}
	}
	return map[string]*Index{
		"lexical":      Build(docs, Options{Rank: -1}),
		"latent":       Build(docs, Options{}),
		"vectors":      Build(docs, Options{Rank: -1, Vectors: vectors}),
		"all":          Build(docs, Options{Rank: 24, Vectors: vectors}),
		"latent alone": Build(docs, Options{LatentWeight: 1, Rank: 20, K1: 1e9}),
		"no weights":   Build(docs, Options{LatentWeight: -1, Text: Field{-1, 0}}),
	}
}

func randomVector(seed uint64, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(int64(mix(seed<<20+uint64(i)))) / (1 << 63)
	}
	return x
}

// The oracle is All: every document measured, sorted, cut. Top, Score and Of, in any order on one
// query, give the same documents the same bits, with vector instructions and without.
func TestQueryIsExact(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	all := indexes()
	asked := queries(synthetic(700))
	rapid.Check(t, func(t *rapid.T) {
		ix := all[rapid.SampledFrom([]string{"lexical", "latent", "vectors", "all", "latent alone", "no weights"}).Draw(t, "index")]
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(asked), 0, 3).Draw(t, "text"), " ")
		if rapid.Bool().Draw(t, "misspelt") && len(text) > 4 {
			text = text[:2] + text[3:]
		}
		var vector []float32
		if rapid.Bool().Draw(t, "vector") {
			vector = randomVector(rapid.Uint64Range(0, 50).Draw(t, "v"), 40)
		}
		k := rapid.IntRange(0, 300).Draw(t, "k")
		want := scores(ix, text, vector, nil)
		plainly(func() { require.Equal(t, want, scores(ix, text, vector, nil)) })
		var best []Hit
		for _, h := range want {
			if h.Score > 0 {
				best = append(best, h)
			}
		}
		sortHits(best)
		best = best[:min(k, len(best))]

		q := ix.Query(text, vector)
		defer q.Close()
		for range rapid.IntRange(1, 3).Draw(t, "steps") {
			switch rapid.IntRange(0, 1).Draw(t, "step") {
			case 0:
				got := q.Top([]Hit{{Doc: -1}}, k)
				require.Equal(t, int32(-1), got[0].Doc)
				require.Equal(t, append([]Hit{}, best...), append([]Hit{}, got[1:]...))
			case 1:
				d := rapid.Int32Range(0, int32(ix.Len()-1)).Draw(t, "doc")
				require.Equal(t, want[d], q.Of(d))
			}
		}
	})
}

func TestQueriesAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("under the race detector pools drop memory at random")
	}
	docs := synthetic(700)
	ix := Build(docs, Options{})
	asked := queries(docs)
	hits := make([]Hit, 0, 700)
	i := 0
	assert.Zero(t, testing.AllocsPerRun(500, func() {
		q := ix.Query(asked[i%len(asked)], nil)
		hits = q.Top(hits[:0], 256)
		hits = append(hits, q.Of(5))
		q.Close()
		i++
	}))
}

func ExampleIndex_Query() {
	ix := Build([]Document{
		{Name: "create_issue", Text: "open a new issue"},
		{Name: "list_issues", Text: "list the issues of a repository"},
		{Name: "send_mail", Text: "send a message"},
	}, Options{Rank: -1})
	q := ix.Query("new issue", nil)
	defer q.Close()
	for _, h := range q.Top(nil, 1) {
		fmt.Printf("%d %.2f\n", h.Doc, h.Score)
	}
	fmt.Printf("%.2f\n", q.Of(1).Score) // one a caller wants to know besides
	// Output:
	// 0 1.00
	// 0.41
}

// Nonsense around one word that documents have is no full match: the words nobody has count too.
func TestUnknownWordsCount(t *testing.T) {
	ix := Build([]Document{{Name: "deploy_service", Text: "Deploys a service."}, {Name: "send_mail", Text: "Sends mail."}}, Options{})
	known := ix.Search("deploy", 1)
	nonsense := ix.Search("deploy xqzvv wqrtp", 1)
	require.Len(t, nonsense, 1)
	require.Equal(t, known[0].Doc, nonsense[0].Doc)
	require.InDelta(t, known[0].Lexical/3, nonsense[0].Lexical, 1e-9)
}
