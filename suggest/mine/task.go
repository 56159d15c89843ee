package mine

import (
	"slices"

	"waymark/episodic"
)

// Apart is the number of a tool whose calls no pattern contains, and through which none goes.
const Apart int32 = -1

// MaxCalls is how many calls of a task are looked at, the first ones.
const MaxCalls = 256

// Task is one task as a DAG of calls in topological order.
type Task struct {
	Session int32     // tasks of one session are one witness
	Tools   []int32   // of each call
	Before  [][]int32 // of each call, the earlier calls right before it, rising
	Steps   []int32   // of each call, its place in the episode
}

// Of makes a task of an episode: without failed steps, whose predecessors hand on to what came after.
// number gives a tool its number, or
// [Apart].
func Of(e *episodic.Episode, session int32, number func(tool string) int32) Task {
	t := Task{Session: session}
	before := e.Before()
	place := make([]int32, len(e.Steps)) // among the calls; -1: left out
	handed := make([][]int32, len(e.Steps))
	for _, i := range e.Order() {
		var calls []int32
		for _, b := range before[i] {
			if place[b] >= 0 {
				calls = append(calls, place[b])
			} else {
				calls = append(calls, handed[b]...)
			}
		}
		slices.Sort(calls)
		calls = slices.Compact(calls)
		place[i] = -1
		if e.Steps[i].Outcome == episodic.Failure {
			handed[i] = calls
			continue
		}
		if len(t.Tools) == MaxCalls {
			break
		}
		tool := number(e.Steps[i].Tool)
		if tool == Apart {
			continue // hands on nothing
		}
		place[i] = int32(len(t.Tools))
		t.Tools, t.Before, t.Steps = append(t.Tools, tool), append(t.Before, calls), append(t.Steps, int32(i))
	}
	return t
}

// prepared is a task with what mining asks of it.
type prepared struct {
	*Task
	near  [][]uint8 // of each call, the calls close to it, rising
	above []uint64  // of each call, as words bits, the calls it comes after
	words int
}

// gap is how many other calls may stand between two that are close.
const gap = 1

// mostNear bounds the calls close to one: those of large parallel groups are no neighbourhood.
const mostNear = 32

// prepare computes above as the transitive closure of Before, a row of bits for each call: calls come after
// those they depend on, so one pass is enough. near holds the calls at most gap+1 links away, in either
// direction.
func prepare(t *Task) prepared {
	n := len(t.Tools)
	p := prepared{Task: t, near: make([][]uint8, n), words: (n + 63) / 64}
	p.above = make([]uint64, n*p.words)
	var frontier, next []int32
	for i := range n {
		row := p.row(i)
		for _, b := range t.Before[i] {
			for w, bits := range p.row(int(b)) {
				row[w] |= bits
			}
			row[b/64] |= 1 << (b % 64)
		}
		frontier = append(frontier[:0], t.Before[i]...)
		for range gap + 1 {
			next = next[:0]
			for _, b := range frontier {
				if slices.Contains(p.near[i], uint8(b)) {
					continue
				}
				if len(p.near[i]) < mostNear && len(p.near[b]) < mostNear {
					p.near[i], p.near[b] = append(p.near[i], uint8(b)), append(p.near[b], uint8(i))
				}
				next = append(next, t.Before[b]...)
			}
			frontier, next = next, frontier
		}
	}
	for i := range p.near {
		slices.Sort(p.near[i])
	}
	return p
}

func (p *prepared) row(i int) []uint64 { return p.above[i*p.words : (i+1)*p.words] }

// follows reports whether call b comes after call a.
func (p *prepared) follows(a, b uint8) bool {
	return p.above[int(b)*p.words+int(a)/64]&(1<<(a%64)) != 0
}
