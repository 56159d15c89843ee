package semantic

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Oracle: by hand. N = 2: idf(book) = ln(1 + .5/2.5) = .182322, idf(flight) = idf(hotel) =
// ln(1 + 1.5/1.5) = .693147, idf of a new word ln(1 + 2.5/.5) = 1.791759.
//
//	"book flight" · "book hotel" = .182322² / (.182322² + .693147²) = .064706
//	"book zeppelin" · "book flight" = .182322² / (1.801012 · .716723) = .025752
func TestNearestByHand(t *testing.T) {
	in := NewIntents([]string{"Book a flight", "book the hotel"}, nil)
	hits := in.Nearest("booking flights", 5)
	require.Len(t, hits, 2)
	assert.InDelta(t, 1, hits[0].Score, 1e-6)
	assert.InDelta(t, .064706, hits[1].Score, 1e-5)
	hits = in.Nearest("book zeppelin", 1)
	require.Len(t, hits, 1)
	assert.Equal(t, int32(0), hits[0].Doc)
	assert.InDelta(t, .025752, hits[0].Score, 1e-5)
}

func TestNearestDegenerate(t *testing.T) {
	for _, texts := range [][]string{nil, {""}, {"the"}, {"\xff", "a b"}} {
		in := NewIntents(texts, nil)
		for _, q := range []string{"", "the", "\xff", "word", strings.Repeat("word ", 20_000)} {
			for _, h := range in.Nearest(q, 10) {
				assert.True(t, h.Score > 0 && h.Score <= 1)
			}
			assert.Empty(t, in.Nearest(q, 0))
		}
	}
}

// Oracle: dense vectors and their cosine, over words that are their own stems.
func TestNearestAgainstDenseCosine(t *testing.T) {
	words := []string{"red", "blue", "fox", "dog", "cat", "sun", "web", "map"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) []int {
			return rapid.SliceOfN(rapid.IntRange(0, len(words)-1), 0, 6).Draw(t, label)
		}
		text := func(ids []int) string {
			var s []string
			for _, i := range ids {
				s = append(s, words[i])
			}
			return strings.Join(s, " ")
		}
		var texts []string
		var counts [][8]float64
		for range rapid.IntRange(1, 12).Draw(t, "n") {
			ids := draw("text")
			var c [8]float64
			for _, i := range ids {
				c[i]++
			}
			texts, counts = append(texts, text(ids)), append(counts, c)
		}
		query := draw("query")
		var q [8]float64
		for _, i := range query {
			q[i]++
		}
		n := float64(len(texts))
		weigh := func(c [8]float64) (v [8]float64, length float64) {
			for i, tf := range c {
				df := 0.0
				for _, d := range counts {
					if d[i] > 0 {
						df++
					}
				}
				if tf > 0 && df == 0 { // each mention of a word that no text has is a dimension of its own
					length += tf * math.Pow(math.Log(1+(n+.5)/.5), 2)
				} else if tf > 0 {
					v[i] = (1 + math.Log(tf)) * math.Log(1+(n-df+.5)/(df+.5))
				}
				length += v[i] * v[i]
			}
			return v, math.Sqrt(length)
		}
		qv, ql := weigh(q)
		got := NewIntents(texts, nil).Nearest(text(query), len(texts))
		for d := range texts {
			dv, dl := weigh(counts[d])
			dot := 0.0
			for i := range qv {
				dot += qv[i] * dv[i]
			}
			at := slices.IndexFunc(got, func(h Hit) bool { return h.Doc == int32(d) })
			if dot == 0 {
				if at >= 0 {
					t.Fatalf("%q is near nothing, got %v", texts[d], got[at])
				}
				continue
			}
			if at < 0 || math.Abs(got[at].Score-dot/ql/dl) > 1e-6 {
				t.Fatalf("text %d: got %v, want %v", d, got, dot/ql/dl)
			}
		}
		if !slices.IsSortedFunc(got, order) {
			t.Fatal("not in order")
		}
	})
}

func ExampleIntents_Nearest() {
	in := NewIntents([]string{"Book a flight to Shanghai", "Cancel the alarm at eight", "Change my flight"}, nil)
	for _, h := range in.Nearest("please change the flight to Beijing", 2) {
		fmt.Printf("%d %.2f\n", h.Doc, h.Score)
	}
	// Output:
	// 2 0.46
	// 0 0.06
}
