package next

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/internal/numeric"
	"waymark/learn/sequence"
)

const tools = 12

func catalog() Catalog { return Catalog{Server: make([]int32, tools)} }

func line(row ...int32) *Task {
	t := &Task{Tools: row, Parents: make([][]int32, len(row))}
	for i := 1; i < len(row); i++ {
		t.Parents[i] = []int32{int32(i) - 1}
	}
	return t
}

// forks are tasks 0 1 x, x decided by a word of the request: word 1 means tool 2, word 2 tool 3. The
// other words say nothing.
func forks(n int) []*Task {
	random := rand.New(rand.NewPCG(1, 2))
	var out []*Task
	for i := range n {
		say := int32(1 + i%2)
		t := line(0, 1, say+1, 4+random.Int32N(4))
		t.Request = []Word{{say, 1}, {10 + random.Int32N(40), 1}}
		t.Group = uint64(i)
		out = append(out, t)
	}
	return out
}

func observe(tasks []*Task) *History {
	h := NewHistory(catalog())
	for _, t := range tasks {
		h.Observe(t)
	}
	return h
}

// settled is a history whose graph is measured.
func settled(tasks []*Task) *History {
	h := observe(tasks)
	h.Settle(func() bool { return false })
	return h
}

func TestARequestDecidesWhereTheHistoryCannot(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	tasks := forks(80)
	h, w := observe(tasks), fitWeights(catalog(), tasks, false)
	var s FeatureValues
	now := line(0, 1)
	for say, want := range map[int32]int32{1: 2, 2: 3} {
		h.Compute(now.Tools, now.Parents, 2, h.Ask([]Word{{say, 1}}, nil), &s)
		asked := h.Rank(&s, w.Asked, nil)
		assert.Equal(t, want, asked[0].Tool)
		assert.Greater(t, asked[0].Probability, .8)
		h.Compute(now.Tools, now.Parents, 2, nil, &s)
		plain := h.Rank(&s, w.Plain, nil)
		assert.InDelta(t, plain[0].Probability, plain[1].Probability, .2, "without the request both are as likely")
		assert.ElementsMatch(t, []int32{2, 3}, []int32{plain[0].Tool, plain[1].Tool})
	}
}

// In the order of time, too.
func TestFitInTime(t *testing.T) {
	tasks := forks(80)
	h, w := observe(tasks), fitWeights(catalog(), tasks, true)
	var s FeatureValues
	now := line(0, 1)
	h.Compute(now.Tools, now.Parents, 2, h.Ask([]Word{{2, 1}}, nil), &s)
	assert.Equal(t, int32(3), h.Rank(&s, w.Asked, nil)[0].Tool)
}

// Tasks come in pairs of one request whose third step is drawn by lot: a twin knows the draw. As one
// group they do not vouch for each other, and past requests are worth less than where they leak.
func TestAGroupDoesNotVouchForItself(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	random := rand.New(rand.NewPCG(3, 4))
	var apart, together []*Task
	for i := range 60 {
		row := []int32{0, 1, 2 + random.Int32N(8)}
		for k := range 2 {
			a, b := line(row...), line(row...)
			a.Request = []Word{{int32(i), 1}}
			b.Request = a.Request
			a.Group, b.Group = uint64(2*i+k), uint64(i)
			apart, together = append(apart, a), append(together, b)
		}
	}
	leaking, honest := fitWeights(catalog(), apart, false), fitWeights(catalog(), together, false)
	for level := range uint8(4) {
		assert.GreaterOrEqual(t, Weight(leaking.Asked, signalWords, level, 0), Weight(honest.Asked, signalWords, level, 0))
	}
	assert.Greater(t, Weight(leaking.Asked, signalPastNext, 3, 0), Weight(honest.Asked, signalPastNext, 3, 0)+.05)
}

func TestWithoutTasksTheWeightsAreThePrior(t *testing.T) {
	assert.Equal(t, Prior(), fitWeights(catalog(), nil, false))
	assert.Equal(t, Prior(), fitWeights(catalog(), []*Task{line(1), {}}, true))
}

