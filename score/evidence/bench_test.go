package evidence

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// benchRequest makes snippets of 52 words, four of the invented ones each, of many subjects: more
// different words than a search brings.
func benchRequest(b *testing.B, hypotheses, snippets int) Request {
	data, err := os.ReadFile(filepath.Join("testdata", "questions.txt"))
	if err != nil {
		b.Fatal(err)
	}
	var texts []string
	for line := range strings.Lines(string(data)) {
		if kind, rest, _ := strings.Cut(strings.TrimSpace(line), " "); kind == "S" || kind == "T" {
			_, text, _ := strings.Cut(rest, " | ")
			texts = append(texts, text)
		}
	}
	r := Request{Question: texts[0], NoneOfThese: true, Rounds: []Round{{}}}
	for i := range hypotheses {
		r.Hypotheses = append(r.Hypotheses, Hypothesis{ID: fmt.Sprintf("h%d", i), Text: texts[17*i], Rationale: texts[17*i+2], KeyFact: texts[17*i+1]})
	}
	for i := range snippets {
		var four []string
		for j := range 4 {
			four = append(four, texts[(4*i+j*(1+i/50))%len(texts)])
		}
		r.Rounds[0].Snippets = append(r.Rounds[0].Snippets, Snippet{ID: fmt.Sprintf("s%d", i), Text: strings.Join(four, " "), Source: fmt.Sprintf("https://s%d.org/x", i%7)})
	}
	return r
}

// A round of 50 snippets of 52 words for 5 hypotheses, with the session made anew: the host's whole cost.
// Words are met for the first time, or have been met before.
func BenchmarkRound(b *testing.B) {
	b.Run("words=new", func(b *testing.B) { round(b, func() { clear(stemmed.stems) }) })
	b.Run("words=known", func(b *testing.B) { round(b, func() {}) })
}

func round(b *testing.B, before func()) {
	r := benchRequest(b, 5, 50)
	b.ReportAllocs()
	for b.Loop() {
		before()
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
	r := benchRequest(b, maxHypotheses, maxPool)
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
