package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/evaluate"
	"waymark/sample"
	"waymark/suggest"
)

// sampled history with stored capabilities and outcomes of steps.
func sampleModel(t *testing.T) *suggest.Model {
	tools, err := sample.Tools()
	require.NoError(t, err)
	capabilities, err := sample.Capabilities()
	require.NoError(t, err)
	episodes, err := sample.Episodes()
	require.NoError(t, err)
	var history []*episodic.Episode
	for i := range episodes[:600] {
		history = append(history, &episodes[i])
	}
	var stored []capability
	for _, c := range capabilities {
		stored = append(stored, capability{Capability: c})
	}
	m, err := build(t.Context(), tools, stored, nil, history)
	require.NoError(t, err)
	return m
}

// With the seed's constants everything here scores as the engine does, so that a change of a constant is
// the change that the engine would make.
func TestTheSeedScoresAsTheEngine(t *testing.T) {
	m := sampleModel(t)
	episodes, err := sample.Episodes()
	require.NoError(t, err)
	kinds := map[string]int{}
	for _, e := range episodes[600:640] {
		tools := sequence(&e)
		for at := 1; at <= min(4, len(tools)); at++ {
			for _, intent := range []string{"", e.Intent} {
				answer, err := m.Next(suggest.NextRequest{Context: tools[:at], Intent: intent, Limit: suggest.MaxLimit, Profile: suggest.ProfileSeed})
				require.NoError(t, err)
				known, err := m.Situation(tools[:at], intent)
				require.NoError(t, err)
				s, err := newSituation(m, tools[:at], intent)
				require.NoError(t, err)
				mine := map[string]float64{}
				for i, c := range known.Candidates {
					k := newCandidate(&c)
					if k.excluded {
						continue
					}
					mine[c.ID] = seed.score(&k, &s)
					if c.Kind == catalog.KindCapability {
						o := offer{Signals: c, candidate: k, jaccard: suggest.Jaccard(c.Done, known.Context, c.Tools)}
						mine[c.ID] = max(seed.tool(&o.candidate), seedMixing.score(&o, intent != ""))
					}
					assert.Equal(t, s.ids[i], c.ID)
				}
				for place, x := range answer.Suggestions {
					kinds[x.Formula]++
					if x.Formula == suggest.FormulaCovers { // it stands in for a tool, whose score it has
						continue
					}
					assert.InDelta(t, x.Score, mine[x.ID], 1e-12, "%s after %v for %q", x.ID, tools[:at], intent)
					if s.target = slices.Index(s.ids, x.ID); !slices.ContainsFunc(answer.Suggestions, func(y suggest.Suggestion) bool { return y.Kind == catalog.KindCapability }) {
						assert.Equal(t, place+1, s.rank(&seed))
					}
				}
			}
		}
	}
	for _, formula := range []string{suggest.FormulaTool, suggest.FormulaHybrid, suggest.FormulaMixed} {
		assert.Positive(t, kinds[formula], "no %s among the answers: the test shows nothing of it", formula)
	}
}

// Likewise for intents alone.
func TestTheSeedFindsAsTheEngine(t *testing.T) {
	m := sampleModel(t)
	episodes, err := sample.Episodes()
	require.NoError(t, err)
	for _, e := range episodes[600:640] {
		q, err := toolQuestions(m, []*episodic.Episode{&e}, 1)
		require.NoError(t, err)
		if len(q.situations) == 0 {
			continue
		}
		s := &q.situations[0]
		answer, err := m.Next(suggest.NextRequest{Intent: e.Intent, Limit: 30, Profile: suggest.ProfileSeed})
		require.NoError(t, err)
		known, err := m.Situation(nil, e.Intent)
		require.NoError(t, err)
		tool := map[string]bool{}
		for _, c := range known.Candidates {
			tool[c.ID] = c.Kind == catalog.KindTool
		}
		var engine, mine []string
		for _, x := range answer.Suggestions {
			if x.Kind == catalog.KindTool && len(engine) < 10 {
				engine = append(engine, x.ID)
			}
		}
		for _, i := range s.found(&seed, func(c *candidate) float64 { return seed.hybrid(c, s) }, len(s.ids)) {
			if tool[s.ids[i]] && len(mine) < 10 {
				mine = append(mine, s.ids[i])
			}
		}
		assert.Equal(t, engine, mine)
	}
}

