package semantic

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// synthetic draws n tools of about 30 words from a vocabulary of 20,000 with frequencies falling as
// 1/rank, in 50 topics, by a fixed sequence.
func synthetic(n int) []Document {
	docs := make([]Document, n)
	next := rand.New(rand.NewPCG(uint64(n), 0)).IntN
	for d := range docs {
		topic := next(50)
		word := func() string {
			// the product of two uniform draws is small as often as a Zipf draw
			rank := next(20_000) * next(20_000) / 20_000
			if next(3) == 0 {
				rank = topic*400 + next(40)
			}
			return syllables(rank)
		}
		text := make([]string, 10+next(40))
		for i := range text {
			text[i] = word()
		}
		docs[d] = Document{Name: word() + "_" + word(), Text: strings.Join(text, " "), Properties: word() + " " + word()}
	}
	return docs
}

// syllables spells a number as a word.
func syllables(n int) string {
	var b strings.Builder
	for n += 400; n > 0; n /= 20 {
		b.WriteByte("bcdfghjklmnprstvwxyz"[n%20])
		b.WriteByte("aeiou"[n%5])
	}
	return b.String()
}

func BenchmarkNewMatcher(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		docs := synthetic(n)
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			for b.Loop() {
				NewMatcher(docs, pairs{}, nil, nil)
			}
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		docs := synthetic(n)
		m := NewMatcher(docs, pairs{}, nil, nil)
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			var hits []Hit
			for i := 0; b.Loop(); i++ {
				x := m.Match(docs[i%n].Text[:20])
				hits = x.Top(hits[:0], 10, 0)
				x.Close()
			}
		})
	}
}

func BenchmarkNearest(b *testing.B) {
	docs := synthetic(20_000)
	texts := make([]string, len(docs))
	for i, d := range docs {
		texts[i] = strings.Join(strings.Fields(d.Text)[:10], " ")
	}
	r := NewRequests(texts)
	b.Run("requests=20000", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			r.Nearest(texts[i%len(texts)], 10, 0)
		}
	})
}
