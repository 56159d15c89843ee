package mine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
)

// number reads tools named t0, t1, … and keeps x apart.
func number(tool string) int32 {
	if tool == "x" {
		return Apart
	}
	n, err := strconv.Atoi(tool[1:])
	if err != nil {
		panic(err)
	}
	return int32(n)
}

// tasks reads episodes as people would draw them: "0 1 [2 3] 4" are calls in order, 2 and 3 at once,
// "5!" is one that failed. Each has a session of its own.
func tasks(drawn ...string) (ts []Task) {
	for i, d := range drawn {
		e := episodic.Episode{ID: fmt.Sprint(i)}
		group := ""
		for _, word := range strings.Fields(d) {
			if strings.HasPrefix(word, "[") {
				group = fmt.Sprint("g", len(e.Steps))
			}
			call, failed := strings.CutSuffix(strings.Trim(word, "[]"), "!")
			s := episodic.Step{ID: fmt.Sprint(len(e.Steps)), Tool: "t" + call, Group: group}
			if call == "x" {
				s.Tool = "x"
			}
			if failed {
				s.Outcome = episodic.Failure
			}
			e.Steps = append(e.Steps, s)
			if strings.HasSuffix(word, "]") {
				group = ""
			}
		}
		ts = append(ts, Of(&e, int32(i), number))
	}
	return ts
}

func times(n int, drawn ...string) (all []string) {
	for range n {
		all = append(all, drawn...)
	}
	return all
}

// drawn writes a pattern as its calls with what they come after.
func (p *Pattern) drawn() string {
	var b strings.Builder
	for i, t := range p.Tools {
		fmt.Fprintf(&b, "%d", t)
		for _, a := range p.After[i] {
			fmt.Fprintf(&b, "<%d", p.Tools[a])
		}
		b.WriteByte(' ')
	}
	return fmt.Sprintf("%s×%d", b.String(), p.Support)
}

func drawn(r Result) []string {
	all := []string{}
	for i := range r.Patterns {
		all = append(all, r.Patterns[i].drawn())
	}
	return all
}

// Small histories worked by hand. A call is followed by what it comes right after.
func TestPatterns(t *testing.T) {
	exact := Options{Tolerance: -1}
	for _, row := range []struct {
		name    string
		history []string
		options Options
		want    []string
	}{
		{"a chain that comes again", times(3, "0 1 2"), exact, []string{"0 1<0 2<1 ×3"}},
		{"twice is not enough", times(2, "0 1 2"), exact, []string{}},
		{"a pair", times(3, "0 1"), exact, []string{"0 1<0 ×3"}},
		{"either order is no order", append(times(3, "0 1 2 3"), times(3, "0 2 1 3")...), exact, []string{"0 1<0 2<0 3<1<2 ×6"}},
		{"at once", times(4, "0 [1 2] 3"), exact, []string{"0 1<0 2<0 3<1<2 ×4"}},
		{"failures are left out", append(times(2, "0 1! 1 2"), times(2, "0 5! 1 2 2!")...), exact, []string{"0 1<0 2<1 ×4"}},
		{"nothing leads through what stands apart", times(4, "0 1 x 2 3"), exact, []string{"0 1<0 ×4", "2 3<2 ×4"}},
		{"another call between", append(times(3, "0 1 2"), "0 4 1 2", "0 1 5 2"), exact, []string{"0 1<0 2<1 ×5"}},
		{"one tool again and again is no pattern", times(5, "0 0 0 0"), exact, []string{}},
		{"a tool twice", append(times(4, "0 1 0"), "2 3", "3 4 5", "4 6 2", "6 7 5"), exact, []string{"0 1<0 0<1 ×4"}},
		{"two ways to do the same are no order", append(times(4, "0 1 2"), times(4, "2 1 0")...), exact, []string{}},
		{"closed: the smaller one only where it is more frequent", append(times(3, "0 1 2"), times(3, "0 1")...), exact,
			[]string{"0 1<0 2<1 ×3", "0 1<0 ×6"}},
		{"nearly always part of the larger one", append(times(9, "0 1 2"), "0 1"), Options{}, []string{"0 1<0 2<1 ×9"}},
		{"no longer than asked for", append(times(3, "0 1 2 3"), "4 5", "5 6 7", "6 4 7", "7 5"), Options{Tolerance: -1, Most: 3}, []string{"0 1<0 2<1 ×3"}},
		{"a routine longer than a pattern comes in pieces", append(times(4, "0 1 2 3 4 5 6"), "7 0", "5 3", "6 1 4", "2 7"), Options{Most: 4},
			[]string{"0 1<0 2<1 3<2 ×4", "3 4<3 5<4 6<5 ×4"}},
		{"no shorter than asked for", append(times(3, "0 1 2"), times(3, "0 1")...), Options{Tolerance: -1, Least: 3}, []string{"0 1<0 2<1 ×3"}},
	} {
		r := Patterns(tasks(row.history...), 8, row.options)
		assert.ElementsMatch(t, row.want, drawn(r), row.name)
		assert.False(t, r.Partial, row.name)
	}
}