// After very few tasks what followed a tool comes first: no weight makes it count against a tool that it was seen.
func TestTheFirstTasksTeachWhatFollows(t *testing.T) {
	for _, tasks := range [][]*Task{
		{line(0, 1, 2, 3)},
		{line(0, 1, 2, 3), line(4, 0, 0, 1, 2), line(0, 5, 3)},
	} {
		h, w := settled(tasks), fitWeights(catalog(), tasks, true)
		var signs FeatureValues
		var sources Sources
		for _, step := range [][2]int32{{1, 2}, {2, 3}} {
			prefix := []int32{step[0], step[1]}
			h.Guess(prefix, &sources)
			h.Compute(prefix, sources.Parents, 1, nil, &signs)
			assert.Equal(t, 1, h.Place(&signs, w.Plain, step[1]), "of %d tasks, after %d", len(tasks), step[0])
		}
	}
}

func TestFitIsTheSameOnAnyNumberOfProcessors(t *testing.T) {
	tasks := forks(60)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want := fitWeights(catalog(), tasks, false)
	runtime.GOMAXPROCS(4)
	require.Equal(t, want, fitWeights(catalog(), tasks, false))
}

func draw(t *rapid.T) []*Task {
	var out []*Task
	for range rapid.IntRange(1, 12).Draw(t, "tasks") {
		row := rapid.SliceOfN(rapid.Int32Range(0, tools-1), 2, 10).Draw(t, "row")
		task := &Task{Tools: row, Parents: make([][]int32, len(row))}
		for i := 1; i < len(row); i++ {
			if rapid.Bool().Draw(t, "linked") {
				task.Parents[i] = []int32{rapid.Int32Range(0, int32(i)-1).Draw(t, "parent")}
			}
		}
		if w := rapid.Int32Range(0, 5).Draw(t, "word"); w > 0 {
			task.Request = []Word{{w, 1}, {w + 5, 1.5}}
			task.Text = func() []sequence.Vote { return []sequence.Vote{{Tool: w, Share: .5}} }
		}
		out = append(out, task)
	}
	return out
}

// What a prefix is told depends neither on the steps after it nor on what was asked before.
func TestSignsSeeThePrefixAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := draw(t)
		h := settled(tasks)
		var reused FeatureValues
		for _, task := range tasks {
			r := h.Ask(task.Request, task.Texts())
			for n := 1; n < len(task.Tools); n++ {
				h.Compute(task.Tools, task.Parents, n, r, &reused)
				var fresh FeatureValues
				h.Compute(task.Tools[:n:n], task.Parents[:n:n], n, r, &fresh)
				require.Equal(t, fresh.Tools, reused.Tools)
				require.Equal(t, fresh.Values, reused.Values)
				require.Equal(t, fresh.Evidence, reused.Evidence)
			}
		}
	})
}

// Every tool is ranked once, the probabilities are a distribution, and the terms add up to the score.
func TestRankIsADistributionWithTerms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := draw(t)
		h, w := settled(tasks), Prior()
		var s FeatureValues
		task := tasks[0]
		h.Compute(task.Tools, task.Parents, 1, h.Ask(task.Request, task.Texts()), &s)
		out := h.Rank(&s, w.Asked, nil)
		require.Len(t, out, tools)
		seen, sum := map[int32]bool{}, 0.0
		for i, x := range out {
			seen[x.Tool] = true
			sum += x.Probability
			require.True(t, i == 0 || out[i-1].Score >= x.Score)
			if x.Row < 0 {
				always := 0.0
				for _, k := range Always {
					always += Weight(w.Asked, k, s.Evidence[k], 0) * h.Always(k, x.Tool)
				}
				require.InDelta(t, x.Score, always, 1e-9)
				continue
			}
			terms := 0.0
			for k, v := range s.Values[x.Row] {
				require.False(t, v < 0 && Signal(k) != signalPopularity && Signal(k) != signalAgain && Signal(k) != signalResidual && Signal(k) != signalResidualAsk && Signal(k) != signalWorked, "signal %d", k)
				terms += Weight(w.Asked, Signal(k), s.Evidence[k], s.Used(x.Row)) * float64(v)
			}
			require.InDelta(t, x.Score, terms, 1e-9)
			require.InDelta(t, x.Score, s.Score(w.Asked, x.Row), 0)
		}
		require.Len(t, seen, tools)
		require.InDelta(t, 1, sum, 1e-9)
	})
}

