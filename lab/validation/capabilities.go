package main

import (
	"fmt"
	"math"
	"slices"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/evaluate"
	"waymark/suggest"
)

// offer is a capability in a situation.
type offer struct {
	suggest.Signals
	candidate
	jaccard, contained float64
	episodes           float64 // it was mined from, as a share of the most
	inCommunity        bool    // the last step is in the community of most of its tools
	communityShare     float64 // of the context
	right              bool    // the next steps are what it contains
}

// choice is a situation in which a mined capability is what came next.
type choice struct {
	episode   int
	active    bool
	begun     bool // some of its steps are done
	succeeded bool // the episode did
	offers    []offer
	tools     []float64 // the seed's scores of the tools
}

// shelf is what is known of mined capabilities whatever the situation.
type shelf struct {
	mined     []capability
	at        map[string]int   // by id
	community map[string]int32 // of the transition graph, by tool; tools in none are not there
	home      []int32          // by capability: the community of most of its tools, the smallest of several, -1 without any
}

func newShelf(m *suggest.Model, mined []capability) (*shelf, error) {
	e, err := m.Export("", 0)
	if err != nil {
		return nil, fmt.Errorf("read the communities: %w", err)
	}
	s := &shelf{mined: mined, at: map[string]int{}, community: map[string]int32{}}
	for _, n := range e.Nodes {
		if n.Community >= 0 {
			s.community[n.ID] = n.Community
		}
	}
	for i, c := range mined {
		s.at[c.ID] = i
		s.home = append(s.home, mostOften(c.Tools, s.community))
	}
	return s, nil
}

func mostOften(tools []string, community map[string]int32) int32 {
	count := map[int32]int{}
	best := int32(-1)
	for _, t := range tools {
		if c, ok := community[t]; ok {
			count[c]++
			if best < 0 || count[c] > count[best] || count[c] == count[best] && c < best {
				best = c
			}
		}
	}
	return best
}

// offer is a capability after so many known steps, of which these are the different ones.
func (s *shelf) offer(x *suggest.Signals, known int, steps []string, last string) offer {
	i := s.at[x.ID]
	o := offer{
		Signals: *x, candidate: newCandidate(x), episodes: float64(s.mined[i].episodes) / float64(s.mined[0].episodes),
		jaccard: suggest.Jaccard(x.Done, known, x.Tools), contained: suggest.Containment(x.Done, x.Tools),
	}
	at := func(tool string) bool {
		c, ok := s.community[tool]
		return ok && c == s.home[i]
	}
	in := 0
	for _, t := range steps {
		if at(t) {
			in++
		}
	}
	o.inCommunity, o.communityShare = at(last), float64(in)/float64(len(steps))
	return o
}

// next are the capabilities with work left of which the next steps are, and whether one of them has begun.
func (s *shelf) next(p position, steps []string) (right map[string]bool, begun bool) {
	right = map[string]bool{}
	for _, c := range s.mined {
		done := covers(c.run, p.tools, p.at)
		if done >= 0 && slices.ContainsFunc(c.Tools, func(t string) bool { return !slices.Contains(steps, t) }) {
			right[c.ID] = true
			begun = begun || done > 0
		}
	}
	return right, begun
}

// choices lists the situations of held-out episodes whose next steps are those of a mined capability, from
// its start or from its middle, and that has work left; no more than most, spread evenly.
func choices(m *suggest.Model, mined []capability, held []*episodic.Episode, active bool, most int) ([]choice, error) {
	s, err := newShelf(m, mined)
	if err != nil {
		return nil, err
	}
	takes := func(e *episodic.Episode) bool { return !active || asked(e) }
	all := positions(held, takes, math.MaxInt32)
	all = slices.DeleteFunc(all, func(p position) bool {
		right, _ := s.next(p, p.tools[:p.at])
		return len(right) == 0
	})
	var chosen []choice
	for i, p := range all {
		if !sampled(i, len(all), most) {
			continue
		}
		intent := ""
		if active {
			intent = held[p.episode].Intent
		}
		c, err := s.choice(m, p, intent)
		if err != nil {
			return nil, fmt.Errorf("episode %q, position %d: %w", held[p.episode].ID, p.at, err)
		}
		c.succeeded = held[p.episode].Outcome == episodic.Success
		chosen = append(chosen, c)
	}
	return chosen, nil
}

