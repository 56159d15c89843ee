package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// office is a small world: requests say two of six errands in words of their own; each errand has a tool
// whose name is no word of the request, and the tool sign is used before every tool that sends.
func office(n int) ([]Tool, []Task) {
	tools := []Tool{
		{Name: "alpha_book", Text: "Reserve a seat on an aircraft", Server: "travel"},
		{Name: "beta_sleep", Text: "Reserve a room", Server: "travel"},
		{Name: "gamma_post", Text: "Send a letter", Server: "mail"},
		{Name: "delta_note", Text: "Keep a memo", Server: "mail"},
		{Name: "epsilon_sum", Text: "Add numbers", Server: "desk"},
		{Name: "zeta_plot", Text: "Draw a chart", Server: "desk"},
		{Name: "sign", Text: "Log in", Server: "mail"},
		{Name: "translate_text", Text: "Translate a text into another language", Server: "words"},
	}
	errands := []string{"fly me to oslo", "hotel for two nights", "write to my aunt", "remember the milk", "how much is it together", "show it as bars"}
	random := rand.New(rand.NewPCG(1, 2))
	tasks := make([]Task, n)
	for i := range tasks {
		a, b := random.IntN(len(errands)), random.IntN(len(errands))
		t := Task{Text: fmt.Sprintf("%s, %s %d", errands[a], errands[b], random.IntN(50))}
		add := func(tool int) {
			var after []int32
			if len(t.Steps) > 0 {
				after = []int32{int32(len(t.Steps) - 1)}
			}
			t.Steps, t.After = append(t.Steps, int32(tool)), append(t.After, after)
		}
		for _, e := range []int{a, b} {
			if e == 2 {
				add(6)
			}
			add(e)
		}
		tasks[i] = t
	}
	return tools, tasks
}

func names(a *Answer) (tools []int32) {
	for _, s := range a.Steps {
		tools = append(tools, s.Tool)
	}
	return tools
}

// Requests that differ in words like "who" and "when" alone are told apart.
func TestSmallWordsDecide(t *testing.T) {
	tools := []Tool{{Name: "alpha"}, {Name: "beta"}, {Name: "gamma"}}
	var tasks []Task
	for i := range 60 {
		film := fmt.Sprintf("film %d", i)
		for tool, ask := range []string{"who made the " + film, "when was the " + film + " made", "how many made the " + film} {
			tasks = append(tasks, Task{Text: ask, Steps: []int32{int32(tool)}, After: [][]int32{nil}})
		}
	}
	m := Fit(NewTexts(tools), nil, tasks)
	assert.Equal(t, []int32{0}, names(m.Plan("who made the film Metropolis", nil)))
	assert.Equal(t, []int32{1}, names(m.Plan("when was the film Metropolis made", nil)))
}

// The sets that may be the answer and none of them are all there is.
func TestSetsAreADistribution(t *testing.T) {
	tools, tasks := office(80)
	m := Fit(NewTexts(tools), nil, tasks)
	for _, text := range []string{"fly me to oslo, remember the milk", "nothing like it", "hotel"} {
		q := m.open(text, nil)
		q.run()
		all := q.choices(2)
		sum := q.judge(all)
		require.Positive(t, sum)
		for _, c := range all {
			require.Positive(t, c.p)
			sum += c.p
		}
		assert.InDelta(t, 1, sum, 1e-9)
	}
}

func TestTermsAddUp(t *testing.T) {
	tools, tasks := office(80)
	m := Fit(NewTexts(tools), nil, tasks)
	a := m.Plan("fly me to oslo, remember the milk", nil)
	require.NotEmpty(t, a.Tools)
	for i, r := range a.Tools {
		if i > 0 {
			assert.LessOrEqual(t, r.P, a.Tools[i-1].P)
		}
		terms := a.Explain(r.Tool)
		if i >= len(a.q.table.cand) {
			assert.Nil(t, terms, "nothing speaks for this tool")
			continue
		}
		sum := 0.0
		for _, term := range terms {
			sum += term.Adds
		}
		assert.InDelta(t, r.P, 1/(1+math.Exp(-sum)), 1e-9)
	}
	assert.Nil(t, a.Explain(1000))
}

func TestNothingToLearnFrom(t *testing.T) {
	tools, _ := office(0)
	m := Fit(NewTexts(tools), nil, nil)
	found := m.Plan("translate a text", nil).Tools
	require.NotEmpty(t, found)
	assert.Equal(t, int32(7), found[0].Tool, "texts speak where nothing else does")
	for _, r := range found {
		assert.False(t, math.IsNaN(r.P))
	}
	assert.NotPanics(t, func() { m.Plan("", nil) })
	m = Fit(NewTexts(tools), nil, []Task{{Text: "one", Steps: []int32{1}, After: [][]int32{nil}}, {Text: "", Steps: []int32{2}, After: [][]int32{nil}}})
	require.NotEmpty(t, m.Plan("one", nil).Tools)
	for _, r := range m.Plan("one", nil).Tools {
		assert.False(t, math.IsNaN(r.P))
	}
	assert.NotPanics(t, func() { Fit(NewTexts(nil), nil, nil).Plan("anything", nil) })
}