// A tool nobody used can still be the answer: its text is like the request.
func TestAToolNeverUsedIsFoundByItsText(t *testing.T) {
	h := observe(forks(20))
	var s FeatureValues
	now := line(0)
	r := h.Ask([]Word{{99, 1}}, []sequence.Vote{{Tool: 11, Share: .9}})
	h.Compute(now.Tools, now.Parents, 1, r, &s)
	rank := func(w []float64) int {
		return slices.IndexFunc(h.Rank(&s, w, nil), func(x Ranked) bool { return x.Tool == 11 })
	}
	assert.Less(t, rank(Prior().Asked), rank(Prior().Plain))
}

// The first of all are all of the first, with the same probabilities.
func TestRankTopIsTheBeginningOfRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := draw(t)
		h, w := settled(tasks), Prior()
		var s FeatureValues
		h.Compute(tasks[0].Tools, tasks[0].Parents, 1, nil, &s)
		k := rapid.IntRange(1, tools+1).Draw(t, "k")
		require.Equal(t, h.Rank(&s, w.Plain, nil)[:min(k, tools)], h.RankTop(&s, w.Plain, k, nil))
	})
}

func TestQueriesDoNotAllocateOnceWarm(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	tasks := forks(60)
	h, w := settled(tasks), Prior()
	var s FeatureValues
	var r Request
	var out []Ranked
	run := func() {
		h.AskInto(tasks[3].Request, nil, &r)
		h.Compute(tasks[3].Tools, tasks[3].Parents, 3, &r, &s)
		out = h.RankTop(&s, w.Asked, 5, out)
	}
	run()
	assert.Zero(t, testing.AllocsPerRun(50, run))
}

// A Request used before says the same as a new one.
func TestARequestCanBeUsedAgain(t *testing.T) {
	tasks := forks(60)
	h := observe(tasks)
	var reused Request
	var a, b FeatureValues
	for _, task := range tasks {
		h.AskInto(task.Request, nil, &reused)
		h.Compute(task.Tools, task.Parents, 2, &reused, &a)
		h.Compute(task.Tools, task.Parents, 2, h.Ask(task.Request, nil), &b)
		require.Equal(t, b.Tools, a.Tools)
		require.Equal(t, b.Values, a.Values)
	}
}

// In forks the third step is known by its request and the fourth drawn from four: claims say so.
func TestClaimsAreHeldOutAndHonest(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	w, claims := fitPredictions(catalog(), forks(200), false)
	require.Len(t, claims.Plain, 600)
	require.Len(t, claims.Asked, 600)
	said, right := 0.0, 0.0
	for _, c := range claims.Asked {
		if said += c.P; c.Right {
			right++
		}
	}
	assert.InDelta(t, right/600, said/600, .08)
	assert.Greater(t, right/600, .6)
	assert.Equal(t, w, fitWeights(catalog(), forks(200), false))
	none := forks(40)
	for _, task := range none {
		task.Request = nil
	}
	_, claims = fitPredictions(catalog(), none, false)
	assert.Empty(t, claims.Asked)
	assert.Len(t, claims.Plain, 120)
}

func TestLn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(1e-12, 1e12).Draw(t, "x")
		assert.InDelta(t, numeric.Ln(x), ln(x), 2e-12)
	})
	assert.InDelta(t, 0, ln(1), 1e-12)
}

func BenchmarkSuggest(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			h := NewHistory(Catalog{Server: make([]int32, n)})
			var last *Task
			for range 3000 {
				row := make([]int32, 12)
				for i := range row {
					x := random.Float64()
					row[i] = int32(float64(n-1) * x * x * x)
				}
				last = line(row...)
				last.Request = []Word{{random.Int32N(200), 1}, {200 + random.Int32N(2000), 1}}
				h.Observe(last)
			}
			h.Settle(func() bool { return false })
			r, w := h.Ask(last.Request, nil), Prior()
			var s FeatureValues
			var out []Ranked
			b.ReportAllocs()
			for b.Loop() {
				h.Compute(last.Tools, last.Parents, 11, r, &s)
				out = h.RankTop(&s, w.Asked, 10, out)
			}
		})
	}
}

