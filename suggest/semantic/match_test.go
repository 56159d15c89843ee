package semantic

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var matchDocuments = []Document{
	{Name: "refund_payment", Text: "Refunds a payment in part or fully."},
	{Name: "list_payments", Text: "Lists payments of a customer, newest first."},
	{Name: "create_pull_request", Text: "Opens a pull request."},
	{Name: "webhooks", Text: "Registers webhooks for 3 events."},
	{Name: "bing_search", Text: "使用必应搜索指定的关键词"},
	{Name: "whois", Text: "Looks up a domain."},
}

func matched(t *testing.T, words *Thesaurus, request string) (names []string) {
	t.Helper()
	x := NewMatcher(matchDocuments, words, nil, nil).Match(request)
	defer x.Close()
	for _, h := range x.Top(nil, 10, 0) {
		require.Greater(t, h.Score, 0.0)
		require.LessOrEqual(t, h.Score, 1.0)
		require.Equal(t, x.Of(h.Doc), h.Score)
		names = append(names, matchDocuments[h.Doc].Name)
	}
	return names
}

func TestMatch(t *testing.T) {
	words := parsed(t, "reimburse > refund\npr > pull request, domain request")
	for request, want := range map[string][]string{
		"refund":                {"refund_payment"},
		"reimburse the payment": {"refund_payment", "list_payments"},
		"open the PR":           {"create_pull_request"},
		"web hooks":             {"webhooks"},
		"refnud":                nil, // see Matcher.Spelled
		"web_hooks":             {"webhooks"},
		"3":                     nil,
		"a b c 3 1 2":           nil,
		"3 webhooks":            {"webhooks"},
		"the of and":            nil,
		"搜索":                    {"bing_search"},
		"用":                     nil, // one character is no evidence
		"возврат денег клиенту": nil,
		"": nil,
	} {
		require.Equal(t, want, matched(t, words, request), request)
	}
}

// A word of a request is answered once: five words for it in one text count as the best of them.
func TestMatchAnswersAWordOnce(t *testing.T) {
	docs := []Document{{Name: "a", Text: "pay settle remit"}, {Name: "b", Text: "pay invoice"}}
	words := parsed(t, "pay > settle, remit")
	x := NewMatcher(docs, words, nil, nil).Match("pay the invoice")
	defer x.Close()
	require.Greater(t, x.Of(1), x.Of(0))
}

// Documents are placed on several processors, each by one of them.
func TestSameBitsOnAnyNumberOfProcessors(t *testing.T) {
	docs := additionDocuments(600)
	vectors := letters{stem("merge"): {1, 2}, stem("invoice"): {3, -1}, stem("branch"): {2, 5}, stem("customer"): {.1, .7}}.vectors()
	var places [][]float32
	for _, n := range []int{1, 4} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
		places = append(places, NewMatcher(docs, nil, vectors, nil).places.flat)
	}
	require.NotZero(t, slices.Max(places[0]))
	require.Equal(t, places[0], places[1])
}

// letters are word vectors of two numbers.
type letters map[string][]float64

func (l letters) vectors() *WordVectors {
	v := &WordVectors{&wordTable{dimension: 2, number: map[string]int32{}}, &wordTable{}}
	for stem, x := range l {
		v.tools.number[stem] = int32(len(v.tools.scale))
		v.tools.weight, v.tools.scale = append(v.tools.weight, 1), append(v.tools.scale, 1.0/127)
		most := max(math.Abs(x[0]), math.Abs(x[1]))
		v.tools.codes = append(v.tools.codes, int8(math.Round(127*x[0]/most)), int8(math.Round(127*x[1]/most)))
	}
	return v
}

// Word vectors order what the words of a request leave open, and bring in what has none of them.
func TestWordVectorsOrderDocuments(t *testing.T) {
	docs := []Document{{Name: "a", Text: "ship freight"}, {Name: "b", Text: "boat freight"}, {Name: "c", Text: "vessel"}}
	x := NewMatcher(docs, nil, letters{"vessel": {1, 0}, "boat": {3, 1}, "ship": {-1, 2}}.vectors(), nil).Match("freight vessel")
	defer x.Close()
	require.Equal(t, 1.0, x.Near(2))
	require.InDelta(t, 0.9487, x.Near(1), 1e-3)
	require.Zero(t, x.Near(0))
	var order []int32
	for _, h := range x.Top(nil, 3, 0.2) {
		order = append(order, h.Doc)
	}
	require.Equal(t, []int32{2, 1, 0}, order)
	require.Greater(t, x.Of(1), x.Of(0)+0.2, "a boat is like a vessel, a ship is not")
}

// The products of codes are the same with and without instructions for vectors.
func TestCodeDots(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const rows = 37
	for _, width := range []int{16, 128} {
		query, code, got := make([]int16, width), make([]int8, rows*width), make([]int32, rows)
		for i := range query {
			query[i] = int16(random.IntN(8191) - 4095)
		}
		for i := range code {
			code[i] = int8(random.IntN(255) - 127)
		}
		codeDots(query, code, got)
		for r := range rows {
			want := 0
			for i, c := range code[r*width : (r+1)*width] {
				want += int(query[i]) * int(c)
			}
			require.Equal(t, int32(want), got[r])
		}
	}
}

// The best documents are those of a sort of all of them, with word vectors and without, whatever is looked at.
func TestTopIsThatOfAll(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	words := make([]string, 60)
	vectors := letters{}
	for i := range words {
		words[i] = fmt.Sprint("word", string(rune('a'+i%26)), string(rune('a'+i/26)))
		angle := random.Float64() * 2
		vectors[words[i]] = []float64{math.Cos(angle), math.Sin(angle)}
	}
	docs := make([]Document, 300)
	for i := range docs {
		for range 1 + random.IntN(4) {
			docs[i].Text += words[random.IntN(len(words))] + " "
		}
	}
	m := NewMatcher(docs, nil, vectors.vectors(), nil)
	for range 50 {
		x := m.Match(words[random.IntN(len(words))] + " " + words[random.IntN(len(words))])
		for _, weight := range []float64{0, 0.3, 1} {
			var all []Hit
			for d := range int32(len(docs)) {
				text, near := x.Of(d), x.Near(d)
				if s := text + float64((1-text)*float64(weight*near)); s > 0 {
					all = append(all, Hit{d, s})
				}
			}
			slices.SortFunc(all, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc)) })
			for _, k := range []int{1, 7, 40, 400} {
				require.Equal(t, all[:min(k, len(all))], x.Top(nil, k, weight), "%d best, weight %v", k, weight)
			}
		}
		x.Close()
	}
}
