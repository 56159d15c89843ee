package evidence

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func hypotheses(texts ...string) []Hypothesis {
	hs := make([]Hypothesis, len(texts))
	for i, text := range texts {
		hs[i] = Hypothesis{ID: fmt.Sprintf("h%d", i+1), Text: text}
	}
	return hs
}

func ptr[T any](v T) *T { return &v }

func snippets(texts ...string) []Snippet {
	s := make([]Snippet, len(texts))
	for i, text := range texts {
		s[i] = Snippet{ID: fmt.Sprintf("s%02d", i+1), Text: text}
	}
	return s
}

func triangulate(t *testing.T, r Request) Result {
	t.Helper()
	if r.Question == "" {
		r.Question = "Which of them?"
	}
	res, err := Triangulate(r)
	require.NoError(t, err)
	return res
}

func TestOverlapNoveltyAndAssignment(t *testing.T) {
	const (
		two   = "granite copper"
		four  = "cedar maple birch willow"
		other = undifferentiated
	)
	for _, tt := range []struct {
		name             string
		hypotheses       []string
		snippet          string
		want             string
		overlap          float64
		falsifies        bool
		support, against float64
	}{
		{"half of the words", []string{two, four}, "A copper vein", "h1", .5, false, .5, 0},
		{"stems and stop words", []string{two, four}, "the maples and the willows", "h2", .5, false, .5, 0},
		{"a contradiction counts against, and only against", []string{two, four}, "This contradicts copper", "h1", .5, true, 0, .5},
		{"a negated one counts for", []string{two, four}, "This does not contradict copper", "h1", .5, false, .5, 0},
		{"equally for two", []string{"granite copper", "granite cedar"}, "granite", other, .5, false, 0, 0},
		// 3 of 20 words are exactly .15, which is not above it; 4 are.
		{"at the threshold", []string{twenty, two}, "alpha beta gamma", other, .15, false, 0, 0},
		{"above the threshold", []string{twenty, two}, "alpha beta gamma delta", "h1", .2, false, .2, 0},
		{"between .05 and .15", []string{twenty, two}, "alpha beta", other, .1, false, 0, 0},
		{"nothing", []string{two, four}, "unrelated words", other, 0, false, 0, 0},
		{"no words", []string{two, four}, "…", other, 0, false, 0, 0},
		// Origins, 7: longer text must not win by its length.
		{"a long snippet with one word of each", []string{two, four}, "copper birch and a hundred others", "h1", .5, false, .5, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := triangulate(t, Request{Hypotheses: hypotheses(tt.hypotheses...), Rounds: []Round{{Snippets: snippets(tt.snippet)}}})
			a := res.Rounds[0].Assignments[0]
			assert.Equal(t, tt.want, a.Hypothesis)
			assert.InDelta(t, tt.overlap, a.Overlap, 1e-15)
			assert.Equal(t, 1.0, a.Novelty)
			assert.Equal(t, tt.falsifies, a.Falsifies)
			if tt.want != other {
				assert.InDelta(t, tt.support, res.Rounds[0].Support[tt.want], 1e-15)
				assert.InDelta(t, tt.against, res.Rounds[0].Falsification[tt.want], 1e-15)
			}
		})
	}
}

const twenty = "alpha beta gamma delta epsilon zeta theta iota kappa lambda sigma omega north south east west red green blue black"

func TestRationaleCountsAndKeyFactDoesNot(t *testing.T) {
	hs := []Hypothesis{{ID: "a", Text: "granite", Rationale: "copper", KeyFact: "cedar"}, {ID: "b", Text: "maple"}}
	res := triangulate(t, Request{Hypotheses: hs, Rounds: []Round{{Snippets: []Snippet{{ID: "1", Text: "copper"}, {ID: "2", Text: "cedar"}}}}})
	assert.Equal(t, "a", res.Rounds[0].Assignments[0].Hypothesis)
	assert.Equal(t, .5, res.Rounds[0].Assignments[0].Overlap)
	assert.Equal(t, undifferentiated, res.Rounds[0].Assignments[1].Hypothesis)
}

