package next

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
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
		return gather(catalog(), tasks, false, func() bool { return false }).fit(Prior().Asked, priorBelief().Hold.Asked)
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
	w, predictions := Fit(c, tasks, timed, func() bool { return false })
	return w, predictions
}

func fitWeights(c Catalog, tasks []*Task, timed bool) Weights {
	w, _ := fitPredictions(c, tasks, timed)
	return w
}
