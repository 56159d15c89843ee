package evaluate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// followed draws outcomes of n answers, two of each conversation, of which every second one falls to the second arm.
// Of what is used next, a share of likelyA is a, which the second arm shows first; the rest is b.
func followed(n int, likelyA float64) (all []Followed) {
	shown := map[string][]string{FirstArm: {"b", "a"}, SecondArm: {"a", "b"}}
	r := rand.New(rand.NewPCG(5, uint64(n)))
	for i := range n {
		f := Followed{Arm: FirstArm, Conversation: fmt.Sprint(i / 2), Target: "b"}
		if i/2%2 == 1 {
			f.Arm = SecondArm
		}
		if r.Float64() < likelyA {
			f.Target = "a"
		}
		f.Shown = shown[f.Arm]
		all = append(all, f)
	}
	return all
}

func TestCompareArms(t *testing.T) {
	for _, c := range []struct {
		name    string
		n       int
		likelyA float64
		verdict ArmsVerdict
	}{
		{"too few", 60, .8, notEnough},
		{"the second is right more often", 2000, .8, secondLeads},
		{"less often", 2000, .2, SecondBack},
		{"equally often", 2000, .5, secondEven},
	} {
		t.Run(c.name, func(t *testing.T) {
			outcomes := followed(c.n, c.likelyA)
			got := CompareArms("next", outcomes)
			assert.Equal(t, c.verdict, got.Verdict, "%+v", got)
			require.Len(t, got.Arms, 2)
			assert.NotEmpty(t, got.Why)
			for i, likely := range []float64{1 - c.likelyA, c.likelyA} {
				a := got.Arms[i]
				assert.Equal(t, c.verdict != notEnough, a.Enough)
				assert.Equal(t, c.n/2, a.Outcomes)
				assert.Equal(t, c.n/4, a.Conversations)
				assert.Equal(t, 1., a.Hit5)
				if a.Enough {
					assert.InDelta(t, likely, a.Hit1, .05)
					assert.InDelta(t, likely+(1-likely)/2, a.MRR, .03)
				}
				for metric, mean := range map[string]float64{"hit@1": a.Hit1, "hit@5": a.Hit5, "mrr": a.MRR} {
					assert.LessOrEqual(t, a.CI[metric][0], mean)
					assert.GreaterOrEqual(t, a.CI[metric][1], mean)
				}
			}
			assert.InDelta(t, got.Arms[1].MRR-got.Arms[0].MRR, got.Difference.Mean, 1e-9)
			require.Equal(t, got, CompareArms("next", outcomes), "the same draws")
		})
	}
}

// Answers of no arm are compared only where there is no second arm.
func TestArmlessAnswersAreNotCompared(t *testing.T) {
	armless := Followed{Conversation: "other", Shown: []string{"b"}, Target: "b"}
	got := CompareArms("next", append(followed(200, .5), armless))
	assert.Equal(t, 100, got.Arms[0].Outcomes)
	assert.Equal(t, 100, got.Arms[1].Outcomes)

	got = CompareArms("next", []Followed{armless})
	require.Len(t, got.Arms, 1)
	assert.Equal(t, oneArm, got.Verdict)
	assert.Nil(t, got.Difference)
	assert.Equal(t, 1, got.Arms[0].Outcomes)
	assert.Equal(t, 1., got.Arms[0].Hit1)
}
