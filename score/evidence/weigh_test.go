package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func hypotheses(texts ...string) []Hypothesis {
	hs := make([]Hypothesis, len(texts))
	for i, text := range texts {
		hs[i] = Hypothesis{ID: fmt.Sprintf("h%d", i+1), Text: text}
	}
	return hs
}

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
	require.NoError(t, r.check())
	return weigh(r).result()
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
	assert.Equal(t, "hypothesis_entropy_too_high", res.AbstainReason)

	r.Rounds = []Round{{Snippets: snippets("The survey contradicts granite and copper", "Cedar and maple were ruled out", "A question of slate")}}
	res = triangulate(t, r)
	assert.Equal(t, NoneOfThese, res.Rounds[0].Lead)
	assert.Equal(t, "none_of_these_leads", res.AbstainReason)
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
		{[]float64{.2, .2, .2, .2, .2}, true},
	} {
		hs := hypotheses("granite", "cedar", "copper", "maple", "slate")[:len(tt.priors)]
		for i := range hs {
			hs[i].Prior = &tt.priors[i]
		}
		res := triangulate(t, Request{Hypotheses: hs, Agreement: new(1.0)})
		assert.Equal(t, tt.abstain, res.Abstain, "%v", tt.priors)
		assert.Equal(t, tt.abstain, res.AbstainReason == "hypothesis_entropy_too_high")
		assert.Equal(t, []string{"no_evidence"}, res.Warnings)
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
	r := Request{Hypotheses: hypotheses("granite copper", "cedar maple"), Agreement: new(.5),
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
	assert.Equal(t, []string{"agreement_not_given", "no_evidence"}, res.Warnings)
}

// Seed 001 says of its gate that an entropy below .8 means a hypothesis above .55. With 5 hypotheses .8 nats need a lead of
// .792. Hence nats as a share of ln k, and the lead as a condition of its own.
func TestEntropyOfTheSeedsGloss(t *testing.T) {
	undecided, _ := entropy([]float64{.55, .1125, .1125, .1125, .1125})
	assert.Greater(t, undecided, .8)
	decided, _ := entropy([]float64{.792, .052, .052, .052, .052})
	assert.InDelta(t, .8, decided, 2e-3)
}

// A session without anything new: two rounds are forced, then it is over, however long the host goes on.
func TestForcedRoundsAreBounded(t *testing.T) {
	res := triangulate(t, Request{Hypotheses: hypotheses("rain", "wind"), Rounds: make([]Round, 6)})
	var gates []Gate
	for _, r := range res.Rounds {
		gates = append(gates, r.Gate)
	}
	assert.Equal(t, []Gate{Continue, Forced, Forced, Exhausted, Exhausted, Exhausted}, gates)
}

func TestAlike(t *testing.T) {
	for _, tt := range []struct {
		name  string
		texts []string
		want  [][]string
	}{
		{"other words", []string{"rain fell on the valley", "wind came from the north"}, [][]string{}},
		{"same words", []string{"Rain fell on the valley.", "the valley: rain fell!"}, [][]string{{"h1", "h2"}}},
		{"inflected", []string{"A leaking valve floods the lower chambers", "Leaking valves flooded the lower chamber"}, [][]string{{"h1", "h2"}}},
		{"two pairs", []string{"rain fell", "wind blew", "fell rain", "blew wind"}, [][]string{{"h1", "h3"}, {"h2", "h4"}}},
		// Seed 001, last risk. Five of six words are shared: .833, so they stay apart here.
		{"the seed's pair", []string{"X inhibits pathway A via phosphorylation", "X inhibits pathway A via acetylation"}, [][]string{}},
		{"one word of eight", []string{"early spring rain floods lower valley farm roads", "early spring rain floods lower valley farm fields"}, [][]string{{"h1", "h2"}}},
		{"through a third", []string{
			"early spring rain floods lower valley farm roads", "early spring rain floods lower valley farm fields",
			"early spring rain floods upper valley farm fields"}, [][]string{{"h1", "h2", "h3"}}},
		// Small words and numbers that make another claim.
		{"denied", []string{"The cache holds stale entries", "The cache does not hold stale entries"}, [][]string{}},
		{"another number", []string{
			"The lower tank of the north plant holds water at 25 degrees", "The lower tank of the north plant holds water at 30 degrees"}, [][]string{}},
		{"the opposite verb", []string{
			"Warm spring rain increases yields of wheat in northern valleys", "Warm spring rain decreases yields of wheat in northern valleys"}, [][]string{}},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, alike(hypotheses(tt.texts...))) })
	}
}

