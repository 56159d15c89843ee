package suggest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/internal/codec"
)

// planted is a history in which what comes after b depends on what came before it, which the last step
// alone cannot tell, and the intent says which kind of task it is. x:new was never used.
func planted(t testing.TB, episodes int) *world {
	w := newWorld(t)
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		w.PutTool(catalog.Tool{ID: "x:" + id, Name: id, Server: "x", Description: "tool " + id})
	}
	w.PutTool(catalog.Tool{ID: "x:new", Name: "new", Server: "x", Description: "translates ancient parchments"})
	r := rand.New(rand.NewPCG(1, 2))
	for i := range episodes {
		steps, intent := []string{"x:a", "x:b", "x:c"}, "sort the red apples"
		if r.IntN(2) == 0 {
			steps, intent = []string{"x:d", "x:b", "x:e"}, "count blue boats"
		}
		if r.IntN(3) == 0 {
			steps = append(steps, "x:f")
		}
		e := episodic.Episode{ID: fmt.Sprint(i), Intent: fmt.Sprint(intent, " ", r.IntN(9)), Time: time.Unix(1_700_000_000+int64(i), 0).UTC()}
		for _, s := range steps {
			e.Steps = append(e.Steps, episodic.Step{Tool: s})
		}
		w.record(e)
	}
	return w
}

// plantedModel is learned once for all tests: a model never changes.
func plantedModel(t testing.TB) *Model {
	plantedOnce.Do(func() { plantedKept = planted(t, 120).model() })
	require.NotNil(t, plantedKept)
	return plantedKept
}

var plantedOnce sync.Once
var plantedKept *Model

func TestLearnedSeesBeyondTheLastStep(t *testing.T) {
	m := plantedModel(t)
	for _, s := range []struct {
		context []string
		intent  string
		want    string
	}{
		{[]string{"x:a", "x:b"}, "", "x:c"}, {[]string{"x:d", "x:b"}, "", "x:e"},
		{[]string{"x:a", "x:b"}, "sort the red apples", "x:c"}, {[]string{"x:b"}, "count blue boats", "x:e"},
	} {
		a := next(t, m, NextRequest{Context: s.context, Intent: s.intent, Profile: ProfileLearned})
		assert.Equal(t, s.want, a.Suggestions[0].ID, "%v %q", s.context, s.intent)
		assert.Equal(t, FormulaLogistic, a.Suggestions[0].Formula)
		assert.Equal(t, ProfileLearned, a.Model.Profile)
		assert.Greater(t, a.Suggestions[0].Confidence, .4)
		e, err := m.Explain(ExplainRequest{ID: s.want, Context: s.context, Intent: s.intent, Profile: ProfileLearned})
		require.NoError(t, err)
		assert.Equal(t, a.Suggestions[0].Terms, e.Terms)
		assert.Equal(t, 1, e.Rank)
		assert.True(t, e.Suggested)
	}
	seed := next(t, m, NextRequest{Context: []string{"x:a", "x:b"}, Profile: ProfileSeed})
	assert.Equal(t, ProfileSeed, seed.Model.Profile)
	assert.NotEqual(t, seed.SuggestionID, next(t, m, NextRequest{Context: []string{"x:a", "x:b"}, Profile: ProfileLearned}).SuggestionID)
}

