package evidence

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGate(t *testing.T) {
	quiet := Progress{Round: 2, NewDocuments: 1, QualityGain: .01, Share: .4, Lead: .6}
	with := func(change func(*Progress)) Progress {
		p := quiet
		change(&p)
		return p
	}
	for _, tt := range []struct {
		name string
		p    Progress
		want Gate
	}{
		{"quiet and decided", quiet, Stop},
		{"the first round never stops", with(func(p *Progress) { p.Round = 1 }), Continue},
		{"two new documents are not few", with(func(p *Progress) { p.NewDocuments = 2 }), Continue},
		{"a gain of .03 is not little", with(func(p *Progress) { p.QualityGain = .03 }), Continue},
		{"share .497 is undecided", with(func(p *Progress) { p.Share = .497 }), Forced},
		{"lead .55 is enough", with(func(p *Progress) { p.Lead = .55 }), Stop},
		{"lead below .55", with(func(p *Progress) { p.Lead = .5499 }), Forced},
		{"second forced round", with(func(p *Progress) { p.Share, p.Forced = .9, 1 }), Forced},
		{"no third one", with(func(p *Progress) { p.Share, p.Forced = .9, 2 }), Exhausted},
		{"decided after forced rounds", with(func(p *Progress) { p.Forced = 2 }), Stop},
		{"new evidence goes on whatever the entropy", with(func(p *Progress) { p.NewDocuments, p.Share, p.Lead = 9, .01, .99 }), Continue},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, Defaults().Gate(tt.p)) })
	}
}

// A session without anything new: two rounds are forced, then it is over, however long the host goes on.
func TestForcedRoundsAreBounded(t *testing.T) {
	s, err := New(Request{Question: "Why?", Hypotheses: []Hypothesis{{ID: "a", Text: "rain"}, {ID: "b", Text: "wind"}}})
	assert.NoError(t, err)
	var gates []Gate
	for range 6 {
		r, err := s.Add(Round{})
		assert.NoError(t, err)
		gates = append(gates, r.Gate)
		switch r.Gate {
		case Forced:
			assert.Equal(t, DiscriminateTop2, r.NextQueries[0].Intent, "a forced round begins with what discriminates")
		case Exhausted:
			assert.Empty(t, r.NextQueries)
		}
	}
	assert.Equal(t, []Gate{Continue, Forced, Forced, Exhausted, Exhausted, Exhausted}, gates)
}
