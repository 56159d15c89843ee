package evidence

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Origins of the seed documents, 4.3: support .8, agreement .6, 10 documents, 1 unsupported, 1 contradiction.
func TestConfidence(t *testing.T) {
	for _, tt := range []struct {
		name                           string
		support, dominance, agreement  float64
		n, unsupported, contradictions int
		want                           float64
	}{
		{"dominance .20", .8, .20, .6, 10, 1, 1, .59},
		{"dominance .35", .8, .35, .6, 10, 1, 1, .6125},
		{"dominance .55", .8, .55, .6, 10, 1, 1, .6425},
		{"dominance .79", .8, .79, .6, 10, 1, 1, .6785},
		{"dominance 1", .8, 1, .6, 10, 1, 1, .71},
		{"everything for it", 1, 1, 1, 99, 0, 0, .95},
		{"nothing", 0, 0, 0, 0, 0, 0, .25},
		{"floor", 0, 0, 0, 0, 1, 9, .05},
		{"far below the floor", 0, 0, 0, 0, 0, 2000, .05},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, terms := confidence(tt.support, tt.dominance, tt.agreement, tt.n, tt.unsupported, tt.contradictions)
			assert.InDelta(t, tt.want, got, 1e-12)
			assert.InDelta(t, got, added(terms), 1e-12)
		})
	}
}

func added(terms []Term) float64 {
	total := 0.0
	for _, t := range terms {
		total += t.Contribution
	}
	return total
}