// 3 requires 1 and 2, both require 0; 4 and 5 require each other. With 0 and 1 done, 2 is what is
// missing on the way to 3, though nobody ever did any of this.
func TestAnAuthoredGraphPlansAhead(t *testing.T) {
	c := catalog()
	c.Requires = make([][]int32, tools)
	c.Requires[1], c.Requires[2], c.Requires[3] = []int32{0}, []int32{0}, []int32{1, 2}
	c.Requires[4], c.Requires[5] = []int32{5}, []int32{4}
	h := NewHistory(c)
	h.Observe(line(7, 8))
	h.Observe(line(9, 10))
	var s FeatureValues
	now := line(0, 1)
	h.Compute(now.Tools, now.Parents, 2, nil, &s)
	value := func(k Signal, tool int32) float32 {
		if i := slices.Index(s.Tools, tool); i >= 0 {
			return s.Values[i][k]
		}
		return 0
	}
	assert.Positive(t, value(signalPlanned, 2))
	assert.Greater(t, value(signalPlanned, 2), value(signalPlanned, 3), "3 must wait for 2")
	assert.InDelta(t, .5, value(signalEnabled, 3), 1e-6)
	assert.InDelta(t, 1, value(signalEnabled, 2), 1e-6)
	assert.InDelta(t, 1, value(Linked, 3), 0)
	assert.Zero(t, value(Linked, 2))
	assert.Zero(t, value(signalPlanned, 4))
}

// A step may count more than once. A mass of one is no mass at all.
func TestMassesOfSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	fit := func(mass float32) Weights {
		tasks := forks(60)
		for i, task := range tasks {
			if mass == 0 {
				continue
			}
			task.Mass = make([]float32, len(task.Tools))
			for n := range task.Mass {
				task.Mass[n] = 1
				if i%3 == 0 {
					task.Mass[n] = mass
				}
			}
		}
		return fitWeights(catalog(), tasks, false)
	}
	plain := fit(0)
	require.Equal(t, plain, fit(1))
	heavy := fit(4)
	require.NotEqual(t, plain, heavy)
	require.Equal(t, heavy, fit(4))
}

// Whatever became of a task, the weights that claim its steps have not seen it.
func TestClaimsAreOfWeightsFittedOnOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	const quarter = 2
	fit := func(mass float32) fitted {
		tasks := forks(80)
		for _, x := range tasks {
			x.Mass = []float32{1, 1, 1, 1}
			if mix(x.Group+1)>>32&3 == quarter {
				x.Mass = []float32{mass, mass, mass, mass}
			}
		}
		return gather(catalog(), tasks, false, never).fit(Prior().Asked, priorBelief().Hold.Asked)
	}
	once, often := fit(1), fit(3)
	apart := func(a, b []float64) float64 {
		most := 0.0
		for i := range a {
			most = max(most, math.Abs(a[i]-b[i]))
		}
		return most
	}
	for q := range once.others {
		if d := apart(once.others[q], often.others[q]); q == quarter {
			assert.Less(t, d, .02)
		} else {
			assert.Greater(t, d, .05, "quarter %d is claimed by weights that were fitted on it", q)
		}
	}
}

func fitPredictions(c Catalog, tasks []*Task, timed bool) (Weights, Predictions) {
	w, predictions, _ := Fit(c, tasks, timed, func() bool { return false })
	return w, predictions
}

func fitWeights(c Catalog, tasks []*Task, timed bool) Weights {
	w, _ := fitPredictions(c, tasks, timed)
	return w
}

// Who says how many tasks will come gets the same history, whatever their number.
func TestExpectedTasksAreMeasuredOnce(t *testing.T) {
	var tasks []*Task
	for i := range 150 {
		task := line(int32(i%tools), int32((i+1)%tools))
		task.Request = []Word{{ID: int32(i % 7), Mass: 1}, {ID: int32(7 + i%11), Mass: 2}}
		tasks = append(tasks, task)
	}
	for n := range len(tasks) + 1 {
		plain, expected := NewHistory(catalog()), NewHistory(catalog())
		expected.Expect(n)
		for _, task := range tasks[:n] {
			plain.Observe(task)
			expected.Observe(task)
		}
		require.Equal(t, plain.requests.norms, expected.requests.norms, n)
		if n > 0 {
			require.Equal(t, plain.requests.remeasure, expected.requests.remeasure, n)
		}
	}
}
