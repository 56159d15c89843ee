package mine

import (
	"iter"
	"slices"

	"waymark/episodic"
)

// Apart is the number of a tool whose calls are in no pattern; no order passes through them.
const Apart int32 = -1

// MaxCalls is the number of calls of a task that are considered, the first ones.
const MaxCalls = 256

// Task is one task as a DAG of calls in topological order.
type Task struct {
	ID      string  // of the episode
	Session int32   // tasks of one session count as one witness
	Tools   []int32 // of each call
	Steps   []int32 // of each call, its index in the episode
	Outcome episodic.Outcome

	near  [][]uint8               // of each call, the calls close to it, ascending
	above [][MaxCalls / 64]uint64 // of each call, as bits, the calls it comes after
}

// Of converts an episode to a task. It drops failed steps and links their predecessors to their successors.
// number returns the number of a tool, or [Apart].
func Of(e *episodic.Episode, session int32, number func(tool string) int32) Task {
	t := Task{ID: e.ID, Session: session, Outcome: e.Outcome}
	before := e.Before()
	stands := make([][]int32, len(e.Steps)) // linked to a step's successors: its call, or its predecessors if it failed
	var right [][]int32                     // of each call, its direct predecessors
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
		if tool := number(e.Steps[i].Tool); tool != Apart { // else it links to nothing
			stands[i] = []int32{int32(len(t.Tools))}
			t.Tools, t.Steps, right = append(t.Tools, tool), append(t.Steps, int32(i)), append(right, calls)
		}
	}
	t.relate(right)
	return t
}

// mostNear is the limit of calls close to one call: the calls of large parallel groups do not all count as close.
const mostNear = 32

// relate computes above as the transitive closure of right, the direct predecessors, with a row of bits for each call.
// Predecessors have smaller numbers, so one pass is enough. near holds the calls at most two links away, in either
// direction, so that at most one other call is between.
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

// beside yields the calls close to any of the given calls, each once, without the given ones.
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
