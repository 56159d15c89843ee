package suggest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/wire"
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

func TestLearnedSeesBeyondTheLastStep(t *testing.T) {
	m := planted(t, 120).model()
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
		assert.Equal(t, FormulaLearned, a.Suggestions[0].Formula)
		assert.Equal(t, ProfileLearned, a.Model.Profile)
		assert.Greater(t, a.Suggestions[0].Confidence, .4)
		e, err := m.Explain(ExplainRequest{ID: s.want, Context: s.context, Intent: s.intent, Profile: ProfileLearned})
		require.NoError(t, err)
		assert.Equal(t, a.Suggestions[0].Terms, e.Terms)
		assert.Equal(t, 1, e.Rank)
		assert.True(t, e.Suggested)
	}
	seed := next(t, m, NextRequest{Context: []string{"x:a", "x:b"}})
	assert.Equal(t, ProfileSeed, seed.Model.Profile)
	assert.NotEqual(t, seed.SuggestionID, next(t, m, NextRequest{Context: []string{"x:a", "x:b"}, Profile: ProfileLearned}).SuggestionID)
}

func TestLearnedFilters(t *testing.T) {
	w := planted(t, 120)
	w.Remove("x:c")
	for i := range 9 {
		w.Feedback([]string{"x:b"}, "x:e", episodic.Failure, time.Unix(1_700_000_500, 0), fmt.Sprint("s", i))
	}
	m := w.model()
	a := next(t, m, NextRequest{Context: []string{"x:a", "x:b"}, Profile: ProfileLearned, Limit: MaxLimit})
	assert.NotContains(t, ids(a.Suggestions), "x:c", "removed")
	assert.NotContains(t, ids(a.Suggestions), "x:e", "fails too often")
	assert.Contains(t, ids(a.Suggestions), "x:new", "what was never used can be reached")
	a = next(t, m, NextRequest{Context: []string{"x:a", "x:b"}, Profile: ProfileLearned, Allow: []string{"x:f"}})
	assert.Equal(t, []string{"x:f"}, ids(a.Suggestions))
}

func TestLearnedFindsByIntent(t *testing.T) {
	m := planted(t, 120).model()
	a := next(t, m, NextRequest{Intent: "count blue boats", Profile: ProfileLearned})
	assert.Subset(t, []string{"x:b", "x:d", "x:e"}, ids(a.Suggestions[:3]))
	found, err := m.Search(SearchRequest{Query: "translate an ancient parchment", Profile: ProfileLearned})
	require.NoError(t, err)
	names := []string{}
	for _, r := range found.Results {
		names = append(names, r.ID)
		sum := 0.0
		for _, term := range r.Terms {
			sum += term.Contribution
		}
		assert.Equal(t, r.Score, sum)
	}
	assert.Contains(t, names, "x:new", "a tool that was never used is found by its text")
	found, err = m.Search(SearchRequest{Query: "x:f", Profile: ProfileLearned})
	require.NoError(t, err)
	assert.Equal(t, "x:f", found.Results[0].ID, "what is named exactly comes first")
}

func TestLearnedPlan(t *testing.T) {
	m := planted(t, 120).model()
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
	a = ask(DAGRequest{Context: []string{"x:d", "x:b"}})
	assert.Equal(t, "x:e", tools(a)[0])
}

func TestLearnedIsRefused(t *testing.T) {
	refused := func(m *Model, want string) {
		_, err := m.Next(NextRequest{Context: []string{"x:a"}, Profile: ProfileLearned})
		var wrong *RequestError
		require.ErrorAs(t, err, &wrong)
		assert.Contains(t, wrong.Detail, want)
		assert.Equal(t, "profile", wrong.Field)
	}
	refused(planted(t, learnTasks-1).model(), "too little history")
	refused(planted(t, learnTasks+1).modelWith(MeasureOptions{WithoutLearned: true}), "is off")
}

func TestAutoTakesTheChoice(t *testing.T) {
	m := planted(t, 80).model()
	m.measures.Choose(Choice{Next: Judged{Profile: ProfileLearned}})
	assert.Equal(t, ProfileLearned, next(t, m, NextRequest{Context: []string{"x:a"}}).Model.Profile)
	assert.Equal(t, ProfileSeed, next(t, m, NextRequest{Context: []string{"x:a"}, Intent: "sort"}).Model.Profile)
	assert.Equal(t, ProfileSeed, next(t, m, NextRequest{Context: []string{"x:a"}, Profile: ProfileSeed}).Model.Profile)
}

// What is learned depends on nothing but the history, and comes back from a snapshot.
func TestLearnedIsTheSameAgain(t *testing.T) {
	answers := func(m *Model) (all []any) {
		for _, context := range [][]string{nil, {"x:a"}, {"x:a", "x:b"}, {"x:d", "x:b", "x:e"}} {
			a, err := m.Next(NextRequest{Context: context, Intent: "sort boats", Profile: ProfileLearned, Limit: MaxLimit})
			require.NoError(t, err)
			p, err := m.Plan(DAGRequest{Context: context, Intent: "sort boats", Profile: ProfileLearned})
			require.NoError(t, err)
			all = append(all, a, p)
		}
		return append(all, m.measures.learning.weights())
	}
	w := planted(t, 90)
	m := w.model()
	want := answers(m)
	processors := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(processors)
	assert.Equal(t, want, answers(planted(t, 90).model()))
	runtime.GOMAXPROCS(8)
	assert.Equal(t, want, answers(planted(t, 90).model()))

	var b bytes.Buffer
	to := &wire.Writer{To: &b}
	m.measures.Write(to)
	require.NoError(t, to.Flush())
	r := wire.NewReader(b.Bytes())
	c := w.Freeze()
	read := ReadMeasures(r, c)
	require.NoError(t, r.End())
	assert.Equal(t, m.measures.learning.weights(), read.learning.known, "weights are kept")
	again, err := NewModel(c, read, Stamp{Version: "sha256:test", Seq: 1, BuiltAt: time.Unix(0, 0)})
	require.NoError(t, err)
	assert.Equal(t, want, answers(again))
}

// A task that is a graph keeps it, and a chain takes no room for it.
func TestPastKeepsLinks(t *testing.T) {
	s := NewState()
	at := time.UnixMilli(1_700_000_000_123).UTC()
	s.Record(&episodic.Episode{ID: "1", Time: at, Steps: []episodic.Step{{ID: "1", Tool: "a"}, {ID: "2", Tool: "b"}}})
	s.Record(&episodic.Episode{ID: "2", Outcome: episodic.Failure, Steps: []episodic.Step{
		{ID: "1", Tool: "a", DependsOn: []string{}}, {ID: "2", Tool: "b", DependsOn: []string{}}, {ID: "3", Tool: "c", DependsOn: []string{"2", "1"}}}})
	assert.Nil(t, s.past[0].after)
	assert.Equal(t, [][]int32{nil, {0}}, s.past[0].parents())
	assert.Equal(t, at.UnixMilli(), s.past[0].time)
	assert.Equal(t, [][]int32{{}, {}, {0, 1}}, s.past[1].parents())
	assert.True(t, s.past[1].failed())
	for _, damaged := range [][]int32{{0, 0, 2, 0, 2}, {0, 0, 2, 1, 0}, {0, 0, 9, 0, 1}, {0, 0}, {0, 0, 1, 0, 5}} {
		assert.False(t, linked(damaged, 3), "%v", damaged)
	}
	assert.True(t, linked(s.past[1].after, 3))
}

func TestSignalsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for k, name := range signalNames {
		assert.NotEmpty(t, name, k)
		assert.False(t, seen[name], name)
		seen[name] = true
	}
}
