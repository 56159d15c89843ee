package mine

import (
	"iter"
	"slices"

	"waymark/episodic"
)

// Apart is the number of a tool whose calls no pattern contains, and through which none goes.
const Apart int32 = -1

// MaxCalls is how many calls of a task are looked at, the first ones.
const MaxCalls = 256

// Task is one task as a DAG of calls in topological order.
type Task struct {
	ID      string  // of the episode
	Session int32   // tasks of one session are one witness
	Tools   []int32 // of each call
	Steps   []int32 // of each call, its place in the episode
	Outcome episodic.Outcome

	near  [][]uint8               // of each call, the calls close to it, rising
	above [][MaxCalls / 64]uint64 // of each call, as bits, the calls it comes after
}

// Of makes a task of an episode: without failed steps, whose predecessors hand on to what came after.
// number gives a tool its number, or [Apart].
func Of(e *episodic.Episode, session int32, number func(tool string) int32) Task {
	t := Task{ID: e.ID, Session: session, Outcome: e.Outcome}
	before := e.Before()
	stands := make([][]int32, len(e.Steps)) // for what comes right after a step: the call, or those before a failed one
	var right [][]int32                     // of each call, the calls right before it
	for _, i := range e.Order() {
		var calls []int32
		for _, b := range before[i] {
			calls = append(calls, stands[b]...)
		}
		slices.Sort(calls)
		calls = slices.Compact(calls)
		if e.Steps[i].Outcome == episodic.Failure {
			stands[i] = calls
			continue
		}
		if len(t.Tools) == MaxCalls {
			break
		}
		if tool := number(e.Steps[i].Tool); tool != Apart { // else it hands on nothing
			stands[i] = []int32{int32(len(t.Tools))}
			t.Tools, t.Steps, right = append(t.Tools, tool), append(t.Steps, int32(i)), append(right, calls)
		}
	}
	t.relate(right)
	return t
}

// mostNear bounds the calls close to one: those of large parallel groups are no neighbourhood.
const mostNear = 32

// relate computes above as the transitive closure of the calls right before each, a row of bits for each call: calls come
// after those they depend on, so one pass is enough. Near are the calls at most two links away, in either direction: one
// other may stand between.
func (t *Task) relate(right [][]int32) {
	t.near, t.above = make([][]uint8, len(right)), make([][MaxCalls / 64]uint64, len(right))
	join := func(i int, b int32) {
		if !slices.Contains(t.near[i], uint8(b)) && len(t.near[i]) < mostNear && len(t.near[b]) < mostNear {
			t.near[i], t.near[b] = append(t.near[i], uint8(b)), append(t.near[b], uint8(i))
		}
	}
	for i, before := range right {
		for _, b := range before {
			for w, bits := range t.above[b] {
				t.above[i][w] |= bits
			}
			t.above[i][b/64] |= 1 << (b % 64)
			join(i, b)
		}
		for _, b := range before {
			for _, farther := range right[b] {
				join(i, farther)
			}
		}
	}
	for i := range t.near {
		slices.Sort(t.near[i])
	}
}

// follows reports whether call b comes after call a.
func (t *Task) follows(a, b uint8) bool { return t.above[b][a/64]&(1<<(a%64)) != 0 }

// beside yields the calls close to any of some calls, each once.
func (t *Task) beside(calls []uint8) iter.Seq[uint8] {
	return func(yield func(uint8) bool) {
		for c, x := range calls {
			for _, y := range t.near[x] {
				met := func(earlier uint8) bool { _, ok := slices.BinarySearch(t.near[earlier], y); return ok }
				if !slices.Contains(calls, y) && !slices.ContainsFunc(calls[:c], met) && !yield(y) {
					return
				}
			}
		}
	}
}