func TestSameBitsOnAnyNumberOfProcessors(t *testing.T) {
	tools, tasks := office(60)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	texts := NewTexts(tools)
	want := Fit(texts, nil, tasks)
	runtime.GOMAXPROCS(5)
	got := Fit(texts, nil, tasks)
	assert.Equal(t, want.kinds, got.kinds)
	assert.Equal(t, want.gate, got.gate)
	assert.Equal(t, want.linker, got.linker)
	for _, task := range tasks[:10] {
		a, b := want.Plan(task.Text, nil), got.Plan(task.Text, nil)
		assert.Equal(t, a.Tools, b.Tools)
		assert.Equal(t, a.Steps, b.Steps)
	}
}

func TestClauses(t *testing.T) {
	assert.Equal(t, []clause{{"Book flight", []string{"book", "flight"}}, {"then Write aunt", []string{"write", "aunt"}}},
		clauses("Book flight. and then Write aunt! ok"))
	assert.Empty(t, clauses(""))
}

// BM25 by hand: two documents of two words, N = 2, one has the word: idf ln(1 + 1.5/1.5) = ln 2, and at
// mean length tf 1 counts 2.2/2.2.
func TestBM25ByHand(t *testing.T) {
	ix := newBM25([][]string{{"book", "flight"}, {"draw", "chart"}})
	s := ix.scores([]string{"flight", "flight", "none"})
	assert.InDelta(t, math.Ln2, s[0], 1e-12)
	assert.Zero(t, s[1])
}

func BenchmarkPlan(b *testing.B) {
	tools, tasks := office(500)
	for i := range 992 {
		tools = append(tools, Tool{Name: fmt.Sprintf("tool_%d", i), Text: fmt.Sprintf("does thing %d of kind %d", i, i%40), Server: fmt.Sprintf("server%d", i%50)})
	}
	texts := NewTexts(tools)
	m := Fit(texts, nil, tasks)
	b.Run("tools=1000", func(b *testing.B) {
		for b.Loop() {
			m.Plan("hotel for two nights, then write to my aunt about thing 17", nil)
		}
	})
}

func TestFitStops(t *testing.T) {
	tools, tasks := office(120)
	texts := NewTexts(tools)
	asked := atomic.Int64{}
	done := []float64{}
	o := Options{Stop: func() bool { asked.Add(1); return false }, Progress: func(d float64) { done = append(done, d) }}
	require.NotNil(t, FitWith(texts, nil, tasks, o))
	assert.True(t, slices.IsSorted(done))
	assert.Equal(t, 1.0, done[len(done)-1])
	for _, after := range []int64{0, 1, 50, asked.Load() / 2, asked.Load() - 1} {
		n := atomic.Int64{}
		stop := func() bool { return n.Add(1) > after }
		assert.Nil(t, FitWith(texts, nil, tasks, Options{Stop: stop}), "stopped at question %d", after)
		assert.Less(t, n.Load(), after+int64(200), "goes on asking after it was told to stop")
	}
}

func TestToolsOfAPlan(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	tools, tasks := office(100)
	for i := range 292 {
		tools = append(tools, Tool{Name: fmt.Sprintf("tool_%d", i), Text: "does nothing that anybody wants"})
	}
	m := Fit(NewTexts(tools), nil, tasks)
	const text = "hotel for two nights, write to my aunt"
	found := m.Plan(text, nil).Tools
	assert.GreaterOrEqual(t, len(found), 100)
	seen := map[int32]bool{}
	for i, r := range found {
		assert.False(t, seen[r.Tool])
		seen[r.Tool] = true
		if i > 0 {
			assert.LessOrEqual(t, r.P, found[i-1].P)
		}
	}
}

// Three names, two with a word of their own each and one in common: ln(1 + 3/1) and ln(1 + 3/2).
func TestSharesOfNamesByHand(t *testing.T) {
	x := newNaming([][]string{{"book", "flight"}, {"book", "room", "room"}, nil})
	own, both := math.Log(1+3), math.Log(1+1.5)
	s := x.shares([]string{"room", "book", "room", "other"})
	assert.InDelta(t, both/(own+both), s[0], 1e-6)
	assert.InDelta(t, 1, s[1], 1e-6)
	assert.Zero(t, s[2])
}