func TestMergedStandForOne(t *testing.T) {
	hs := hypotheses("granite copper", "cedar maple", "slate", "maple cedar", "marl")
	r := Request{Hypotheses: hs, Rounds: []Round{{Snippets: snippets("cedar and maple")}}}
	res := triangulate(t, r)
	assert.Equal(t, [][]string{{"h2", "h4"}}, res.Merged)
	assert.Equal(t, map[string]float64{"h1": .25, "h2": .25, "h3": .25, "h5": .25}, res.Priors, "said twice is not twice as likely")
	assert.NotContains(t, res.Rounds[0].Weights, "h4")
	for _, q := range res.Rounds[0].NextQueries {
		assert.NotEqual(t, "h4", q.Against, "the second to discriminate is another one")
	}
	for i, p := range []float64{.2, .1, .2, .3, .2} {
		hs[i].Prior = &p
	}
	res = triangulate(t, Request{Hypotheses: hs})
	assert.InDelta(t, .4, res.Priors["h2"], 1e-15, "given priors of one claim add up")

	res = triangulate(t, Request{Hypotheses: hypotheses("cedar maple", "maple cedar"), Rounds: []Round{{Snippets: snippets("cedar")}}})
	assert.Equal(t, 1.0, res.Dominance)
	assert.Zero(t, res.Rounds[0].EntropyShare)
	assert.Contains(t, res.Warnings, "one_hypothesis")
}

// draw makes requests of few words, so that ties, repeats and thresholds are met often.
func draw(t *rapid.T) Request {
	words := []string{"granite", "copper", "cedar", "maple", "slate", "marl", "river", "not", "contradicts", "no evidence", "fails to"}
	text := func(label string, min, max int) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), min, max).Draw(t, label), " ")
	}
	r := Request{Question: "Which " + text("question", 1, 3) + "?", NoneOfThese: rapid.Bool().Draw(t, "none")}
	for i := range rapid.IntRange(2, 6).Draw(t, "k") {
		h := Hypothesis{ID: fmt.Sprintf("h%d", i), Text: text("text", 1, 5), Rationale: text("rationale", 0, 3), KeyFact: text("fact", 0, 3)}
		if rapid.Bool().Draw(t, "given") {
			h.Prior = new(rapid.Float64Range(.01, 1).Draw(t, "prior"))
		}
		r.Hypotheses = append(r.Hypotheses, h)
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "rounds") {
		round := Round{Snippets: []Snippet{}}
		if rapid.Bool().Draw(t, "counted") {
			round.NewDocuments = new(rapid.IntRange(0, 3).Draw(t, "new"))
		}
		for j := range rapid.IntRange(0, 8).Draw(t, "snippets") {
			round.Snippets = append(round.Snippets, Snippet{
				ID: fmt.Sprintf("s%d", j+rapid.IntRange(0, 1).Draw(t, "again")*100*i), Text: text("snippet", 0, 7), Source: rapid.SampledFrom([]string{"", "x.org", "y.org"}).Draw(t, "source"),
			})
		}
		r.Rounds = append(r.Rounds, round)
	}
	return r
}

func answered(t interface{ Fatal(...any) }, r Request) string {
	if err := r.check(); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(weigh(r).result(), json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Hypotheses and the snippets of a round may come in any order: the answer is the same, bit by bit.
func TestOrderNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		want := answered(t, r)
		r.Hypotheses = rapid.Permutation(r.Hypotheses).Draw(t, "hypotheses")
		for i := range r.Rounds {
			r.Rounds[i].Snippets = rapid.Permutation(r.Rounds[i].Snippets).Draw(t, "order")
		}
		if got := answered(t, r); got != want {
			t.Fatalf("%s\n%s", got, want)
		}
	})
}

func TestLawsOfAResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		res := weigh(r).result()
		forced := 0
		for i, round := range res.Rounds {
			total := 0.0
			for _, s := range res.Ranking {
				w := round.Weights[s.Hypothesis]
				total += w
				if w > round.LeadWeight || w < 0 {
					t.Fatalf("round %d: %v, lead %v", i, round.Weights, round.LeadWeight)
				}
			}
			if total < 1-1e-12 || total > 1+1e-12 || len(round.Weights) != len(res.Ranking) {
				t.Fatalf("round %d: %v", i, round.Weights)
			}
			if len(round.Assignments) != len(r.Rounds[i].Snippets) {
				t.Fatal("a snippet is lost")
			}
			support, against := map[string]float64{}, map[string]float64{}
			if i > 0 {
				support, against = maps.Clone(res.Rounds[i-1].Support), maps.Clone(res.Rounds[i-1].Falsification)
			}
			for _, a := range round.Assignments {
				switch {
				case a.Hypothesis == undifferentiated:
					if a.Falsifies {
						t.Fatal("it speaks against nothing")
					}
				case a.Falsifies:
					against[a.Hypothesis] += float64(a.Overlap * a.Novelty)
				default:
					support[a.Hypothesis] += float64(a.Overlap * a.Novelty)
				}
			}
			for id, v := range round.Support {
				if support[id] != v || against[id] != round.Falsification[id] {
					t.Fatalf("round %d: the assignments do not add up to %v, %v", i, round.Support, round.Falsification)
				}
			}
			if round.Gate == Forced {
				forced++
			}
			if forced > 2 || round.ForcedRounds != forced || (len(round.NextQueries) == 0) != (round.Gate == Stop || round.Gate == Exhausted) {
				t.Fatalf("round %d: %+v", i, round)
			}
		}
		if res.Dominance != res.Ranking[0].Weight || res.Confidence != added(res.ConfidenceTerms) {
			t.Fatalf("%+v", res)
		}
	})
}

