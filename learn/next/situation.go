package next

import (
	"cmp"
	"math"
	"slices"

	"waymark/learn/choice"
	"waymark/learn/sequence"
)

// Kinds of features of the residual model, apart from the kinds of contexts.
const (
	kindWord = 200 + iota
	kindLast
	kindLastTwo
	kindSecond
	kindThird
	kindLastThree
	kindFirst
	kindPlace
	kindAlways
	kindLastPlace
	kindSource
	kindWidth
	kindBranch
	kindBranchLast
	kindDone
	kindDoneLast
	kindUses
	kindAge
)

// situation appends the features of a prefix for the residual model.
func situation(p *sequence.Prefix, f []choice.Feature) []choice.Feature {
	put := func(value float32, kind int, x ...int32) {
		f = append(f, choice.Feature{Key: sequence.Key(kind, x...), Value: value})
	}
	n, last := len(p.Tools), p.Last()
	put(1, kindLast, last)
	put(1, kindLastTwo, last, p.Back(2))
	put(.7, kindSecond, p.Back(2))
	put(.5, kindThird, p.Back(3))
	put(1, kindLastThree, last, p.Back(2), p.Back(3))
	put(.5, kindFirst, p.Tools[0])
	put(.5, kindPlace, sequence.Place(n))
	put(1, kindAlways)
	put(.5, kindLastPlace, last, sequence.Place(n))
	put(1, kindSource, p.Tool(p.Source(int32(n)-1)), last)
	put(.5, kindWidth, int32(min(len(p.Leaves), 6)))
	for i := len(p.Leaves) - 1; i >= max(0, len(p.Leaves)-6); i-- {
		t := p.Tools[p.Leaves[i]]
		put(.6, kindBranch, t)
		put(.6, kindBranchLast, t, last)
	}
	done := p.Distinct[:min(len(p.Distinct), 14)]
	x := float32(1 / math.Sqrt(float64(len(done))))
	for _, t := range done {
		put(x, kindDone, t)
		put(x, kindDoneLast, t, last)
	}
	return f
}

// own appends the features of a tool in a prefix: how often it was used, and how long ago.
func own(p *sequence.Prefix, tool int32, f []choice.Feature) []choice.Feature {
	uses, age := p.Used(tool)
	if age < 0 || age > 5 {
		age = 5
	}
	return append(f, choice.Feature{Key: sequence.Key(kindUses, min(uses, 3)), Value: 1},
		choice.Feature{Key: sequence.Key(kindAge, age), Value: 1})
}

// likely are the tools the chain holds most likely, the likeliest first.
func (h *History) likely(b *sequence.Blend, out []sequence.Vote) []sequence.Vote {
	out = out[:0]
	for _, t := range b.Tools {
		out = sequence.Keep(out, sequence.Vote{Tool: t, Share: b.P(t)}, wide, likelier)
	}
	for _, t := range h.chain.ByUse() {
		x := sequence.Vote{Tool: t, Share: float64(b.Ratio * h.chain.Popularity(t))}
		if len(out) == wide && likelier(x, out[wide-1]) > 0 {
			break // all that follow are less likely
		}
		if !b.Followed(t) { // those with a row are in already
			out = sequence.Keep(out, x, wide, likelier)
		}
	}
	return out
}

func likelier(a, b sequence.Vote) int {
	return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Tool, b.Tool))
}

// trainResidual updates the residual model with a task before the task is counted.
func (h *History) trainResidual(task *Task) {
	s := h.study
	words := h.wordFeatures(task.Request, nil)
	for i := 1; i < len(task.Tools); i++ {
		s.prefix.Set(task.Tools, task.Parents, i)
		h.chain.Blend(task.Tools[:i], &s.blend)
		s.buffer.likely = h.likely(&s.blend, s.buffer.likely)
		taken := slices.IndexFunc(s.buffer.likely, func(v sequence.Vote) bool { return v.Tool == task.Tools[i] })
		if taken < 0 {
			continue
		}
		s.buffer.features = append(situation(&s.prefix, s.buffer.features[:0]), words...)
		s.buffer.candidates, s.buffer.own = s.buffer.candidates[:0], s.buffer.own[:0]
		for _, v := range s.buffer.likely {
			s.buffer.own = own(&s.prefix, v.Tool, s.buffer.own)
			s.buffer.candidates = append(s.buffer.candidates, choice.Candidate{Tool: v.Tool, Offset: float64(.9 * ln(v.Share))})
		}
		for k := range s.buffer.candidates {
			s.buffer.candidates[k].Own = s.buffer.own[2*k : 2*k+2]
		}
		h.requests.residual.Learn(s.buffer.features, s.buffer.candidates, taken)
	}
}
