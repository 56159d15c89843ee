package evidence

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// round makes hypotheses of a dozen words and snippets of 60, of the vocabulary of one subject.
func benchRequest(hypotheses, snippets int) Request {
	rng := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 1500)
	for i := range words {
		b := make([]byte, 4+rng.IntN(7))
		for j := range b {
			b[j] = "aeiouprstlnmdk"[rng.IntN(14)]
		}
		words[i] = string(b)
	}
	text := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = words[int(float64(len(words))*rng.Float64()*rng.Float64())]
		}
		return strings.Join(list, " ")
	}
	r := Request{Question: text(12), NoneOfThese: true, Rounds: []Round{{}}}
	for i := range hypotheses {
		r.Hypotheses = append(r.Hypotheses, Hypothesis{ID: fmt.Sprintf("h%d", i), Text: text(8), Rationale: text(12), KeyFact: text(8)})
	}
	for i := range snippets {
		r.Rounds[0].Snippets = append(r.Rounds[0].Snippets, Snippet{ID: fmt.Sprintf("s%d", i), Text: text(30) + ". This does not contradict it, " + text(30), Source: fmt.Sprintf("https://s%d.org/x", i%7)})
	}
	return r
}

// A round of 50 snippets of 66 words for 5 hypotheses, with the session made anew: the host's whole cost.
func BenchmarkRound(b *testing.B) {
	r := benchRequest(5, 50)
	b.ReportAllocs()
	for b.Loop() {
		s, err := New(Request{Question: r.Question, Hypotheses: r.Hypotheses, NoneOfThese: true})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Add(r.Rounds[0]); err != nil {
			b.Fatal(err)
		}
	}
}

// The largest pool that is accepted.
func BenchmarkLargestPool(b *testing.B) {
	r := benchRequest(MaxHypotheses, MaxPool)
	all := r.Rounds[0].Snippets
	r.Rounds = nil
	for i := 0; i < len(all); i += MaxSnippets {
		r.Rounds = append(r.Rounds, Round{Snippets: all[i : i+MaxSnippets]})
	}
	for b.Loop() {
		if _, err := Triangulate(r); err != nil {
			b.Fatal(err)
		}
	}
}