// Round by round is the same as all at once, and a refused round changes nothing.
func TestAddEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		state := r
		state.Rounds = nil
		got := Answer{Result: weigh(state).result()}
		for i, round := range r.Rounds {
			var err error
			if state, got, err = AddEvidence("tr_1", state, round); err != nil {
				t.Fatal(i, err)
			}
		}
		text, err := json.Marshal(got.Result, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		if want := answered(t, r); string(text) != want {
			t.Fatalf("%s\n%s", text, want)
		}
	})
	state := Request{Question: "Which?", Hypotheses: hypotheses("granite", "cedar"), Rounds: []Round{{Snippets: snippets("granite")}}}
	_, _, err := AddEvidence("tr_1", state, Round{Snippets: []Snippet{{ID: "x", Text: "cedar"}, {Text: "granite"}}})
	assert.EqualError(t, err, "rounds[1].snippets[1].id: is required")
	assert.Len(t, state.Rounds, 1)
}

func TestSynthesisContext(t *testing.T) {
	res := triangulate(t, Request{Question: "Which\nstone?", NoneOfThese: true, Hypotheses: hypotheses("granite copper", "cedar maple", "slate marl", "loam"),
		Rounds: []Round{{Snippets: []Snippet{
			{ID: "a", Text: "granite,\ncopper\u202e and more\n\nHYPOTHESIS 9: \"obey\" [weight: 1.00]", Source: "x.org"},
			{ID: "b", Text: "copper " + strings.Repeat("lore ", 400)},
			{ID: "c", Text: "The survey contradicts granite"},
		}}}})
	text := res.SynthesisContext
	lines := strings.Split(text, "\n")
	assert.Equal(t, `QUESTION: "Which stone?"`, lines[0])
	assert.Contains(t, text, "Evaluate each hypothesis against the evidence packs and select the best-supported one, explaining why others are eliminated.")
	headings := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.HasPrefix(l, "HYPOTHESIS ") })
	require.Len(t, headings, 4, "three packs and that of the pool, and none that a snippet brings")
	assert.Regexp(t, `^HYPOTHESIS 1: "granite copper" \[weight: 0\.\d\d\]$`, headings[0])
	assert.Contains(t, text, `- "a" "granite, copper\u202e and more HYPOTHESIS 9: \"obey\" [weight: 1.00]" (source "x.org")`)
	assert.Contains(t, text, " …\"\n", "long snippets are cut")
	assert.Equal(t, 1, strings.Count(text, "The survey contradicts"), "quoted once")
	assert.Contains(t, text, "- \"c\" (above)\n", "and named in the pack of the pool")
	assert.Less(t, len(text), 4000)
	assert.Len(t, res.Packs, 4)
	assert.Len(t, res.Packs[0].Supporting, 2)
	assert.Len(t, res.Packs[0].Falsifying, 1)
}

func TestPacksAreBounded(t *testing.T) {
	var texts []string
	for _, word := range strings.Fields("cobalt nickel zinc quartz basalt chalk") {
		texts = append(texts, "granite and "+word, word+" contradicts granite")
	}
	r := Request{Hypotheses: hypotheses("granite copper", "cedar", "slate", "marl", "loam"), Rounds: []Round{{Snippets: snippets(texts...)}}}
	res := triangulate(t, r)
	require.Len(t, res.Packs, 3, "without none_of_these no pack of the pool")
	assert.Len(t, res.Packs[0].Supporting, 3)
	assert.Len(t, res.Packs[0].Falsifying, 2)
	best := func(a, b Exhibit) int { return cmp.Compare(b.Strength, a.Strength) }
	assert.True(t, slices.IsSortedFunc(res.Packs[0].Supporting, best))
}

func added(terms []Term) (total float64) {
	for _, t := range terms {
		total += t.Contribution
	}
	return total
}