func TestLearnedPlan(t *testing.T) {
	m := plantedModel(t)
	ask := func(r DAGRequest) DAGAnswer {
		r.Profile = ProfileLearned
		a, err := m.Plan(r)
		require.NoError(t, err)
		checkDAG(t, m, a)
		return a
	}
	a := ask(DAGRequest{Intent: "sort the red apples 4"})
	assert.Equal(t, ProfileLearned, a.Model.Profile)
	assert.Subset(t, tools(a), []string{"x:a", "x:b", "x:c"})
	assert.NotContains(t, tools(a), "x:e")
	a = ask(DAGRequest{Intent: "sort the red apples 4", Context: []string{"x:a"}})
	assert.NotContains(t, tools(a), "x:a", "it is done")
	a = ask(DAGRequest{Intent: "sort the red apples 4", MaxSteps: 1})
	assert.Len(t, a.DAG.Tasks, 1)
	assert.Contains(t, a.Warnings, WarnTruncated)
	a = ask(DAGRequest{Intent: "sort the red apples 4", Allow: []string{"x:a", "x:c"}})
	assert.Equal(t, []string{"x:a", "x:c"}, tools(a))
	assert.Equal(t, []string{"t1"}, a.DAG.Tasks[1].DependsOn, "what a step left out came after is handed on")
	a, err := m.Plan(DAGRequest{Context: []string{"x:d", "x:b"}, Profile: ProfileLearned, Explain: new(bool)})
	require.NoError(t, err)
	assert.Equal(t, "x:e", tools(a)[0])
	assert.Empty(t, a.DAG.Tasks[0].Terms)
	assert.Empty(t, a.DAG.Tasks[0].Reason)
	assert.Contains(t, a.Rationale, "above all "+a.Foremost()+": ")
}

// Four of five tasks tried x:push and failed; the plan follows the others.
func TestLearnedPlanFollowsSuccesses(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"check", "push", "roll"} {
		w.PutTool(catalog.Tool{ID: "x:" + id, Name: id, Server: "x"})
	}
	services := []string{"shop", "search", "mail", "login", "billing", "chat", "maps"}
	for i := range 100 {
		e := episodic.Episode{ID: fmt.Sprint(i), Intent: fmt.Sprintf("release the %s service %d", services[i%7], i), Time: time.Unix(1_700_000_000+int64(i), 0).UTC()}
		tool := "x:roll"
		if e.Outcome = episodic.Success; i%5 < 4 {
			tool, e.Outcome = "x:push", episodic.Failure
		}
		e.Steps = []episodic.Step{{Tool: "x:check"}, {Tool: tool}}
		w.record(e)
	}
	a, err := w.model().Plan(DAGRequest{Intent: "release the shop service 777", Profile: ProfileLearned})
	require.NoError(t, err)
	assert.Equal(t, []string{"x:check", "x:roll"}, tools(a))
}

// Profile learned, which is the default, answers from the first task on; the seed answers what there is no history for.
func TestLearnedIsTheDefault(t *testing.T) {
	for _, profile := range []string{"", ProfileLearned} {
		ask := NextRequest{Context: []string{"x:a", "x:b"}, Profile: profile}
		m := planted(t, 1).model()
		assert.Equal(t, ProfileLearned, next(t, m, ask).Model.Profile)
		plan, err := m.Plan(DAGRequest{Intent: "sort boats", Profile: profile})
		require.NoError(t, err)
		assert.Equal(t, ProfileLearned, plan.Model.Profile)
		assert.NotContains(t, plan.Warnings, WarnProvisional)
		assert.Equal(t, ProfileSeed, next(t, planted(t, 60).model(), NextRequest{Profile: profile}).Model.Profile, "nothing to learn from")
	}
}

// lower changes a limit until the test ends.
func lower(t *testing.T, limit *int, to int) {
	before := *limit
	*limit = to
	t.Cleanup(func() { *limit = before })
}

