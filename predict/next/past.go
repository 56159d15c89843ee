package next

import (
	"cmp"
	"slices"

	"waymark/predict/sequence"
)

// minKnown is how many outcomes of a tool after another speak for themselves; with less, those of the
// tool after whatever tool do.
const minKnown = 5

// nothing stands for whatever tool came before.
const nothing int32 = -1

// A pair is a tool and the one before it.
type pair struct{ tool, before int32 }

// A tally counts outcomes.
type tally struct{ well, badly int32 }

// tell counts how the steps of a task went.
func (h *History) tell(task *Task) {
	for i, o := range task.Worked {
		if o == Unknown {
			continue
		}
		before := []int32{nothing}
		for _, j := range task.Parents[i] {
			if t := task.Tools[j]; !slices.Contains(before, t) {
				before = append(before, t)
			}
		}
		for _, b := range before {
			n := h.outcomes[pair{task.Tools[i], b}]
			if o == Success {
				n.well++
			} else {
				n.badly++
			}
			h.outcomes[pair{task.Tools[i], b}] = n
		}
	}
}

// worked hears how tools went after the last one. It brings in no tool.
func (h *History) worked(p *sequence.Prefix, s *Signs) {
	if len(h.outcomes) == 0 {
		return
	}
	s.Evidence[Worked] = level(int(h.skip[0][p.Last()].Total))
	for i, t := range s.Tools {
		n := h.outcomes[pair{t, p.Last()}]
		if n.well+n.badly < minKnown {
			n = h.outcomes[pair{t, nothing}]
		}
		s.Values[i][Worked] = float32(float64(n.well-n.badly) / float64(n.well+n.badly+2))
	}
}

// date notes that a tool follows another in the task under way, which the followers count already.
func (h *History) date(last, tool int32) {
	at, _ := slices.BinarySearchFunc(h.skip[0][last].Counts, tool, func(c sequence.Count, t int32) int { return cmp.Compare(c.Tool, t) })
	if dates := h.latest[last]; len(dates) < len(h.skip[0][last].Counts) {
		h.latest[last] = slices.Insert(dates, at, int32(len(h.tasks)))
	} else {
		dates[at] = int32(len(h.tasks))
	}
}

// lately hears in which task a tool last followed the last one: 1 in the newest, 0 in the oldest, by the
// logarithm of the tasks since.
func (h *History) lately(p *sequence.Prefix, s *Signs) {
	row := &h.skip[0][p.Last()]
	s.Evidence[Lately] = level(int(row.Total))
	all := ln(float64(len(h.tasks) + 1))
	for i, c := range row.Counts {
		age := len(h.tasks) - int(h.latest[p.Last()][i])
		s.set(Lately, c.Tool, 1-ln(float64(age))/all)
	}
}
