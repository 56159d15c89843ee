package semantic

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/internal/codec"
)

// Oracle: by hand. Every field of the first document is of average length, so all norms are 1 and tf is a sum of weights:
// alpha stands in the name (1.5), the text (1) and the properties (.4), tf = 2.9 → 2.9/3.8, more than fullWeight. Of the
// second, beta stands in the text alone: 1/1.9/.7.
func TestOwnWeightsByHand(t *testing.T) {
	m := NewMatcher([]Document{{Name: "alpha", Text: "alpha", Properties: "alpha"}, {Name: "gamma", Text: "beta", Properties: "delta"}}, nil, nil, nil)
	alpha, beta := m.Match("alpha"), m.Match("beta")
	defer alpha.Close()
	defer beta.Close()
	assert.InDelta(t, 1, alpha.Of(0), 1e-6)
	assert.InDelta(t, 1/1.9/fullWeight, beta.Of(1), 1e-6)
	assert.Zero(t, alpha.Of(1))
}

func TestNewMatcherStops(t *testing.T) {
	assert.Nil(t, NewMatcher(additionDocuments(300), nil, nil, func() bool { return true }))
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

// Different spellings of one thing are one request, to the last bit.
func TestSpellingsAreEquivalent(t *testing.T) {
	m := NewMatcher(tools, nil, nil, nil)
	want := scores(m, "search issues")
	require.Greater(t, want[0], .5)
	for _, q := range []string{"searchIssues", "search_issues", "SearchIssues", "search-issues", "SEARCH ISSUES", "searching an issue", "search.issues"} {
		assert.Equal(t, want, scores(m, q), q)
	}
}

func TestDegenerate(t *testing.T) {
	huge := strings.Repeat("read searchIssues \xff搜索 qwertyuiop0 ", 3000) // 100 KB
	for name, docs := range map[string][]Document{
		"none": nil, "empty": {{}}, "one": {tools[0]}, "twins": {tools[0], tools[0]}, "all empty": make([]Document, 30),
		"broken": {{Name: "\xff\xfe", Text: "\xc3("}, {Text: huge}},
	} {
		m := NewMatcher(docs, nil, nil, nil)
		require.Equal(t, len(docs), m.Len())
		for _, q := range []string{"", "read", "\xff", huge, "the", "\x00"} {
			for _, score := range scores(m, q) {
				assert.True(t, score >= 0 && score <= 1, "%s: %v", name, score)
			}
			x := m.Match(q)
			assert.LessOrEqual(t, len(x.Top(nil, 1000, 0)), len(docs))
			assert.Empty(t, x.Top(nil, 0, 0))
			x.Close()
		}
	}
}

// The order of the documents changes no bit of any score.
func TestPermutedDocuments(t *testing.T) {
	word := rapid.SampledFrom([]string{"read", "write", "file", "issue", "search", "web", "mail", "send", "calendar", "event", "rare", "the", "get_url", "webSearch"})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(word, 0, 6).Draw(t, "words"), " ") })
	some := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Document {
		return Document{text.Draw(t, "name"), text.Draw(t, "text"), text.Draw(t, "properties")}
	}), 0, 25)
	rapid.Check(t, func(t *rapid.T) {
		docs, query := some.Draw(t, "docs"), text.Draw(t, "query")
		places := make([]int, len(docs))
		for i := range places {
			places[i] = i
		}
		places = rapid.Permutation(places).Draw(t, "places")
		permuted := make([]Document, len(docs))
		for i, p := range places {
			permuted[p] = docs[i]
		}
		want, got := scores(NewMatcher(docs, nil, nil, nil), query), scores(NewMatcher(permuted, nil, nil, nil), query)
		for i, p := range places {
			if got[p] != want[i] {
				t.Fatalf("%v in one order, %v in another", want[i], got[p])
			}
		}
	})
}

// Vectors of a model that is asked elsewhere may be missing or wrong.
func TestVectors(t *testing.T) {
	nan := float32(math.NaN())
	v := NewVectors([][]float32{{2, 0}, {0, 3}, nil, {nan, 1}})
	near := v.Near([]float32{0, 1}, 4)
	require.Len(t, near, 1)
	assert.Equal(t, int32(1), near[0].Doc)
	assert.InDelta(t, 1, near[0].Score, 1e-6)
	for _, bad := range [][]float32{nil, {1}, {nan, 1}, {0, 0}, {1, 2, 3}} {
		assert.Empty(t, v.Near(bad, 4))
	}
	w := &codec.Writer{}
	v.Write(w)
	r := codec.NewReader(w.Bytes)
	assert.Equal(t, v, ReadVectors(r, 4))
	require.NoError(t, r.End())
	r = codec.NewReader(w.Bytes)
	ReadVectors(r, 3)
	assert.Error(t, r.Err(), "vectors of other documents")
}

// scores of all documents.
func scores(m *Matcher, text string) (scores []float64) {
	x := m.Match(text)
	defer x.Close()
	for d := range int32(m.Len()) {
		scores = append(scores, x.Of(d))
	}
	return scores
}
