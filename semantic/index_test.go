package semantic

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func lexicalOnly() Options { return Options{Rank: -1} }

// Oracle: BM25 by hand, N = 3, lengths 3, 2, 1, average 2, b = .5, K1 = .9.
//
//	idf(alpha) = ln(1 + 2.5/1.5) = .980829    idf(beta) = ln(1 + 1.5/2.5) = .470004
//	D0: beta 2/(.5 + .5·3/2) = 1.6 → 1.6/2.5 = .64;  alpha .8/1.7 = .470588
//	D1: beta 1/(.5 + .5·2/2) = 1   → 1/1.9 = .526316
func TestBM25ByHand(t *testing.T) {
	ix := Build([]Document{{Text: "alpha beta beta"}, {Text: "beta gamma"}, {Text: "gamma"}}, lexicalOnly())
	for _, row := range []struct {
		query string
		want  []float64
	}{
		{"beta", []float64{1, .526316 / .64, 0}},
		{"alpha beta", []float64{1, .247370 / (.461567 + .300802), 0}},
		{"the of", []float64{0, 0, 0}},
		{"", []float64{0, 0, 0}},
	} {
		for d, h := range scores(ix, row.query, nil, nil) {
			assert.InDelta(t, row.want[d], h.Lexical, 1e-5, "%s, document %d", row.query, d)
			assert.InDelta(t, h.Lexical, h.Score, 1e-15, "nothing else to fuse")
		}
	}
}

// Oracle: by hand, every field at its average length so that all norms are 1 and tf is a sum of
// weights. alpha stands in the name (1.5), the text (1) and the properties (.4): tf = 2.9 → 2.9/3.8;
// in D1 in the context alone, twice: .6 · 2/(1.2 + 2). df(alpha) = 1, since a context is not a
// field of one's own; the idf cancels out of the ratio.
func TestFieldsByHand(t *testing.T) {
	ix := Build([]Document{
		{Name: "alpha", Text: "alpha", Properties: "alpha"},
		{Name: "beta", Text: "beta", Properties: "beta", Context: []string{"alpha", "alpha"}},
	}, lexicalOnly())
	got := scores(ix, "alpha", nil, nil)
	assert.InDelta(t, 1, got[0].Lexical, 1e-6)
	assert.InDelta(t, (.6*2/3.2)/(2.9/3.8), got[1].Lexical, 1e-6)
}

// Texts of contexts are read once, on several processors, whoever has them: the index is that of
// documents that each have all of theirs as one text.
func TestSharedContexts(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	docs := synthetic(3000)
	whole := slices.Clone(docs)
	for i := range docs {
		for k := range i % 7 {
			docs[i].Context = append(docs[i].Context, docs[(i*k*31+k)%500].Text+" webSearch web_search", docs[i*k%len(docs)].Name)
		}
		whole[i].Context = []string{strings.Join(docs[i].Context, "\n")}
	}
	hash := func(docs []Document, processors int) []byte {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		h := sha256.New()
		require.NoError(t, Build(docs, Options{Rank: 8}).Hash(h))
		return h.Sum(nil)
	}
	want := hash(whole, 1)
	assert.Equal(t, want, hash(docs, 1))
	assert.Equal(t, want, hash(docs, 4))
}

func TestBuildStops(t *testing.T) {
	asked := 0
	ix := Build(synthetic(300), Options{Rank: 8, Stop: func() bool { asked++; return asked > 3 }})
	assert.Nil(t, ix)
	assert.Less(t, asked, 10)
}

// However much a popular tool was used, its context adds at most its weight.
func TestContextSaturates(t *testing.T) {
	ix := Build([]Document{
		{Name: "invoice_send", Text: "Send an invoice"},
		{Name: "http_get", Text: "Fetch a page", Context: slices.Repeat([]string{"send an invoice"}, 5000)},
		{Name: "clock", Text: "Tell the time"},
	}, Options{})
	hits := ix.Search("send an invoice", 3)
	require.Len(t, hits, 2)
	assert.Equal(t, []int32{0, 1}, []int32{hits[0].Doc, hits[1].Doc})
}

var tools = []Document{
	{Name: "search_issues", Text: "Search the issues of a repository", Properties: "query repository"},
	{Name: "create_calendar_event", Text: "Add an event to a calendar", Properties: "title start end"},
	{Name: "who_am_i", Text: ""},
	{Name: "readFile", Text: "Read a file from disk", Properties: "path"},
	{Name: "GitHub_star", Text: "Star a project"},
	{Name: "websearch", Text: "Find pages"},
	{Name: "bing", Text: "使用必应搜索指定的关键词"},
	{},
}

