package suggest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// Scoring reference 2.2, the table of stages; the boundaries are half-open.
func TestConfidenceWeights(t *testing.T) {
	for _, row := range []struct{ density, hybrid, pageRank, path float64 }{
		{0, .85, .05, .10}, {.0099, .85, .05, .10},
		{.01, .65, .20, .15}, {.0999, .65, .20, .15},
		{.10, .55, .30, .15}, {1, .55, .30, .15},
	} {
		h, r, p := ConfidenceWeights(row.density)
		assert.Equal(t, []float64{row.hybrid, row.pageRank, row.path}, []float64{h, r, p}, "density %v", row.density)
		assert.InDelta(t, 1, h+r+p, 1e-15)
	}
}

// Worked cases of the original's ADR-026: mature weights, nothing but a hybrid score of .72 and a
// default path give .471; a cold graph gives about .665.
func TestConfidence(t *testing.T) {
	assert.InDelta(t, .471, new(sum).dagConfidence(.10, .72, 0, .50), 1e-12)
	assert.InDelta(t, .66495, new(sum).dagConfidence(0, .72, .059, .50), 1e-12)
	assert.Equal(t, Cap, new(sum).dagConfidence(0, 2, 2, 2))
}

// total is what a formula adds to an empty sum.
func total(formula func(s *sum)) float64 {
	s := &sum{}
	formula(s)
	return s.total
}

// Scoring reference 4.2: 0 stays 0; the cluster lifts by half to the double; track records below one
// half cost a factor of ten. By hand: 2/3 · 1.5 · 1.2 = 1.2, mapped to 1.2/2.2.
func TestMixedScore(t *testing.T) {
	assert.Zero(t, MixedScore(0, 1, 1.2))
	x := MixedScore(2.0/3, .5, 1.2)
	assert.InDelta(t, 1.2, x, 1e-12)
	assert.InDelta(t, 1.2/2.2, Comparable(x), 1e-12)
	assert.Zero(t, Comparable(0))
}

func TestStructuralBoost(t *testing.T) {
	for _, row := range []struct {
		last  bool
		share float64
		want  float64
	}{{true, 1, 1}, {true, .5, .75}, {true, 0, .5}, {false, 1, .25}, {false, .5, .125}, {false, 0, 0}} {
		assert.InDelta(t, row.want, StructuralBoost(row.last, row.share), 1e-15)
	}
}

// Scoring reference 4.2 and 5.3, with the ruling that fewer than 5 outcomes say nothing: a capability
// whose first run failed is not buried. A rate of 0 is no division by zero (bug p of the original).
func TestReliability(t *testing.T) {
	for _, row := range []struct {
		rate  float64
		known int
		want  float64
	}{
		{0, 0, 1}, {0, 1, 1}, {0, 4, 1}, {0, 5, .1}, {.49, 5, .1}, {.5, 5, 1}, {.9, 5, 1}, {.91, 11, 1.2}, {1, 5, 1.2},
	} {
		assert.Equal(t, row.want, Reliability(row.rate, row.known), "%v of %d", row.rate, row.known)
	}
}

// Jaccard divides by the union, containment by one side.
func TestOverlap(t *testing.T) {
	assert.Equal(t, .5, Jaccard(2, 3, 3))
	assert.Equal(t, 2.0/3, Containment(2, 3))
	assert.Zero(t, Jaccard(0, 0, 0))
	assert.Zero(t, Containment(0, 0))
}

// Ends drawn towards the overall share: 10 episodes of 40 steps, overall 1/4.
func TestStopProbability(t *testing.T) {
	assert.InDelta(t, .25, StopProbability(0, 0, 10, 40), 1e-12) // never used: the overall share
	assert.InDelta(t, 9.25/11, StopProbability(9, 10, 10, 40), 1e-12)
	assert.Zero(t, StopProbability(0, 0, 0, 0))
}

// The cap and the floor are terms: what comes back adds up to the score exactly, and the score is
// exactly the cap.
func TestTermsAddUpExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sum{keep: true}
		for i := range rapid.IntRange(1, 6).Draw(t, "terms") {
			s.add(fmt.Sprint(i), rapid.Float64Range(-.2, 1).Draw(t, "value"), rapid.Float64Range(0, .4).Draw(t, "weight"))
		}
		score := s.close()
		total := 0.0
		for _, term := range s.terms {
			total += term.Contribution
		}
		if total != score || score > Cap || score < 0 {
			t.Fatalf("terms add up to %v, score %v", total, score)
		}
	})
}

// NaN and infinities end at the score boundary.
func TestNothingNonFiniteLeaves(t *testing.T) {
	zero := 0.0
	s := sum{keep: true}
	s.add("nan", zero/zero, 1)
	s.add("infinite", 1/zero, 1)
	s.add("weight", 1, zero/zero)
	assert.Zero(t, s.close())
	for _, term := range s.terms {
		assert.Zero(t, term.Contribution)
	}
}

func TestPatterns(t *testing.T) {
	for _, row := range []struct {
		pattern, id string
		want        bool
	}{
		{"github:*", "github:search", true}, {"github:*", "gitlab:search", false}, {"*", "anything", true},
		{"a*c", "abc", true}, {"a*c", "ac", true}, {"a*c", "abd", false}, {"*:read_*", "fs:read_file", true},
		{"a*b*c", "a-b-b-c", true}, {"exact", "exact", true}, {"exact", "exactly", false}, {"", "", true}, {"a*a", "a", false}, {"fs:*read*", "fs:read_file", true},
	} {
		assert.Equal(t, row.want, matches(row.pattern, row.id), "%q %q", row.pattern, row.id)
	}
}