func (s *shelf) choice(m *suggest.Model, p position, intent string) (choice, error) {
	context := p.tools[:p.at]
	known, err := m.Situation(context[max(0, len(context)-suggest.MaxContext):], intent)
	if err != nil {
		return choice{}, err
	}
	c := choice{episode: p.episode, active: intent != ""}
	here := situation{after: known.Context > 0, active: c.active, density: m.Info().Density}
	steps := distinct(context)
	right, begun := s.next(p, steps)
	c.begun = begun
	for i := range known.Candidates {
		switch x := &known.Candidates[i]; {
		case x.Kind != catalog.KindCapability:
			if k := newCandidate(x); !k.excluded {
				c.tools = append(c.tools, seed.score(&k, &here))
			}
		case x.Done < x.Tools:
			o := s.offer(x, known.Context, steps, context[len(context)-1])
			o.right = right[x.ID]
			c.offers = append(c.offers, o)
		}
	}
	return c, nil
}

// covers is how many steps of a run stand right before position at, where the others come right after,
// at least one; the fewest where there are several ways, -1 where there is none.
func covers(run, tools []string, at int) int {
	for done := range run {
		if done <= at && startsWith(tools[at-done:], run) {
			return done
		}
	}
	return -1
}

// formula scores a capability.
type formula struct {
	name  string
	score func(o *offer, active bool) float64
	edges bool // asks a history that ran the capabilities, so that transitions lead through them
}

// mixing is MixedScore with other parts.
type mixing struct {
	relevance   func(o *offer, active bool) float64
	boost       func(o *offer) float64
	reliability func(rate float64, known int) float64
}

// seedMixing is the engine's.
var seedMixing = mixing{
	relevance: func(o *offer, active bool) float64 {
		if active {
			return o.Semantic
		}
		return o.jaccard
	},
	boost:       func(o *offer) float64 { return suggest.StructuralBoost(o.Cluster, o.Share) },
	reliability: suggest.Reliability,
}

func (m mixing) score(o *offer, active bool) float64 {
	return suggest.Comparable(suggest.MixedScore(m.relevance(o, active), m.boost(o), m.reliability(o.Own.SuccessRate(), o.Own.N)))
}

func mixed(name string, change func(m *mixing)) formula {
	m := seedMixing
	change(&m)
	return formula{name: name, score: m.score}
}

// additive is CapabilityScore with these weights.
func additive(name string, overlap, success, rank, semantic float64) formula {
	return formula{name: name, score: func(o *offer, _ bool) float64 {
		return float64(overlap*o.contained) + float64(success*o.Own.SuccessRate()) + float64(rank*o.HyperRank) + float64(semantic*o.Semantic)
	}}
}

// boosted is the structural boost with other numbers: base + slope·share for the last step's group, outside·share else.
func boosted(base, slope, outside float64) func(o *offer) float64 {
	return func(o *offer) float64 {
		if o.Cluster {
			return base + float64(slope*o.Share)
		}
		return float64(outside * o.Share)
	}
}

// trusting is the factor for a track record with other bounds.
func trusting(low, penalty, high, bonus float64) func(rate float64, known int) float64 {
	return func(rate float64, known int) float64 {
		switch {
		case known < episodic.MinKnown:
			return 1
		case rate < low:
			return penalty
		case rate > high:
			return bonus
		}
		return 1
	}
}

// Names of formulas that the answers speak of.
const (
	placeholder  = "CapabilityScore .40/.35/.15/.10"
	throughEdges = "ToolScore, edges through the capability"
	boostTwice   = "twice: 1 + 1·share, .5·share"
	bestOfBoth   = "the better of ToolScore and MixedScore, edges"
)

