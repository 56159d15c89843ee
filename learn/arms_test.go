package learn

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A user who looks at a place with the given probability, and uses what is right there; else what is
// right is found in another way half of the time.
type user struct {
	r     *rand.Rand
	looks []float64
}

func (u *user) uses(shown []string, right string) string {
	for i, id := range shown {
		if id == right && i < len(u.looks) && u.r.Float64() < u.looks[i] {
			return right
		}
	}
	return "something else"
}

// traded gives an order and how likely it was.
func traded(r *rand.Rand, list []string, share float64) (shown []string, place int, propensity float64) {
	shown = append(shown, list...)
	if share == 0 {
		return shown, 0, 1
	}
	if r.Float64() >= share {
		return shown, 0, 1 - share
	}
	place = 2 + r.IntN(len(list)-1)
	shown[0], shown[place-1] = shown[place-1], shown[0]
	return shown, place, share / float64(len(list)-1)
}

// What a place is worth is found again from traded answers, whatever the share of them.
func TestExaminationIsFoundAgain(t *testing.T) {
	looks := []float64{.9, .6, .3}
	u := user{rand.New(rand.NewPCG(1, 2)), looks}
	var outcomes []Followed
	for i := range 40_000 {
		f := Followed{Conversation: fmt.Sprint(i)}
		f.Shown, f.Traded, f.Propensity = traded(u.r, []string{"a", "b", "c"}, .5)
		f.Target = u.uses(f.Shown, []string{"a", "a", "a", "b", "c"}[u.r.IntN(5)])
		outcomes = append(outcomes, f)
	}
	found := Examine(outcomes)
	require.Len(t, found, 3)
	for i, x := range looks {
		assert.InDelta(t, x/looks[0], found[i], .03, "place %d", i+1)
	}
	assert.Nil(t, Examine(outcomes[:200]), "too few trades say nothing")
	for i := range outcomes {
		outcomes[i].Traded, outcomes[i].Propensity = 0, 1
	}
	assert.Nil(t, Examine(outcomes), "without exploration it cannot be told")
}

func TestExamined(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		place  int
		want   float64
	}{
		{nil, 1, 1}, {nil, 0, 1}, {[]float64{1, .5, .2}, 1, 1}, {[]float64{1, .5, .2}, 2, .5},
		{[]float64{1, .5, .2}, 9, .2}, {[]float64{1, .5, .2}, 0, .2},
	} {
		assert.Equal(t, c.want, Examined(c.shares, c.place), "%v at %d", c.shares, c.place)
	}
}

// The first profile is right 40 % of the time in the first place; what it is without exploration is found
// again from explored answers, which do worse.
func TestScoresWithoutExploration(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	u := user{rand.New(rand.NewPCG(3, 4)), []float64{1, 1, 1, 1, 1}}
	var outcomes []Followed
	for i := range 12_000 {
		f := Followed{Conversation: fmt.Sprint(i / 3)}
		f.Shown, f.Traded, f.Propensity = traded(u.r, []string{"a", "b", "c", "d", "e"}, .3)
		f.Target = []string{"a", "a", "b", "x", "y"}[u.r.IntN(5)]
		outcomes = append(outcomes, f)
	}
	got := CompareArms("next", outcomes)
	require.Len(t, got.Arms, 1)
	a := got.Arms[0]
	assert.Equal(t, OneArm, got.Verdict)
	assert.Nil(t, got.Difference)
	assert.InDelta(t, .4*.7+.3*(.2*.25), a.Hit1, .015, "as it happened")
	assert.InDelta(t, .4, a.Unexplored.Hit1, .015)
	assert.InDelta(t, .4+.2/2, a.Unexplored.MRR, .015)
	assert.InDelta(t, .6, a.Unexplored.Hit5, .015)
	assert.InDelta(t, .7*12_000, a.Unexplored.Effective, 300, "what was explored weighs nothing")
	assert.Less(t, a.Unexplored.CI["mrr"][0], a.Unexplored.MRR)
	assert.Greater(t, a.Unexplored.CI["mrr"][1], a.Unexplored.MRR)
	assert.Equal(t, 4000, a.Conversations)
	require.Equal(t, got, CompareArms("next", outcomes), "the same draws")
}

func TestCompareArms(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	lists := map[string][]string{FirstArm: {"b", "a"}, SecondArm: {"a", "b"}}
	answers := func(n int, share float64, likelyA float64, shadow bool) (all []Followed) {
		r := rand.New(rand.NewPCG(5, uint64(n)))
		u := user{r, []float64{1, .3}}
		for i := range n {
			f := Followed{Arm: FirstArm, Conversation: fmt.Sprint(i / 2)}
			if !shadow && i/2%2 == 1 {
				f.Arm = SecondArm
			}
			if shadow {
				f.Shadow = lists[SecondArm]
			}
			f.Shown, f.Traded, f.Propensity = traded(r, lists[f.Arm], share)
			right := "b"
			if r.Float64() < likelyA {
				right = "a"
			}
			f.Target = u.uses(f.Shown, right)
			all = append(all, f)
		}
		return all
	}
	for _, c := range []struct {
		name     string
		outcomes []Followed
		verdict  ArmsVerdict
		mrr      float64 // difference, not asked if 0
	}{
		{name: "too few", outcomes: answers(60, 0, .8, false), verdict: NotEnough},
		{name: "split, the second is right more often", outcomes: answers(4000, 0, .8, false), verdict: SecondLeads},
		{name: "split, less often", outcomes: answers(4000, 0, .2, false), verdict: SecondBack},
		{name: "split, the same", outcomes: answers(4000, 0, .5, false), verdict: SecondEven},
		// What is not found on the list weighs as the last place does: .4 + .18/.3 + .42/.3 = 2.4 in all. a is right in 6 of 10 cases, but is seen in the second place by 3 of 10: the first profile's answers
		// speak for it, unless it is known what a place is worth.
		{name: "shadow without exploration", outcomes: answers(4000, 0, .6, true), verdict: Undecided},
		{name: "shadow with exploration", outcomes: answers(8000, .4, .6, true), verdict: SecondLeads, mrr: .1 / 2.4},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := CompareArms("next", c.outcomes)
			assert.Equal(t, c.verdict, got.Verdict, "%+v", got)
			require.Len(t, got.Arms, 2)
			assert.Equal(t, c.verdict != NotEnough, got.Arms[0].Enough && got.Arms[1].Enough)
			assert.NotEmpty(t, got.Why)
			if c.mrr != 0 {
				assert.InDelta(t, c.mrr, got.Difference.Mean, .03)
				assert.Less(t, got.Arms[1].MRR, got.Arms[0].MRR, "uncorrected it is the other way round")
			}
		})
	}
	// Outcomes from before the second profile was asked in the shadow are no questions to it.
	mixed := append(answers(200, 0, .5, true), Followed{Conversation: "old", Shown: []string{"b"}, Propensity: 1, Target: "b"})
	got := CompareArms("next", mixed)
	assert.Equal(t, 200, got.Arms[0].Outcomes)
	assert.Equal(t, 200, got.Arms[1].Outcomes)
}
