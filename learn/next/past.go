package next

import (
	"cmp"
	"slices"

	"waymark/learn/sequence"
)

// minKnown is how many outcomes of a tool after another speak for themselves; with less, those of the
// tool after whatever tool do.
const minKnown = 5

// A tally counts outcomes of a tool.
type tally struct{ tool, well, badly int32 }

func (n *tally) add(o Outcome) {
	if o == success {
		n.well++
	} else {
		n.badly++
	}
}

// observeTimes counts the step outcomes of a task.
func (h *History) observeTimes(task *Task) {
	for i, o := range task.Worked {
		if o == unknown {
			continue
		}
		tool := task.Tools[i]
		if h.went == nil {
			h.went = make([]tally, h.chain.Tools())
			h.wentAfter = make([][]tally, h.chain.Tools())
		}
		h.went[tool].add(o)
		var before []int32
		for _, j := range task.Parents[i] {
			if t := task.Tools[j]; !slices.Contains(before, t) {
				before = append(before, t)
			}
		}
		for _, b := range before {
			row := h.wentAfter[b]
			at, found := slices.BinarySearchFunc(row, tool, func(n tally, t int32) int { return cmp.Compare(n.tool, t) })
			if !found {
				row = slices.Insert(row, at, tally{tool: tool})
				h.wentAfter[b] = row
			}
			row[at].add(o)
		}
	}
}

// worked computes the outcome signal. It adds no candidate.
func (h *History) worked(p *sequence.Prefix, s *FeatureValues) {
	if h.went == nil {
		return
	}
	s.Evidence[signalWorked] = level(int(h.after.skip[0][p.Last()].Total))
	for i, t := range s.Tools {
		s.put(i, signalWorked, h.went[t].balance())
	}
	for i := range h.wentAfter[p.Last()] {
		n := &h.wentAfter[p.Last()][i]
		if row := s.row[n.tool]; row > 0 && n.well+n.badly >= minKnown {
			s.put(int(row-1), signalWorked, n.balance())
		}
	}
}

// balance is what speaks for a tool, 1 if it always went well, -1 if always badly; few outcomes say less.
func (n *tally) balance() float32 {
	return float32(float64(n.well-n.badly) / float64(n.well+n.badly+2))
}

// date notes that a tool follows another in the task under way, which the followers count already.
func (h *History) date(last, tool int32) {
	at, _ := slices.BinarySearchFunc(h.after.skip[0][last].Counts, tool, func(c sequence.Count, t int32) int { return cmp.Compare(c.Tool, t) })
	if dates := h.after.latest[last]; len(dates) < len(h.after.skip[0][last].Counts) {
		h.after.latest[last] = slices.Insert(dates, at, int32(len(h.tasks)))
	} else {
		dates[at] = int32(len(h.tasks))
	}
}

// lately sets how recent the last task is in which each tool followed the last one: 1 - ln(age)/ln(tasks + 1), with
// age 1 for the newest task.
func (h *History) lately(p *sequence.Prefix, s *FeatureValues) {
	row := &h.after.skip[0][p.Last()]
	s.Evidence[signalLately] = level(int(row.Total))
	all := ln(float64(len(h.tasks) + 1))
	for i, c := range row.Counts {
		age := len(h.tasks) - int(h.after.latest[p.Last()][i])
		s.set(signalLately, c.Tool, 1-ln(float64(age))/all)
	}
}

// whole sets the share of each follower of the last tool in the whole history, older tasks included.
func (h *History) whole(p *sequence.Prefix, s *FeatureValues) {
	if h.catalog.Older == nil {
		return
	}
	older, newer := &h.catalog.Older[p.Last()], &h.after.skip[0][p.Last()]
	s.Evidence[signalWhole] = level(int(older.Total + newer.Total))
	for _, c := range older.Counts {
		s.add(c.Tool, float64(c.N))
	}
	for _, c := range newer.Counts {
		s.add(c.Tool, float64(c.N))
	}
	escape := float64(sequence.Discount*float64(len(s.buffer.met))) + sequence.Mass
	s.flush(signalWhole, func(tool int32, n float64) float64 {
		return ln(1 + (n-sequence.Discount)/float64(escape*h.chain.Popularity(tool)))
	})
}

// Led is how many dependent steps came after steps of a tool.
func (h *History) Led(tool int32) int32 { return h.after.first[tool].Total + h.after.more[tool].Total }

// LedTo is how many of them were of another one.
func (h *History) LedTo(tool, to int32) int32 {
	return h.after.first[tool].N(to) + h.after.more[tool].N(to)
}

// Truncated reports whether older tasks were left out.
func (h *History) Truncated() bool { return h.catalog.Older != nil }