// Different spellings of one thing are one query, to the last bit.
func TestSpellingsAreEquivalent(t *testing.T) {
	ix := Build(tools, Options{})
	want := scores(ix, "search issues", nil, nil)
	require.Equal(t, int32(0), ix.Search("search issues", 1)[0].Doc)
	for _, q := range []string{"searchIssues", "search_issues", "SearchIssues", "search-issues", "SEARCH ISSUES", "searching an issue", "search.issues"} {
		assert.Equal(t, want, scores(ix, q, nil, nil), q)
	}
}

func TestFinds(t *testing.T) {
	ix := Build(tools, lexicalOnly())
	for query, want := range map[string]int32{
		"calender":      1, // a letter changed
		"serach isues":  0, // two swapped, one dropped
		"repositry":     0, // one dropped
		"who am i":      2, // stop words only
		"github":        4, // a word here, GitHub there
		"GitHub":        4,
		"web_pages":     5,
		"read the file": 3,
		"搜索":            6,
		"必":             6,
	} {
		hits := ix.Search(query, 3)
		if assert.NotEmpty(t, hits, query) {
			assert.Equal(t, want, hits[0].Doc, query)
		}
	}
	joined := of(ix, "web_search", 5) // the other way round: a word there, not here
	assert.Greater(t, joined.Lexical, .3)
	for _, query := range []string{"xylophone quartet", "zzzz", "", " \x00\xff ", "🙂"} {
		assert.Empty(t, ix.Search(query, 3), query)
	}
}

// of is the hit of one document.
func of(ix *Index, text string, doc int32) Hit {
	q := ix.Query(text, nil)
	defer q.Close()
	return q.Of(doc)
}

func TestDegenerate(t *testing.T) {
	huge := strings.Repeat("read searchIssues \xff搜索 qwertyuiop0 ", 3000) // 100 KB
	for name, docs := range map[string][]Document{
		"none": nil, "empty": {{}}, "one": {tools[0]}, "twins": {tools[0], tools[0]}, "all empty": make([]Document, 30),
		"broken": {{Name: "\xff\xfe", Text: "\xc3("}, {Text: huge, Context: []string{huge}}},
	} {
		ix := Build(docs, Options{})
		require.Equal(t, len(docs), ix.Len())
		for _, q := range []string{"", "read", "\xff", huge, "the", "\x00"} {
			hits := scores(ix, q, nil, nil)
			require.Len(t, hits, len(docs), name)
			for _, h := range hits {
				assert.True(t, h.Score >= 0 && h.Score <= 1, "%s: %v", name, h)
			}
			assert.LessOrEqual(t, len(ix.Search(q, 1000)), len(docs))
			assert.Empty(t, ix.Search(q, 0))
			assert.Empty(t, ix.Search(q, -1))
		}
		assert.NoError(t, ix.Hash(&bytes.Buffer{}))
	}
	twins := Build([]Document{tools[0], tools[0]}, Options{}).Search("issues", 2)
	require.Len(t, twins, 2)
	assert.Equal(t, twins[0].Score, twins[1].Score)
	assert.Equal(t, int32(0), twins[0].Doc, "equal scores: the smaller number first")
}

// someDocs draws documents over a small vocabulary, so that words meet.
func someDocs(t *rapid.T) []Document {
	word := rapid.SampledFrom([]string{"read", "write", "file", "issue", "search", "web", "mail", "send", "calendar", "event", "rare", "the", "get_url", "webSearch"})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(word, 0, 6).Draw(t, "words"), " ") })
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Document {
		return Document{text.Draw(t, "name"), text.Draw(t, "text"), text.Draw(t, "properties"), rapid.SliceOfN(text, 0, 3).Draw(t, "context")}
	}), 0, 25).Draw(t, "docs")
}

var someQuery = rapid.SliceOfN(rapid.SampledFrom([]string{"read", "file", "web", "search", "issue", "mail", "rare", "unknown", "calender", "websearch"}), 0, 5)