func episode(id string, tools ...string) *episodic.Episode {
	e := &episodic.Episode{ID: id}
	for i, tool := range tools {
		e.Steps = append(e.Steps, episodic.Step{ID: fmt.Sprint(i + 1), Tool: tool})
	}
	return e
}

func TestCut(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	var train []*evaluate.Example
	for i := range 20 {
		x := &evaluate.Example{Episode: *episode(fmt.Sprint(i), "a"), Task: fmt.Sprint("task", i/2)} // two attempts each
		train = append(train, x)
	}
	names := func(all []*evaluate.Example) (ids []string) {
		for _, x := range all {
			ids = append(ids, x.Episode.ID)
		}
		return ids
	}
	history, held := cut(train)
	assert.Equal(t, []string{"8", "9", "18", "19"}, names(held), "every fifth task, with both attempts")
	assert.Len(t, history, 16)
	for i, x := range train {
		x.Episode.Time = day(20 - i)
	}
	_, held = cut(train)
	assert.Equal(t, []string{"3", "2", "1", "0"}, names(held), "the latest")
	history, held = cut(train[:3])
	assert.Len(t, history, 3)
	assert.Empty(t, held)
}

func TestPositionsAreSpread(t *testing.T) {
	var episodes []*episodic.Episode
	for i := range 10 {
		episodes = append(episodes, episode(fmt.Sprint(i), "a", "b", "c"))
	}
	everything := func(*episodic.Episode) bool { return true }
	assert.Len(t, positions(episodes, everything, 100), 20)
	some := positions(episodes, everything, 10)
	require.Len(t, some, 10)
	for i, p := range some {
		assert.Equal(t, i, p.episode, "one of each episode")
	}
	assert.Empty(t, positions(episodes, asked, 100))
}

// a b c   in four plans: mined
// a b     in as many: inside it, left out
// b c     in five: mined
// c b     in four: the same tools, left out
// x y     in two: too few
// z z     one tool: none
func TestMine(t *testing.T) {
	var history []*episodic.Episode
	for i := range 4 {
		e := episode(fmt.Sprint(i), "a", "b", "c")
		e.Intent, e.Outcome = fmt.Sprint("intent ", i), episodic.Success
		history = append(history, e, episode(fmt.Sprint("cb", i), "c", "b"))
	}
	history[0].Outcome = episodic.Failure
	history = append(history, episode("bc", "b", "c"), episode("xy", "x", "y"), episode("xy2", "x", "y"))
	for i := range 3 {
		history = append(history, episode(fmt.Sprint("z", i), "z", "z"))
	}
	mined := mine(history)
	var runs []string
	for _, c := range mined {
		runs = append(runs, strings.Join(c.run, " "))
	}
	assert.Equal(t, []string{"a b c", "b c"}, runs)
	assert.Equal(t, "intent 3", mined[0].Intent)
	assert.Equal(t, []string{"b", "c"}, mined[1].Tools)
	assert.Equal(t, 5, mined[1].episodes)
	require.Len(t, mined[0].outcomes, 4)
	assert.Equal(t, observation{id: "mined-000", outcome: episodic.Failure}, mined[0].outcomes[0])

	ran := executed([]*episodic.Episode{episode("e", "s", "b", "c", "t")}, mined)
	require.Len(t, ran, 1)
	assert.Equal(t, []string{"s", "mined-001", "t"}, sequence(ran[0]))
	assert.Empty(t, executed([]*episodic.Episode{episode("e", "b", "c")}, mined), "alone it leaves no edge")
}

func TestCovers(t *testing.T) {
	tools := []string{"s", "a", "b", "a", "b", "t"}
	for _, tt := range []struct{ at, want int }{{0, -1}, {1, 0}, {2, 1}, {3, 0}, {4, 1}, {5, -1}} {
		assert.Equal(t, tt.want, covers([]string{"a", "b"}, tools, tt.at), "at %d", tt.at)
	}
}

