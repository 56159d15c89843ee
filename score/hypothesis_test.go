package score

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func scoreHypotheses(req HypothesisRequest) (Answer, error) {
	return new(Scorer).Hypothesis(context.Background(), req)
}

// given are scores in the order of the origins: specificity, novelty, connection, feasibility, grounding.
func given(scores ...string) map[string]*Decimal {
	m := map[string]*Decimal{}
	for i, name := range HypothesisRubric.Names() {
		d, err := ParseDecimal(scores[i])
		if err != nil {
			panic(err)
		}
		m[name] = &d
	}
	return m
}

func of(scores ...int) map[string]*Decimal {
	var text []string
	for _, s := range scores {
		text = append(text, fmt.Sprint(s))
	}
	return given(text...)
}

// Origins, section 5 (synth-research).
func TestOracles(t *testing.T) {
	floors := func(names ...string) (out []string) {
		for _, n := range names {
			out = append(out, n+" scored 1 (below minimum threshold of 2)")
		}
		return out
	}
	for _, tt := range []struct {
		scores    map[string]*Decimal
		composite string
		verdict   string
		reasons   []string
		why       string
	}{
		{of(4, 3, 4, 3, 2), "3.35", "borderline", nil, "their own mock says 3.45"},
		{of(4, 4, 4, 4, 4), "4.00", "pass", nil, ""},
		{of(3, 3, 3, 3, 3), "3.00", "borderline", nil, ""},
		{of(5, 5, 1, 5, 5), "4.00", "fail", floors("connection_validity"), "hard floor"},
		{of(2, 2, 2, 2, 2), "2.00", "fail", []string{"Composite score 2.00 below threshold of 3.0"}, "no floor reason"},
		{of(1, 1, 1, 1, 1), "1.00", "fail", floors(HypothesisRubric.Names()...), "no composite reason"},
		{of(4, 3, 4, 3, 3), "3.50", "pass", nil, ""},
		{of(3, 3, 3, 3, 2), "2.85", "fail", []string{"Composite score 2.85 below threshold of 3.0"}, ""},
		{of(4, 2, 4, 3, 4), "3.45", "borderline", nil, "published run reports 3.40"},
		{of(4, 3, 3, 4, 4), "3.55", "pass", nil, "published run reports 3.60"},
		{of(4, 3, 4, 4, 4), "3.80", "pass", nil, "published run, correct there"},
		{given("1.99", "5", "5", "5", "5"), "4.25", "fail", []string{"specificity scored 1.99 (below minimum threshold of 2)"}, "1.99 fails the floor (4.2475 rounds half up)"},
		{of(2, 5, 5, 5, 5), "4.25", "pass", nil, "2 passes the floor"},
		{of(3, 2, 5, 2, 2), "3.00", "borderline", nil, "2.9999999999999996 in floating point"},
		{of(4, 2, 4, 2, 2), "3.00", "borderline", nil, "2.9999999999999996 in floating point"},
		{of(5, 2, 3, 2, 2), "3.00", "borderline", nil, "2.9999999999999996 in floating point"},
		{of(5, 2, 5, 2, 2), "3.50", "pass", nil, "borderline in floating point"},
		{given("2.98", "3", "3", "3", "3"), "3.00", "fail", []string{"Composite score 2.995 below threshold of 3.0"}, "half up"},
	} {
		a, err := scoreHypotheses(HypothesisRequest{Hypotheses: []Hypothesis{{ID: "h", Scores: tt.scores}}})
		require.NoError(t, err)
		r := a.Results[0]
		assert.Equal(t, tt.composite, r.Composite.Fixed(2), "%v %s", tt.scores, tt.why)
		assert.Equal(t, tt.verdict, r.Verdict, "%v %s", tt.scores, tt.why)
		assert.Equal(t, append([]string{}, tt.reasons...), r.FailReasons)
		assert.Equal(t, tt.verdict == "borderline", r.Caution)
		assert.Equal(t, tt.verdict == "fail", r.Rank == nil)
	}
}

// every walks all 5⁵ = 3,125 integer score sets.
func every(f func(s [5]int)) {
	for i := range 3125 {
		f([5]int{1 + i/625%5, 1 + i/125%5, 1 + i/25%5, 1 + i/5%5, 1 + i%5})
	}
}

