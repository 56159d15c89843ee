package semantic

import (
	"fmt"
	"strings"
	"testing"

	"waymark/internal/codec"
)

// synthetic draws n tools of about 30 words from a vocabulary of 20,000 with frequencies falling as
// 1/rank, in 50 topics, by a fixed sequence.
func synthetic(n int) []Document {
	docs := make([]Document, n)
	state := uint64(n)
	next := func(m int) int { state++; return int(mix(state) % uint64(m)) }
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

func queries(docs []Document) []string {
	var out []string
	for i := range 200 {
		words := strings.Fields(docs[int(mix(uint64(i))%uint64(len(docs)))].Text)
		out = append(out, strings.Join(words[:2+i%4], " "))
	}
	return out
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		docs := synthetic(n)
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			for b.Loop() {
				Build(docs, Options{})
			}
		})
		w := &codec.Writer{}
		Build(docs, Options{}).Write(w)
		b.Run(fmt.Sprintf("read/tools=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(w.Bytes)))
			for b.Loop() {
				ReadIndex(codec.NewReader(w.Bytes))
			}
		})
	}
}

func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		docs := synthetic(n)
		q := queries(docs)
		for _, kind := range []struct {
			name string
			rank int
		}{{"lexical", -1}, {"fused", 128}} {
			ix := Build(docs, Options{Rank: kind.rank})
			b.Run(fmt.Sprintf("%s/tools=%d", kind.name, n), func(b *testing.B) {
				hits := make([]Hit, 0, 10)
				for i := 0; b.Loop(); i++ {
					hits = ix.AppendSearch(hits[:0], q[i%len(q)], nil, 10)
				}
			})
		}
	}
}

func BenchmarkScores(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		docs := synthetic(n)
		q := queries(docs)
		ix := Build(docs, Options{})
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			var hits []Hit
			for i := 0; b.Loop(); i++ {
				hits = scores(ix, q[i%len(q)], nil, hits)
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
	in := NewIntents(texts, nil)
	q := queries(docs)
	b.Run("intents=20000", func(b *testing.B) {
		hits := make([]Hit, 0, 10)
		for i := 0; b.Loop(); i++ {
			hits = in.AppendNearest(hits[:0], q[i%len(q)], 10)
		}
	})
}