// Before a b c begins nothing of it is in the context and Jaccard is 0; then its tools come into the context
// one by one. After c it has nothing left.
func TestChoices(t *testing.T) {
	var history []*episodic.Episode
	for i := range 4 {
		history = append(history, episode(fmt.Sprint("abc", i), "a", "b", "c"), episode(fmt.Sprint("xy", i), "x", "y"))
	}
	mined := mine(history)
	require.Len(t, mined, 2)
	m, err := build(t.Context(), nil, mined, nil, history)
	require.NoError(t, err)
	held := []*episodic.Episode{episode("held", "s", "a", "b", "c", "x")}
	all, err := choices(m, mined, held, false, 100)
	require.NoError(t, err)
	require.Len(t, all, 3)
	var jaccard []float64
	var begun []bool
	for _, c := range all {
		begun = append(begun, c.begun)
		found := 0.0
		for _, o := range c.offers {
			assert.Equal(t, o.ID == "mined-000", o.right)
			if o.right {
				found = o.jaccard
				assert.True(t, o.inCommunity)
			}
		}
		jaccard = append(jaccard, found)
	}
	assert.Equal(t, []bool{false, true, true}, begun)
	assert.Equal(t, []float64{0, 1. / 3, 2. / 3}, jaccard)
	all, err = choices(m, mined, held, true, 100)
	require.NoError(t, err)
	assert.Empty(t, all, "without an intent there is no such question")
}

func TestRankOf(t *testing.T) {
	c := choice{tools: []float64{.9, .3}, offers: []offer{{jaccard: .2}, {jaccard: .6, right: true}, {jaccard: .6}, {jaccard: .4, right: true}}}
	among, beside := c.rankOf(formula{score: func(o *offer, _ bool) float64 { return o.jaccard }})
	assert.Equal(t, []int{1, 2}, []int{among, beside}, "the better right one; equals in order of id")
	among, beside = c.rankOf(formula{score: func(*offer, bool) float64 { return 0 }})
	assert.Equal(t, []int{0, 0}, []int{among, beside})
}

// Every set counts alike, however many questions it has.
func TestChangesPoolSets(t *testing.T) {
	sets := []*set{{name: "large"}, {name: "small"}}
	of := func(large, small float64) map[string]measured {
		one := func(n int, value float64) measured {
			s := evaluate.Sample{Sum: make([]float64, n), Count: make([]float64, n)}
			for i := range n {
				s.Sum[i], s.Count[i] = value, 1
			}
			return measured{"MRR": s}
		}
		return map[string]measured{"large": one(90, large), "small": one(10, small)}
	}
	d := changes(of(.5, .9), of(.5, .5), sets)
	assert.InDelta(t, .4, d["small"]["MRR"].Mean, 1e-12)
	assert.InDelta(t, .2, d[everySet]["MRR"].Mean, 1e-12)
	assert.Positive(t, d[everySet]["MRR"].Interval[0])
}

func TestRuling(t *testing.T) {
	of := func(means ...float64) []table {
		x := table{sets: []string{"s"}, metrics: []string{"MRR"}, kind: kindNext, rows: []result{{value: value{name: "the seed's"}}}}
		for i, mean := range means {
			d := map[string]evaluate.Difference{"MRR": {Mean: mean, Interval: evaluate.Interval{mean - .003, mean + .003}}}
			x.rows = append(x.rows, result{value{name: fmt.Sprint("value ", i)}, map[string]map[string]evaluate.Difference{"s": d, everySet: d}})
		}
		return []table{x}
	}
	for _, tt := range []struct {
		means []float64
		want  string
	}{
		{[]float64{.02, -.02}, "**Not the best**"}, {[]float64{.004, -.02}, "**Hardly matters**"},
		{[]float64{.001, -.02}, "**Holds**"}, {[]float64{.001, -.002}, "**No clear difference**"},
	} {
		assert.Contains(t, ruling(of(tt.means...)), tt.want)
	}
	assert.Equal(t, "value 0: better", comparison(of(.02, -.02), "value 0"))
	assert.Equal(t, "value 1: worse", comparison(of(.02, -.02), "value 1"))
	assert.Equal(t, "value 0: better (next tool), no clear difference (next tool)", comparison(append(of(.02), of(.001)...), "value 0"))
	assert.Contains(t, of(.02, -.02)[0].verdict(), "best is value 0, +0.020 (+0.017 … +0.023), with clear gains on 1 of 1 sets")
}