// capabilityFormulas are what is compared; the first of each group is the seed's.
func capabilityFormulas() (kinds, boosts, reliabilities []formula) {
	mixedScore := mixed("MixedScore, the seed's", func(*mixing) {})
	relevance := func(name string, of func(o *offer, active bool) float64) formula {
		return mixed(name, func(m *mixing) { m.relevance = of })
	}
	boost := func(name string, of func(o *offer) float64) formula {
		return mixed(name, func(m *mixing) { m.boost = of })
	}
	reliability := func(name string, of func(rate float64, known int) float64) formula {
		return mixed(name, func(m *mixing) { m.reliability = of })
	}
	kinds = []formula{
		mixedScore,
		additive(placeholder, .40, .35, .15, .10),
		additive("CapabilityScore without overlap", 0, .35, .15, .10),
		additive("CapabilityScore without success rate", .40, 0, .15, .10),
		additive("CapabilityScore without PageRank", .40, .35, 0, .10),
		additive("CapabilityScore without text", .40, .35, .15, 0),
		relevance("MixedScore, relevance = containment", func(o *offer, _ bool) float64 { return o.contained }),
		relevance("MixedScore, relevance = Jaccard", func(o *offer, _ bool) float64 { return o.jaccard }),
		relevance("MixedScore, relevance = text or Jaccard", func(o *offer, _ bool) float64 { return 1 - float64((1-o.jaccard)*(1-o.Semantic)) }),
		{name: throughEdges, edges: true, score: func(o *offer, _ bool) float64 { return seed.tool(&o.candidate) }},
		{name: bestOfBoth, edges: true, score: func(o *offer, active bool) float64 {
			return max(seed.tool(&o.candidate), seedMixing.score(o, active))
		}},
		{name: "how many plans it was found in", score: func(o *offer, _ bool) float64 { return o.episodes }},
	}
	boosts = []formula{
		mixedScore,
		boost("no boost", func(*offer) float64 { return 0 }),
		boost("half: .25 + .25·share, .125·share", boosted(.25, .25, .125)),
		boost(boostTwice, boosted(1, 1, .5)),
		boost("last step only: .5", boosted(.5, 0, 0)),
		boost("share only: .5·share, .5·share", boosted(0, .5, .5)),
		boost("communities in place of clusters", func(o *offer) float64 { return suggest.StructuralBoost(o.inCommunity, o.communityShare) }),
	}
	reliabilities = []formula{
		mixedScore,
		reliability("no factor", func(float64, int) float64 { return 1 }),
		reliability("below .5: 1, above .9: 1.2", trusting(.5, 1, .9, 1.2)),
		reliability("below .5: .1, above .9: 1", trusting(.5, .1, .9, 1)),
		reliability("below .5: .5, above .9: 1.2", trusting(.5, .5, .9, 1.2)),
		reliability("below .3: .1, above .9: 1.2", trusting(.3, .1, .9, 1.2)),
		reliability("below .5: .1, above .8: 1.2", trusting(.5, .1, .8, 1.2)),
		reliability("the rate itself", func(rate float64, known int) float64 {
			if known < episodic.MinKnown {
				return 1
			}
			return rate
		}),
	}
	return kinds, boosts, reliabilities
}

// Metrics of capabilities.
const (
	amongCapabilities = "MRR"
	besideTools       = "MRR beside tools"
)

// rankOf is the place of the best right offer among capabilities, and among them and the tools; 0 where
// none has a score.
func (c *choice) rankOf(f formula) (among, beside int) {
	scores := make([]float64, len(c.offers))
	best := -1
	for i := range c.offers {
		scores[i] = f.score(&c.offers[i], c.active)
		if c.offers[i].right && scores[i] > 0 && (best < 0 || scores[i] > scores[best]) {
			best = i
		}
	}
	if best < 0 {
		return 0, 0
	}
	among = 1
	for i, x := range scores {
		if x > scores[best] || x == scores[best] && i < best {
			among++
		}
	}
	beside = among
	for _, x := range c.tools {
		if x > scores[best] {
			beside++
		}
	}
	return among, beside
}

// measureChoices is what a formula is worth.
func measureChoices(all []choice, episodes int, f formula) measured {
	m := measured{}
	for _, name := range []string{amongCapabilities, besideTools} {
		m[name] = evaluate.Sample{Sum: make([]float64, episodes), Count: make([]float64, episodes)}
	}
	for i := range all {
		c := &all[i]
		among, beside := c.rankOf(f)
		m[amongCapabilities].Sum[c.episode] += reciprocal(among)
		m[besideTools].Sum[c.episode] += reciprocal(beside)
		m[amongCapabilities].Count[c.episode]++
		m[besideTools].Count[c.episode]++
	}
	return m
}