// All integer score sets in one batch, against fractions of arbitrary size: composite, verdict, reasons
// and rank.
func TestEveryIntegerScoreSet(t *testing.T) {
	weights := []*big.Rat{big.NewRat(25, 100), big.NewRat(20, 100), big.NewRat(25, 100), big.NewRat(15, 100), big.NewRat(15, 100)}
	type oracle struct {
		id        string
		scores    [5]int
		composite *big.Rat
		verdict   string
		reasons   []string
	}
	var req HypothesisRequest
	var want []oracle
	every(func(s [5]int) {
		o := oracle{id: fmt.Sprint(s), scores: s, composite: new(big.Rat), reasons: []string{}}
		for i, name := range HypothesisRubric.Names() {
			o.composite.Add(o.composite, new(big.Rat).Mul(weights[i], big.NewRat(int64(s[i]), 1)))
			if s[i] < 2 {
				o.reasons = append(o.reasons, fmt.Sprintf("%s scored %d (below minimum threshold of 2)", name, s[i]))
			}
		}
		switch {
		case len(o.reasons) > 0:
			o.verdict = "fail"
		case o.composite.Cmp(big.NewRat(35, 10)) >= 0:
			o.verdict = "pass"
		case o.composite.Cmp(big.NewRat(3, 1)) >= 0:
			o.verdict = "borderline"
		default:
			o.verdict = "fail"
			o.reasons = append(o.reasons, "Composite score "+o.composite.FloatString(2)+" below threshold of 3.0")
		}
		want = append(want, o)
		req.Hypotheses = append(req.Hypotheses, Hypothesis{ID: o.id, Scores: of(s[:]...)})
	})
	ranked := slices.DeleteFunc(slices.Clone(want), func(o oracle) bool { return o.verdict == "fail" })
	slices.SortFunc(ranked, func(a, b oracle) int {
		for _, c := range []int{b.composite.Cmp(a.composite), b.scores[2] - a.scores[2], b.scores[0] - a.scores[0]} {
			if c != 0 {
				return c
			}
		}
		return strings.Compare(a.id, b.id)
	})
	rank := map[string]int{}
	for i, o := range ranked {
		rank[o.id] = i + 1
	}
	a, err := scoreHypotheses(req)
	require.NoError(t, err)
	for i, o := range want {
		r := a.Results[i]
		require.Equal(t, o.id, r.ID)
		require.Equal(t, o.composite.FloatString(2), r.Composite.Fixed(2), o.id)
		require.Equal(t, o.verdict, r.Verdict, o.id)
		require.Equal(t, o.reasons, r.FailReasons, o.id)
		if rank[o.id] == 0 {
			require.Nil(t, r.Rank, o.id)
		} else {
			require.Equal(t, rank[o.id], *r.Rank, o.id)
		}
	}
}

func TestOldSpellings(t *testing.T) {
	scores := of(4, 3, 4, 3, 2)
	scores["connectionValidity"] = scores["connection_validity"]
	delete(scores, "connection_validity")
	a, err := scoreHypotheses(HypothesisRequest{Hypotheses: []Hypothesis{{ID: "h", Scores: scores, Rationale: map[string]string{"connectionValidity": "why"}}},
		Weights: map[string]Decimal{"connectionValidity": Hundredths(35), "specificity": Hundredths(15)}})
	require.NoError(t, err)
	assert.Equal(t, "why", a.Results[0].Dimensions["connection_validity"].Rationale)
	assert.Equal(t, []string{"specificity: weight 0.25 became 0.15", "connection_validity: weight 0.25 became 0.35"}, a.Audit)
}

func TestRefusedRequests(t *testing.T) {
	good := of(3, 3, 3, 3, 3)
	without := of(3, 3, 3, 3, 3)
	delete(without, "novelty")
	both := of(3, 3, 3, 3, 3)
	both["connectionValidity"] = new(Decimal(3))
	for _, tt := range []struct {
		name string
		req  HypothesisRequest
		want string
	}{
		{"none", HypothesisRequest{}, "hypotheses: is required"},
		{"missing", HypothesisRequest{Hypotheses: []Hypothesis{{ID: "a", Scores: good}, {ID: "b", Scores: without}}}, "hypotheses[1].scores.novelty: the score is missing"},
		{"both spellings", HypothesisRequest{Hypotheses: []Hypothesis{{ID: "a", Scores: both}}}, "hypotheses[0].scores.connection_validity: is given twice"},
		{"off the scale", HypothesisRequest{Hypotheses: []Hypothesis{{ID: "a", Scores: of(3, 3, 6, 3, 3)}}}, "hypotheses[0].scores.connection_validity: 6 is off the scale of 1 to 5"},
		{"rationale", HypothesisRequest{Hypotheses: []Hypothesis{{ID: "a", Scores: good, Rationale: map[string]string{"charm": "x"}}}}, "hypotheses[0].rationale: has an unknown dimension"},
		{"weights", HypothesisRequest{Hypotheses: []Hypothesis{{ID: "a", Scores: good}}, Weights: map[string]Decimal{"novelty": Hundredths(50)}}, "weights: "},
		{"unknown weight", HypothesisRequest{Hypotheses: []Hypothesis{{ID: "a", Scores: good}}, Weights: map[string]Decimal{"charm": 0}}, "weights.charm: there is no such dimension"},
	} {
		_, err := scoreHypotheses(tt.req)
		var re *RequestError
		if assert.ErrorAs(t, err, &re, tt.name) {
			assert.Contains(t, err.Error(), tt.want, tt.name)
		}
	}
}
