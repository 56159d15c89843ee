package contribution

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/score"
)

// pool is deltas to build messages from, good ones and bad ones.
var pool = []string{
	hypothesis, third, test, kill, anomaly, scale, critique,
	strings.Replace(hypothesis, "§161", "§999", 1), strings.Replace(test, "potency_check", "x", 1), strings.Replace(kill, `"rationale"`, `"x"`, 1),
	strings.Replace(hypothesis, `"mechanism"`, `"how"`, 1), strings.TrimSuffix(anomaly, "}") + ",}", `{"operation": `,
}

func drawScores(t *rapid.T, role Role) Scores {
	s := Scores{}
	for _, c := range criteriaOf(role) {
		if rapid.Bool().Draw(t, c.Name+" given") {
			s[c.Name] = score.Whole(rapid.IntRange(0, len(c.Anchors)-1).Draw(t, c.Name))
		}
	}
	return s
}

func drawRequest(t *rapid.T) (Request, []string) {
	role := rapid.SampledFrom(Roles).Draw(t, "role")
	parts := rapid.SliceOfN(rapid.SampledFrom(pool), 1, 8).Draw(t, "parts")
	r := Request{Role: role, Scores: drawScores(t, role), Anchors: &Anchors{Max: 236}}
	if rapid.Bool().Draw(t, "context") {
		r.Context = map[string]bool{"paradox": true, "object_transposition": true}
	}
	return r, parts
}

func join(parts []string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(fenced(p))
	}
	return b.String()
}

// bare is a delta without its place in the message.
func bare(t require.TestingT, d *Delta) string {
	without := *d
	without.Line = 0
	return encoded(t, without)
}

// The order of the deltas in a message changes no score of any of them.
func TestOrderOfDeltas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, parts := drawRequest(t)
		r.Text = join(parts)
		first, err := Score(r)
		require.NoError(t, err)
		rand.New(rand.NewPCG(1, uint64(len(parts)))).Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		r.Text = join(parts)
		second, err := Score(r)
		require.NoError(t, err)
		var a, b, gatesA, gatesB []string
		for i := range first.Deltas {
			a, b = append(a, bare(t, first.Deltas[i])), append(b, bare(t, second.Deltas[i]))
		}
		for i := range first.Gates {
			gatesA = append(gatesA, first.Gates[i].Gate+first.Gates[i].Consequence)
		}
		for i := range second.Gates {
			gatesB = append(gatesB, second.Gates[i].Gate+second.Gates[i].Consequence)
		}
		assert.ElementsMatch(t, a, b)
		assert.ElementsMatch(t, gatesA, gatesB)
		assert.ElementsMatch(t, names(first.Warnings), names(second.Warnings))
		assert.Len(t, second.Dropped, len(first.Dropped))
	})
}

// The composite is the sum of weight times score over the criteria in the answer, the maximum that of the
// largest scores, whatever the order of the criteria; and it is never above what is left open.
func TestCompositeIsWhatTheAnswerShows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, parts := drawRequest(t)
		r.Text = join(parts)
		rep, err := Score(r)
		require.NoError(t, err)
		for _, d := range rep.Deltas {
			if !d.Valid {
				assert.Nil(t, d.Composite)
				assert.Empty(t, d.Criteria)
				continue
			}
			var sum, upper, most score.Decimal
			for name, c := range d.Criteria { // in the random order of a map
				sum += c.Weight * score.Decimal(c.Score)
				upper += c.Weight * score.Decimal(c.Upper)
				most += c.Weight * score.Decimal(c.Max)
				given, isGiven := r.Scores[name]
				assert.Equal(t, isGiven, c.Source == "given")
				if isGiven {
					assert.Equal(t, given, score.Whole(c.Score))
				}
				assert.LessOrEqual(t, c.Score, c.Upper)
				assert.Equal(t, c.Score < c.Upper, c.NeedsHuman != "")
				assert.NotContains(t, d.NotApplicable, name)
			}
			assert.Equal(t, sum, *d.Composite)
			assert.Equal(t, upper, *d.Upper)
			assert.Equal(t, most, *d.Max)
			assert.Len(t, d.Criteria, len(criteriaOf(r.Role))-len(d.NotApplicable))
		}
	})
}