// What one session does again and again is its own habit.
func TestSessionsAreWitnesses(t *testing.T) {
	ts := tasks(times(6, "0 1 2")...)
	for i := range ts {
		ts[i].Session = 7
	}
	assert.Empty(t, Patterns(ts, 3, Options{}).Patterns)
	ts[5].Session = 8
	r := Patterns(ts, 3, Options{})
	require.Len(t, r.Patterns, 1)
	assert.Equal(t, 2, r.Patterns[0].Sessions)
	assert.Len(t, Patterns(ts, 3, Options{Sessions: 1}).Patterns, 1)
}

// Dependencies say more than the sequence: what is called between but depends on nothing is no part.
func TestDependenciesAreTheOrder(t *testing.T) {
	var ts []Task
	for i := range 4 {
		e := episodic.Episode{Steps: []episodic.Step{
			{ID: "a", Tool: "t0", DependsOn: []string{}}, {ID: "n", Tool: fmt.Sprint("t", 4+i), DependsOn: []string{}},
			{ID: "m", Tool: fmt.Sprint("t", 8+i), DependsOn: []string{"n"}}, {ID: "b", Tool: "t1", DependsOn: []string{"a"}},
			{ID: "c", Tool: "t2", DependsOn: []string{"a"}}, {ID: "d", Tool: "t3", DependsOn: []string{"b", "c"}},
		}}
		ts = append(ts, Of(&e, int32(i), number))
	}
	assert.Equal(t, []string{"0 1<0 2<0 3<1<2 ×4"}, drawn(Patterns(ts, 12, Options{})))
}

// The counts beside a pattern: where its calls stand together, and where all its tools are called.
func TestCountsBeside(t *testing.T) {
	r := Patterns(tasks(append(times(9, "0 1 2"), "2 1 0", "0 3 3 3 1 3 3 3 2", "2 4 4 4 0")...), 5, Options{})
	require.Equal(t, []string{"0 1<0 2<1 ×9"}, drawn(r))
	p := r.Patterns[0]
	assert.Equal(t, 10, p.Together)
	assert.Equal(t, 11, p.All)
	assert.Len(t, p.Found, 9)
	assert.Equal(t, Occurrence{0, []uint8{0, 1, 2}}, p.Found[0])
}

// plant makes patterns of 3 to 6 distinct tools, each coming after one of the two before it.
func plant(r *rand.Rand, n, tools int) []Pattern {
	ps := make([]Pattern, n)
	perm := r.Perm(tools)
	for i := range ps {
		for j := range 3 + r.IntN(4) {
			ps[i].Tools = append(ps[i].Tools, int32(perm[0]))
			perm = append(perm[1:], perm[0])
			var after []int
			if j > 0 {
				after = []int{max(0, j-1-r.IntN(2))}
			}
			ps[i].After = append(ps[i].After, after)
		}
	}
	return ps
}

// noisy is how a history hides what is planted in it.
type noisy struct {
	noise   float64 // chance of another call before each
	failing float64 // chance of a call that fails first
	dropped float64 // chance of a call that is left out
	pure    float64 // share of the tasks that are nothing but noise
}

// planting is n tasks, each with the calls of one pattern in an order that the pattern allows.
func planting(r *rand.Rand, n, tools int, ps []Pattern, with noisy) []Task {
	all := make([]string, n)
	for i := range all {
		add := func(call any, mark string) { all[i] += fmt.Sprint(call, mark, " ") }
		other := func() { add(r.IntN(tools), "") }
		if r.Float64() < with.pure {
			for range 2 + r.IntN(8) {
				other()
			}
			continue
		}
		p := ps[r.IntN(len(ps))]
		done := make([]bool, len(p.Tools))
		for range p.Tools {
			var ready []int
			for j, after := range p.After {
				if !done[j] && (len(after) == 0 || done[after[0]]) {
					ready = append(ready, j)
				}
			}
			j := ready[r.IntN(len(ready))]
			done[j] = true
			if r.Float64() < with.noise {
				other()
			}
			if r.Float64() < with.failing {
				add(p.Tools[j], "!")
			}
			if r.Float64() >= with.dropped {
				add(p.Tools[j], "")
			}
		}
	}
	return tasks(all...)
}

