package semantic

import (
	"math/rand/v2"
	"strings"
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