// Novelty is 1 - the largest Jaccard index with any earlier snippet: of the rounds before, and of this one
// in order of id, whatever the order they are listed in.
func TestNovelty(t *testing.T) {
	r := Request{Hypotheses: hypotheses("granite copper", "cedar maple"), Rounds: []Round{
		{Snippets: []Snippet{{ID: "b", Text: "granite copper slate"}, {ID: "a", Text: "granite copper"}}},
		{Snippets: []Snippet{{ID: "c", Text: "granite copper"}, {ID: "b", Text: "granite copper slate"}, {ID: "d", Text: "granite slate marl loam"}}},
	}}
	res := triangulate(t, r)
	first, second := res.Rounds[0], res.Rounds[1]
	assert.Equal(t, []string{"a", "b"}, []string{first.Assignments[0].Snippet, first.Assignments[1].Snippet})
	assert.Equal(t, 1.0, first.Assignments[0].Novelty)
	assert.InDelta(t, 1./3, first.Assignments[1].Novelty, 1e-15) // 1 - 2/3
	assert.InDelta(t, 1+1./3, first.Support["h1"], 1e-15)

	b, c, d := second.Assignments[0], second.Assignments[1], second.Assignments[2]
	assert.True(t, b.Repeated, "same id and text")
	assert.Zero(t, b.Novelty)
	assert.False(t, c.Repeated, "another document")
	assert.Zero(t, c.Novelty, "that says the same")
	assert.InDelta(t, .6, d.Novelty, 1e-15) // {granite, slate} of 5
	assert.Equal(t, 2, second.NewDocuments)
	assert.InDelta(t, 1+1./3+.5*.6, second.Support["h1"], 1e-15)
	assert.InDelta(t, .3/3, second.QualityGain, 1e-15)
	assert.Equal(t, 4, res.Ranking[0].Supporting, "each snippet once")
}

// Seed 001, second risk: "apoptosis" and "programmed cell death" have no word in common. A third snippet
// that uses both ties them together; where none does, the snippet stays undifferentiated.
func TestParaphraseGoesWithItsCluster(t *testing.T) {
	hs := hypotheses("apoptosis", "necrosis")
	bridge := Snippet{ID: "z", Text: "Apoptosis, programmed death of cells, in treated neurons"}
	para := Snippet{ID: "a", Text: "Programmed death of cells in neurons that had been treated"}
	res := triangulate(t, Request{Hypotheses: hs, Rounds: []Round{{Snippets: []Snippet{bridge, para}}}})
	a := res.Rounds[0].Assignments[0]
	assert.Equal(t, "h1", a.Hypothesis)
	assert.Equal(t, "z", a.Cluster)
	assert.InDelta(t, 5/5.477226, a.Overlap, 1e-6) // 5 of 5 and 6 words: 5/√30, times the overlap 1 of the other
	assert.Greater(t, res.Ranking[0].Support, 0.9)

	alone := triangulate(t, Request{Hypotheses: hs, Rounds: []Round{{Snippets: []Snippet{para}}}})
	assert.Equal(t, undifferentiated, alone.Rounds[0].Assignments[0].Hypothesis)

	counter := Snippet{ID: "y", Text: "Necrosis, programmed death of cells, in treated neurons"}
	torn := triangulate(t, Request{Hypotheses: hs, Rounds: []Round{{Snippets: []Snippet{bridge, counter, para}}}})
	assert.Equal(t, undifferentiated, torn.Rounds[0].Assignments[0].Hypothesis, "equally like one of each")
}

// Only a snippet that shares next to nothing with any hypothesis goes with another, and only if what it
// then adds would be enough by itself.
func TestParaphraseHasBounds(t *testing.T) {
	const (
		rest   = "hull keel mast rope sail tide"
		bridge = "alpha beta gamma delta " + rest // overlap 4/20
	)
	for _, tt := range []struct {
		name, snippet, want string
		overlap             float64
	}{
		{"alike", rest, "h1", .2 * 6 / 7.745967},                                 // √(6·10); .155 is above .15
		{"less alike", "hull keel mast rope sail fog wind", undifferentiated, 0}, // .2 · 5/√(7·10) = .12 is not
		{"overlap .05 is not below it", "alpha " + rest, undifferentiated, .05},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := triangulate(t, Request{Hypotheses: hypotheses(twenty, "cedar"), Rounds: []Round{{Snippets: snippets(bridge, tt.snippet)}}})
			a := res.Rounds[0].Assignments[1]
			assert.Equal(t, tt.want, a.Hypothesis)
			assert.InDelta(t, tt.overlap, a.Overlap, 1e-6)
		})
	}
}