// The search finds what is better where something is: the history says b after a, the community says c.
func TestJointFindsBetter(t *testing.T) {
	situations := make([]situation, 40)
	for i := range situations {
		situations[i] = situation{episode: i, after: true, target: 1, candidates: []candidate{
			{community: true, rank: 1, alike: 5}, {seen: true, weight: .3, doublings: 1},
		}}
	}
	s := &set{name: "s", questions: map[string]*questions{kindNext: {kindNext, 40, situations}}}
	assert.InDelta(t, .5, s.questions[kindNext].measure(&seed)["MRR"].Mean(), 1e-12, "the seed prefers the community")
	j := newJoint([]*set{s})
	best := j.best(func(string) bool { return true })
	assert.InDelta(t, 1, s.questions[kindNext].measure(&best)["MRR"].Mean(), 1e-12)
	assert.Equal(t, seed, j.best(func(string) bool { return false }), "without a set nothing is better")
	for _, k := range append(j.pool, neighbours(seed)...) {
		assert.False(t, math.IsNaN(k.score(&situations[0].candidates[0], &situations[0])))
	}
}

// The whole program on a small set: what depends on nothing but data is the same again.
func TestRunWritesThePage(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "sets", "small")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	var tools, episodes strings.Builder
	for _, id := range []string{"web:fetch", "json:parse", "db:store", "mail:send"} {
		fmt.Fprintf(&tools, `{"id":%q,"name":%q}`+"\n", id, id)
	}
	for i := range 150 {
		outcome, last := "success", "db:store"
		if i%3 == 0 {
			outcome, last = "failure", "mail:send"
		}
		fmt.Fprintf(&episodes, `{"id":"%d","intent":"store page %d","split":%q,"outcome":%q,"steps":[{"id":"1","tool":"web:fetch","depends_on":[]},`+
			`{"id":"2","tool":"json:parse","depends_on":["1"]},{"id":"3","tool":%q,"depends_on":["2"]}]}`+"\n", i, i, []string{"train", "test"}[i/120], outcome, last)
	}
	untrained := filepath.Join(dir, "sets", "untrained")
	require.NoError(t, os.MkdirAll(untrained, 0o700))
	for _, f := range []struct{ name, text string }{
		{filepath.Join(folder, "tools.jsonl"), tools.String()}, {filepath.Join(folder, "episodes.jsonl"), episodes.String()},
		{filepath.Join(untrained, "tools.jsonl"), tools.String()},
		{filepath.Join(untrained, "episodes.jsonl"), strings.ReplaceAll(episodes.String(), `"train"`, `"test"`)},
	} {
		require.NoError(t, os.WriteFile(f.name, []byte(f.text), 0o600))
	}
	o := options{dir: filepath.Join(dir, "sets"), page: filepath.Join(dir, "page.md"), table: filepath.Join(dir, "table.tsv"), most: 50}
	page := func() string {
		require.NoError(t, run(t.Context(), o))
		text, err := os.ReadFile(o.page)
		require.NoError(t, err)
		more, err := os.ReadFile(o.table)
		require.NoError(t, err)
		return cmp.Or(string(text)+string(more), "empty")
	}
	first := page()
	assert.Contains(t, first, "Without train episodes, and so without a part: untrained.")
	assert.Contains(t, first, "| small | 96 / 24 |", "of the 120 train episodes every fifth is held out")
	assert.Contains(t, first, "| small | next tool |", "the joint search")
	assert.NotContains(t, first, dir, "no path of this machine")
	assert.NotContains(t, first, "NaN")
	assert.Equal(t, first, page())
	o.dir = filepath.Join(dir, "none")
	assert.Error(t, run(t.Context(), o))
}
