package council

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"waymark/score/rubric"
)

// large is a council of n answers of about a page, and m reviewers who see them all.
func large(n, m int) Input {
	rng := rand.New(rand.NewPCG(1, 2))
	in := Input{Question: "Which?"}
	for i := range n {
		in.Responses = append(in.Responses, Response{ID: fmt.Sprint("a", i), Text: strings.Repeat("A sentence of an answer about passwords and help. ", 20+i)})
	}
	for r := range m {
		b := NewBallot(1, fmt.Sprint("r", r), in.Responses)
		review := b.Review("")
		review.Evaluations = map[string]*Evaluation{}
		for i := range b.Order {
			e := &Evaluation{}
			for _, d := range Dimensions() {
				*e.at(d) = new(rubric.Whole(1 + rng.IntN(10)))
			}
			e.Overall = new(rubric.Whole(1 + rng.IntN(10)))
			review.Evaluations[b.LabelOf(i)] = e
		}
		in.Reviews = append(in.Reviews, review)
	}
	return in
}

func BenchmarkScore(b *testing.B) {
	for _, size := range [][2]int{{5, 5}, {20, 10}, {MaxResponses, maxReviews}} {
		in := large(size[0], size[1])
		b.Run(fmt.Sprintf("answers=%d/reviews=%d", size[0], size[1]), func(b *testing.B) {
			for b.Loop() {
				if _, err := Score(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSafetyGate(b *testing.B) {
	for name, text := range map[string]string{
		"plain": strings.Repeat("A sentence of an answer about nothing in particular. ", 2000),
		"words": strings.Repeat("Guns, bombs, passwords: how to hack without help. ", 2000),
	} {
		b.Run("text="+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				hits(text)
			}
		})
	}
}