// shape is a pattern without its support, whatever the order in which its calls are listed.
func shape(p *Pattern) string {
	calls := strings.Fields(p.drawn())
	calls = calls[:len(calls)-1]
	slices.Sort(calls)
	return strings.Join(calls, " ")
}

// graded counts planted patterns that were found, exactly, and patterns that are none.
func graded(r Result, ps []Pattern) (recall, precision float64) {
	found := map[string]bool{}
	for i := range r.Patterns {
		found[shape(&r.Patterns[i])] = true
	}
	hit := 0.0
	for i := range ps {
		if found[shape(&ps[i])] {
			hit++
		}
	}
	return hit / float64(len(ps)), hit / float64(max(1, len(r.Patterns)))
}

// Ten DAGs are planted in 1,500 tasks over 80 tools, with a call of another tool before every fifth
// call, every twelfth failing first, every fiftieth left out, and a third of the tasks noise alone.
func TestPlantedPatternsAreFound(t *testing.T) {
	var recall, precision float64
	const rounds = 2
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 1))
		ps := plant(r, 10, 80)
		res := Patterns(planting(r, 1500, 80, ps, noisy{.2, .08, .02, .33}), 80, Options{})
		re, pr := graded(res, ps)
		t.Logf("recall %.2f, precision %.2f of %d patterns", re, pr, len(res.Patterns))
		recall, precision = recall+re/rounds, precision+pr/rounds
		require.False(t, res.Partial)
	}
	assert.GreaterOrEqual(t, recall, .95)
	assert.GreaterOrEqual(t, precision, .8)
}

// In a history of noise alone there is next to nothing to find.
func TestNoiseHasNoPatterns(t *testing.T) {
	total := 0
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 2))
		total += len(Patterns(planting(r, 1000, 60, nil, noisy{pure: 1}), 60, Options{}).Patterns)
	}
	assert.LessOrEqual(t, total, 5, "the test of chance expects at most one a size")
}

// The order in which tasks come changes nothing but their numbers.
func TestOrderOfTasksDoesNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	ts := planting(r, 600, 60, plant(r, 8, 60), noisy{.3, .1, .05, .3})
	want := Patterns(ts, 60, Options{})
	require.NotEmpty(t, want.Patterns)
	for range 2 {
		perm := r.Perm(len(ts))
		mixed := make([]Task, len(ts))
		for i, j := range perm {
			mixed[j] = ts[i]
		}
		got := Patterns(mixed, 60, Options{})
		for i := range got.Patterns {
			for j := range got.Patterns[i].Found {
				o := &got.Patterns[i].Found[j]
				o.Task = slices.Index(perm, o.Task)
			}
			slices.SortFunc(got.Patterns[i].Found, func(a, b Occurrence) int { return a.Task - b.Task })
		}
		require.Equal(t, want, got)
	}
}

// Too little work allowed: what is found is right, and that something was cut is said.
func TestWorkIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	ps := plant(r, 6, 40)
	ts := planting(r, 800, 40, ps, noisy{.2, .05, .02, .3})
	all := Patterns(ts, 40, Options{})
	require.False(t, all.Partial)
	check(t, ts, all, Options{})
	cut := Patterns(ts, 40, Options{Work: 2000})
	assert.True(t, cut.Partial)
	check(t, ts, cut, Options{})
	few := Patterns(ts, 40, Options{Patterns: 2})
	assert.True(t, few.Partial)
	assert.Len(t, few.Patterns, 2)
}

// check says what is wrong with a result, whatever the tasks.
func check(t *testing.T, ts []Task, r Result, o Options) {
	o = o.filled()
	for i := range r.Patterns {
		p := &r.Patterns[i]
		k := len(p.Tools)
		require.GreaterOrEqual(t, k, o.Least)
		require.LessOrEqual(t, k, o.Most)
		require.Len(t, p.After, k)
		require.Len(t, p.Found, p.Support)
		require.GreaterOrEqual(t, p.Support, o.Support)
		require.GreaterOrEqual(t, p.Sessions, o.Sessions)
		require.LessOrEqual(t, p.Support, p.Together)
		require.LessOrEqual(t, p.Together, p.All)
		linked := 0
		for j, after := range p.After {
			linked += len(after)
			for _, a := range after {
				require.Less(t, a, j)
			}
		}
		require.GreaterOrEqual(t, linked, k-1, "it is one piece")
		last := -1
		for _, f := range p.Found {
			require.Greater(t, f.Task, last, "each task counts once")
			last = f.Task
			for j, c := range f.Calls {
				require.Equal(t, p.Tools[j], ts[f.Task].Tools[c])
				for _, a := range p.After[j] {
					require.True(t, ts[f.Task].follows(f.Calls[a], c))
				}
			}
		}
	}
}
