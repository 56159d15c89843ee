package evidence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestConfidence(t *testing.T) {
	// Origins of the seed documents, 4.3: support .8, agreement .6, 10 documents, 1 unsupported, 1 contradiction.
	given := func(dominance float64) Grounds {
		return Grounds{Support: .8, Dominance: dominance, Agreement: .6, Snippets: 10, Unsupported: 1, Contradictions: 1}
	}
	for _, tt := range []struct {
		name string
		g    Grounds
		want float64
	}{
		{"dominance .20", given(.20), .59},
		{"dominance .35", given(.35), .6125},
		{"dominance .55", given(.55), .6425},
		{"dominance .79", given(.79), .6785},
		{"dominance 1", given(1), .71},
		{"everything for it", Grounds{Support: 1, Dominance: 1, Agreement: 1, Snippets: 99}, .95},
		{"nothing", Grounds{}, .25},
		{"floor", Grounds{Unsupported: 1, Contradictions: 9}, .05},
		{"far below the floor", Grounds{Contradictions: 2000}, .05},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, terms := Confidence(tt.g)
			assert.InDelta(t, tt.want, got, 1e-12)
			assert.Equal(t, got, added(terms))
		})
	}
	// The same place, of the engine as it was: coverage .8, provider ratio 1 → .75.
	before := coefficients{base: .25, support: .45, dominance: .15, agreement: .10, evidence: .05, unsupported: -.07, contradictions: -.05}
	got, _ := before.confidence(given(1))
	assert.InDelta(t, .75, got, 1e-12)
}

func added(terms []Term) float64 {
	total := 0.0
	for _, t := range terms {
		total += t.Contribution
	}
	return total
}

func TestConfidenceIsTheSumOfItsTerms(t *testing.T) {
	share := rapid.Float64Range(0, 1)
	rapid.Check(t, func(t *rapid.T) {
		got, terms := Confidence(Grounds{
			Support: share.Draw(t, "support"), Dominance: share.Draw(t, "dominance"), Agreement: share.Draw(t, "agreement"),
			Snippets: rapid.IntRange(0, 30).Draw(t, "n"), Unsupported: rapid.IntRange(0, 1).Draw(t, "u"), Contradictions: rapid.IntRange(0, 2000).Draw(t, "c"),
		})
		if got < .05 || got > .95 || got != added(terms) {
			t.Fatalf("%v of %v", got, terms)
		}
		for _, x := range terms {
			if x.Contribution != float64(x.Value*x.Weight) {
				t.Fatalf("%+v", x)
			}
		}
	})
}