// What is learned depends on nothing but the history, and comes back from a snapshot.
func TestLearnedIsTheSameOnAnyNumberOfProcessors(t *testing.T) {
	answers := func(m *Model) (all []any) {
		for _, context := range [][]string{nil, {"x:a"}, {"x:a", "x:b"}, {"x:d", "x:b", "x:e"}} {
			a, err := m.Next(NextRequest{Context: context, Intent: "sort boats", Profile: ProfileLearned, Limit: MaxLimit})
			require.NoError(t, err)
			p, err := m.Plan(DAGRequest{Context: context, Intent: "sort boats", Profile: ProfileLearned})
			require.NoError(t, err)
			all = append(all, a, p)
		}
		return append(all, written(m.measures.learning.fitted()))
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	w := planted(t, 60)
	m := w.model()
	want := answers(m)
	runtime.GOMAXPROCS(8)
	assert.Equal(t, want, answers(planted(t, 60).model()))

	require.True(t, m.measures.Learned())
	var b bytes.Buffer
	to := &codec.Writer{To: &b}
	m.measures.Write(to)
	require.NoError(t, to.Flush())
	r := codec.NewReader(b.Bytes())
	c := w.Freeze()
	read := ReadMeasures(r, c, nil)
	require.NoError(t, r.End())
	assert.True(t, read.Learned(), "what was fitted is kept")
	read.Warm(never)
	require.True(t, read.Learned())
	again, err := NewModel(c, read, Stamp{Version: "sha256:test", Seq: 1, BuiltAt: time.Unix(0, 0)})
	require.NoError(t, err)
	assert.Equal(t, want, answers(again))
}

func written(f *fittedModels) []byte {
	w := &codec.Writer{}
	f.rank.Write(w)
	return w.Bytes
}

// What was judged has a lower bound of its confidence, which is 0 where nothing was. That no bound is above the confidence
// is checked of every answer.
func TestConfidenceHasALowerBound(t *testing.T) {
	m := plantedModel(t)
	for profile, judged := range map[string]bool{ProfileSeed: false, ProfileLearned: true} {
		a := next(t, m, NextRequest{Context: []string{"x:a"}, Profile: profile})
		p := planned(t, m, DAGRequest{Intent: "sort the red apples 4", Profile: profile})
		for what, low := range map[string]float64{"next": a.Suggestions[0].ConfidenceLow, "plan": p.ConfidenceLow, "task": p.DAG.Tasks[0].ConfidenceLow} {
			assert.Equal(t, judged, low > .4, "%s of %s: %v", what, profile, low)
			assert.True(t, judged || low == 0, what)
		}
	}
}

func TestMinConfidenceAbstains(t *testing.T) {
	m := plantedModel(t)
	for _, profile := range []string{ProfileSeed, ProfileLearned} {
		ask := func(least float64) NextAnswer {
			return next(t, m, NextRequest{Context: []string{"x:b"}, Profile: profile, Limit: MaxLimit, MinConfidence: least})
		}
		all := ask(0)
		require.NotEmpty(t, all.Suggestions)
		best := all.Suggestions[0].Confidence
		some := ask(best)
		assert.Equal(t, all.Suggestions[0].ID, some.Suggestions[0].ID)
		for _, s := range some.Suggestions {
			assert.GreaterOrEqual(t, s.Confidence, best)
		}
		none := ask(best + 1e-9)
		assert.True(t, none.Abstained)
		assert.Empty(t, none.Suggestions)
	}
}

// Requirements of the catalog become requirements of the trained tools.
func TestRequires(t *testing.T) {
	w := planted(t, 120)
	for _, tool := range []catalog.Tool{
		{ID: "x:c", Server: "x", Description: "tool c", Requires: []string{"x:new", "x:nowhere", "x.b"}},
		{ID: "x:new", Server: "x", Description: "translates ancient parchments"},
	} {
		require.NoError(t, tool.Normalise())
		w.PutTool(tool)
	}
	m := w.model()
	node := func(id string) int32 { n, _ := m.Find(id); return n }
	assert.ElementsMatch(t, []int32{node("x:b"), node("x:new")}, m.Requires(node("x:c")), "another spelling is the same tool")
	assert.Empty(t, m.Requires(node("x:a")))

	e, err := m.Explain(ExplainRequest{ID: "x:c", Context: []string{"x:b"}, Profile: ProfileLearned})
	require.NoError(t, err)
	assert.NotEmpty(t, e.Terms)
	p, err := m.Plan(DAGRequest{Intent: "tool c", Profile: ProfileSeed})
	require.NoError(t, err)
	checkDAG(t, m, p)
	require.Contains(t, tools(p), "x:c")
	comesAfter := map[string][]string{} // by task, in order
	for _, task := range p.DAG.Tasks {
		for _, id := range task.DependsOn {
			before := p.DAG.Tasks[slices.IndexFunc(p.DAG.Tasks, func(o Task) bool { return o.ID == id })].Tool
			comesAfter[task.Tool] = append(append(comesAfter[task.Tool], before), comesAfter[before]...)
		}
	}
	assert.Subset(t, comesAfter["x:c"], []string{"x:b", "x:new"})
}

// requireAddsUp checks that the terms of an additive or logistic formula give the score, which lies in [0, 1].
func requireAddsUp(t testing.TB, formula string, score float64, terms []Term) {
	t.Helper()
	require.GreaterOrEqual(t, score, 0.0)
	require.LessOrEqual(t, score, 1.0)
	sum := 0.0
	for _, term := range terms {
		sum += term.Contribution
	}
	if formula == FormulaLogistic {
		require.Equal(t, "rest", terms[len(terms)-1].Name)
		sum = 1 / (1 + math.Exp(-sum))
	}
	require.InDelta(t, score, sum, 1e-9)
}

// Few tasks that come again and again teach what follows: held out with all that are equal, they would teach the
// opposite.
func TestRepeatedTasksTeach(t *testing.T) {
	w := newWorld(t)
	for range 6 {
		w.episode("fetch, parse and store a page", "x:fetch", "x:parse", "x:store")
	}
	for range 3 {
		w.episode("mail a page", "x:fetch", "x:mail")
	}
	m := w.model()
	for _, q := range []struct {
		context []string
		intent  string
		want    string
	}{
		{[]string{"x:fetch"}, "", "x:parse"},
		{[]string{"x:fetch", "x:parse"}, "", "x:store"},
		{[]string{"x:fetch"}, "mail a page", "x:mail"},
		{[]string{"x:fetch", "x:parse"}, "fetch, parse and store a page", "x:store"},
	} {
		a := next(t, m, NextRequest{Context: q.context, Intent: q.intent, Profile: ProfileLearned})
		assert.Equal(t, q.want, a.Suggestions[0].ID, "%v %s", q.context, q.intent)
	}
}

// Until a long history is fitted the reference ranks and plans, as profile seed. A short one is fitted all the same.
func TestProvisionalMeasures(t *testing.T) {
	for name, tt := range map[string]struct {
		steps       []string
		short       int
		provisional bool
	}{
		"long history":   {[]string{"x:a", "x:b"}, 0, true},
		"of single step": {[]string{"x:a"}, 0, true},
		"short history":  {[]string{"x:a", "x:b"}, 5_000, false},
	} {
		t.Run(name, func(t *testing.T) {
			lower(t, &ShortSteps, tt.short)
			w := newWorld(t)
			for i := range 30 {
				w.episode(fmt.Sprint("send letter ", i), tt.steps...)
			}
			measures, err := Measure(t.Context(), w.Freeze(), MeasureOptions{Learn: true, Provisional: true})
			require.NoError(t, err)
			assert.Equal(t, tt.provisional, measures.Provisional())
			m := modelOf(t, w.State, measures)
			plan, err := m.Plan(DAGRequest{Intent: "send a letter", Profile: ProfileLearned})
			require.NoError(t, err)
			profile := choose(tt.provisional, ProfileSeed, ProfileLearned)
			assert.Equal(t, profile, plan.Model.Profile)
			assert.Equal(t, tt.provisional, slices.Contains(plan.Warnings, WarnProvisional))
			if len(tt.steps) > 1 {
				a := next(t, m, NextRequest{Context: []string{"x:a"}, Profile: ProfileLearned})
				assert.Equal(t, profile, a.Model.Profile)
				assert.Equal(t, tt.provisional, slices.Contains(a.Warnings, WarnProvisional))
				assert.Equal(t, "x:b", a.Suggestions[0].ID)
			}
		})
	}
}

// Tasks that end after one step say how often tasks end there.
func TestStopAfterTheFirstStep(t *testing.T) {
	w := newWorld(t)
	for i := range 60 {
		if w.episode(fmt.Sprint("e", i), "a:look"); i%2 == 0 {
			w.episode(fmt.Sprint("w", i), "a:look", "a:write")
		}
	}
	m := w.modelWith(MeasureOptions{Learn: true})
	for _, profile := range []string{ProfileSeed, ProfileLearned} {
		assert.InDelta(t, 2.0/3, next(t, m, NextRequest{Context: []string{"a:look"}, Profile: profile}).Stop, 0.05, profile)
	}
}