// Oracle: all scores, sorted. Search passes documents over and must not show it.
func TestSearchIsTheHeadOfAllScores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs := someDocs(t)
		opts := Options{Rank: rapid.SampledFrom([]int{-1, 3, 128}).Draw(t, "rank")}
		var vector []float32
		if rapid.Bool().Draw(t, "vectors") {
			coordinate := rapid.Float32Range(-1, 1)
			for range docs {
				opts.Vectors = append(opts.Vectors, rapid.SliceOfN(coordinate, 3, 3).Draw(t, "vector"))
			}
			vector = rapid.SliceOfN(coordinate, 3, 3).Draw(t, "query vector")
		}
		ix := Build(docs, opts)
		query := strings.Join(someQuery.Draw(t, "query"), " ")
		k := rapid.IntRange(0, 30).Draw(t, "k")

		all := scores(ix, query, vector, nil)
		want := slices.DeleteFunc(slices.Clone(all), func(h Hit) bool { return h.Score == 0 })
		slices.SortFunc(want, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc)) })
		want = want[:min(k, len(want))]
		got := ix.AppendSearch(nil, query, vector, k)
		if len(got) != len(want) || len(want) > 0 && !slices.Equal(got, want) {
			t.Fatalf("got %v\nwant %v", got, want)
		}
		wL, wV := ix.latentWeight, ix.options.VectorWeight
		for d, h := range all {
			score := 1 - (1-h.Lexical)*(1-wL*h.Latent)*(1-wV*h.Vector)
			if math.Abs(score-h.Score) > 1e-12 || h.Score < 0 || h.Score > 1 {
				t.Fatalf("%v does not follow from its parts", h)
			}
			if one := of(ix, query, int32(d)); vector == nil && one != h {
				t.Fatalf("alone %v, among all %v", one, h)
			}
		}
	})
}

func sum(t require.TestingT, ix *Index) [32]byte {
	h := sha256.New()
	require.NoError(t, ix.Hash(h))
	return [32]byte(h.Sum(nil))
}

// The order of the documents changes no bit of any score.
func TestPermutedDocuments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs := someDocs(t)
		query := strings.Join(someQuery.Draw(t, "query"), " ")
		places := make([]int, len(docs))
		for i := range places {
			places[i] = i
		}
		places = rapid.Permutation(places).Draw(t, "places")
		permuted := make([]Document, len(docs))
		for i, p := range places {
			permuted[p] = docs[i]
		}
		want, got := scores(Build(docs, Options{Rank: 5}), query, nil, nil), scores(Build(permuted, Options{Rank: 5}), query, nil, nil)
		for i, p := range places {
			h := got[p]
			h.Doc = int32(i)
			if h != want[i] {
				t.Fatalf("%v in one order, %v in another", want[i], h)
			}
		}
	})
}

func TestSameBytesOnAnyNumberOfProcessors(t *testing.T) {
	docs := synthetic(300)
	var sums [][32]byte
	for _, n := range []int{1, 2, 4} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
		sums = append(sums, sum(t, Build(docs, Options{Rank: 40})))
	}
	assert.Equal(t, sums[0], sums[1])
	assert.Equal(t, sums[0], sums[2])
	assert.NotEqual(t, sums[0], sum(t, Build(docs, Options{Rank: 40, Seed: 1})), "the hash sees the seed")
	docs[7].Text += " more"
	assert.NotEqual(t, sums[0], sum(t, Build(docs, Options{Rank: 40})), "the hash sees the text")
}

// Vectors from outside move the ranking, and nothing breaks when they are missing or wrong.
func TestOutsideVectors(t *testing.T) {
	nan := float32(math.NaN())
	ix := Build([]Document{{Name: "one"}, {Name: "two"}, {Name: "three"}, {Name: "four"}},
		Options{Vectors: [][]float32{{2, 0}, {0, 3}, nil, {nan, 1}}})
	hits := ix.AppendSearch(nil, "nothing known", []float32{0, 1}, 4)
	require.Len(t, hits, 1)
	assert.Equal(t, int32(1), hits[0].Doc)
	assert.InDelta(t, 1, hits[0].Vector, 1e-6)
	assert.InDelta(t, .5, hits[0].Score, 1e-6)

	plain := ix.Search("three", 4)
	for _, bad := range [][]float32{nil, {1}, {nan, 1}, {0, 0}, {1, 2, 3}} {
		assert.Equal(t, plain, ix.AppendSearch(nil, "three", bad, 4))
	}
}

func ExampleIndex_Search() {
	ix := Build([]Document{
		{Name: "search_issues", Text: "Search the issues of a repository"},
		{Name: "read_file", Text: "Read a file from disk", Context: []string{"show me the configuration"}},
		{Name: "send_mail", Text: "Send a message to somebody"},
	}, Options{Rank: -1})
	for _, h := range ix.Search("configuration of the repositry", 2) {
		fmt.Println(h.Doc)
	}
	// Output:
	// 0
	// 1
}

// scores is the hit of every document, in order of documents, in dst if it is large enough.
func scores(ix *Index, text string, vector []float32, dst []Hit) []Hit {
	q := ix.Query(text, vector)
	defer q.Close()
	dst = dst[:0]
	for d := range int32(ix.docs) {
		dst = append(dst, q.Of(d))
	}
	return dst
}