func TestNoneOfThese(t *testing.T) {
	r := Request{Hypotheses: hypotheses("granite copper", "cedar maple"), NoneOfThese: true}
	res := triangulate(t, r)
	assert.Equal(t, map[string]float64{"h1": 1. / 3, "h2": 1. / 3, NoneOfThese: 1. / 3}, res.Priors)
	assert.Equal(t, "h1", res.Ranking[0].Hypothesis, "it leads only if it weighs more")
	assert.True(t, res.Abstain)
	assert.Equal(t, entropyTooHigh, res.AbstainReason)

	r.Rounds = []Round{{Snippets: snippets("The survey contradicts granite and copper", "Cedar and maple were ruled out", "A question of slate")}}
	res = triangulate(t, r)
	assert.Equal(t, NoneOfThese, res.Rounds[0].Lead)
	assert.Equal(t, noneOfTheseLead, res.AbstainReason)
	assert.True(t, res.Abstain)
	last := res.Packs[len(res.Packs)-1]
	assert.Equal(t, NoneOfThese, last.Hypothesis)
	assert.Len(t, last.Supporting, 3, "the whole pool")
	assert.Equal(t, "h1", res.Rounds[0].NextQueries[0].Hypothesis, "there is nothing to search for none")
}

// Seed 001 puts the threshold beside codes of which the engine wanted two: alone it could never fire.
func TestAbstainFiresAlone(t *testing.T) {
	for _, tt := range []struct {
		priors  []float64
		abstain bool
	}{
		{[]float64{.34, .33, .33}, true},
		{[]float64{.35, .33, .32}, false}, // .35 is not below .35
		{[]float64{.36, .32, .32}, false},
		{[]float64{.2, .2, .2, .2, .2}, true},
	} {
		hs := hypotheses("granite", "cedar", "copper", "maple", "slate")[:len(tt.priors)]
		for i := range hs {
			hs[i].Prior = &tt.priors[i]
		}
		res := triangulate(t, Request{Hypotheses: hs, Agreement: ptr(1.0)})
		assert.Equal(t, tt.abstain, res.Abstain, "%v", tt.priors)
		assert.Equal(t, tt.abstain, res.AbstainReason == entropyTooHigh)
		assert.Equal(t, []string{noEvidence}, res.Warnings)
	}
}

func TestPriors(t *testing.T) {
	given := func(p ...float64) []Hypothesis {
		hs := hypotheses("granite", "cedar", "copper")
		for i := range p {
			if p[i] >= 0 {
				hs[i].Prior = &p[i]
			}
		}
		return hs
	}
	for _, tt := range []struct {
		name string
		r    Request
		want map[string]float64
	}{
		{"1/k", Request{Hypotheses: given()}, map[string]float64{"h1": 1. / 3, "h2": 1. / 3, "h3": 1. / 3}},
		{"divided by their sum", Request{Hypotheses: given(.2, .1, .1)}, map[string]float64{"h1": .5, "h2": .25, "h3": .25}},
		{"absent ones count 1/k", Request{Hypotheses: given(1./3, -1, 1./3)}, map[string]float64{"h1": 1. / 3, "h2": 1. / 3, "h3": 1. / 3}},
		{"0 is given", Request{Hypotheses: given(0, .5, .5)}, map[string]float64{"h1": 0, "h2": .5, "h3": .5}},
		{"none of these is one of k", Request{Hypotheses: given(), NoneOfThese: true},
			map[string]float64{"h1": .25, "h2": .25, "h3": .25, NoneOfThese: .25}},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.InDeltaMapValues(t, tt.want, triangulate(t, tt.r).Priors, 1e-15) })
	}
}

func TestConfidenceOfAResult(t *testing.T) {
	r := Request{Hypotheses: hypotheses("granite copper", "cedar maple"), Agreement: ptr(.5),
		Rounds: []Round{{Snippets: snippets("granite and copper, plain to see", "copper, which the survey contradicts", "cedar")}}}
	res := triangulate(t, r)
	// By hand: s01 adds 1·1 to the support of h1; s02 shares copper with it: 1 of {granit, copper, plain, see,
	// survey, contradict}, so .5·5/6 against; s03 adds .5 to h2.
	against := .5 * 5 / 6
	assert.InDelta(t, 1, res.Ranking[0].Support, 1e-12)
	assert.InDelta(t, against, res.Ranking[0].Falsification, 1e-12)
	assert.InDelta(t, .5, res.Ranking[1].Support, 1e-12)
	want := .25 + .40/(1+against) + .15*res.Dominance + .10*.5 + .05*.3 - .05
	assert.InDelta(t, want, res.Confidence, 1e-12)
	assert.Empty(t, res.Warnings)
	assert.Equal(t, res.Confidence, added(res.ConfidenceTerms))

	res = triangulate(t, Request{Hypotheses: r.Hypotheses})
	assert.InDelta(t, .25+.15*.5-.07, res.Confidence, 1e-12, "a leader without support is an unsupported claim")
	assert.Equal(t, []string{agreementNotGiven, noEvidence}, res.Warnings)
}
