package plan

import (
	"slices"

	"waymark/learn/logit"
)

// A Study is a model with what it was fitted on, kept to fit it anew without a signal.
type Study struct {
	Model *Model
	fit   *fit
}

// signal is an input of the planner: the features by which it enters the score of a tool, the
// correction of that by the others, the choice of a set, and the links.
type signal struct {
	name                  string
	base, next, set, link []string
}

// Together the signals have every feature but those that hand on what an earlier stage found.
var signals = []signal{
	{name: "request_words", base: []string{"ridge", "ridge odds", "ridge/best", "ridge x evidence", "content", "content odds", "content/best"}, set: []string{"cover"}},
	{name: "nearest_requests", base: []string{"vote", "vote odds", "nearest", "near x vote", "server vote", "content vote", "content vote odds", "near"}, set: []string{"vote", "nearest"},
		link: []string{"vote", "voted", "near link"}},
	{name: "popularity", base: []string{"prior", "seen", "evidence"}},
	{name: "recency", base: []string{"recent"}},
	{name: "text", base: []string{"text", "text/best", "text rank", "cold text", "cold text/best", "cold rank"}},
	{name: "text_words", base: []string{"words", "cold words", "host x words"}},
	{name: "text_cosine", base: []string{"cosine", "cosine/best", "cold cosine/best"}},
	{name: "related_words", base: []string{"meaning", "meaning/best", "clause meaning/best"}},
	{name: "clauses", base: []string{"clause", "cold clause", "clause meaning/best"}, link: []string{"clause", "same clause"}},
	{name: "name", base: []string{"name", "fullname", "cold name"}},
	{name: "server", base: []string{"server", "server/best", "cold server", "server prior", "host", "cold host", "host x words", "server vote",
		"server words", "server words/best", "server words odds", "server vote odds", "text among known", "words among known", "cosine among known",
		"text among mates", "words among mates", "cosine among mates", "likely mate", "cold likely mate"},
		next: []string{"mates", "mates most"}, link: []string{"mates"}},
	{name: "outcomes", base: outcomeNames},
	{name: "alike_tools", base: []string{"kin", "cold kin"}},
	{name: "targets", base: []string{"sink", "sink/best"},
		next: []string{"target", "needed by target", "target mass", "target depth", "usual with target"}},
	{name: "dependencies", next: []string{"needed", "needs", "needed by target", "target mass", "target depth"}, link: []string{"need", "need deep"}},
	{name: "used_together", next: []string{"beside", "beside most", "usual with target"}, set: []string{"beside", "least beside"}, link: []string{"both", "known"}},
	{name: "past_sets", set: []string{"known", "times", "vote", "nearest"}},
	{name: "size", base: []string{"size"}, next: []string{"rank-size"}, set: []string{"size", "size-expected"}, link: []string{"size"}},
	{name: "past_links", link: []string{"rate odds", "rate/best into", "rate/best out", "out", "in", "linked", "vote", "near link"}},
	{name: "precedence", link: []string{"order odds", "between"}},
	{name: "place_in_request", link: []string{"place", "place sign"}},
}

// Variant is the planner fitted anew without a signal; with all of them, for comparison, where Without
// is empty.
type Variant struct {
	Without string
	model   *Model
}

// studied is how many requests, the newest, all variants are fitted to: what a signal is worth shows with
// fewer than it takes to weigh it well.
const studied = 800

// Ablate fits the planner anew to the newest requests: with all signals, and without each in turn. It
// returns nil soon after stop is true; tell is told the share that is done. Calls must not overlap.
func (s *Study) Ablate(stop func() bool, tell func(done float64)) []Variant {
	if len(s.fit.sample) == 0 {
		return nil
	}
	s.fit.stop = stop
	sample := s.fit.sample[max(0, len(s.fit.sample)-studied):]
	all := s.anew(sample, s.Model, signal{}, true)
	variants := []Variant{{"", all}}
	for i, out := range signals {
		if s.fit.stopped.Load() || stop() {
			return nil
		}
		tell(float64(i+1) / float64(len(signals)+1))
		if out.name == "targets" && s.Model.kinds[known].target == nil || out.name == "dependencies" && s.Model.needs == nil {
			continue
		}
		variants = append(variants, Variant{out.name, s.anew(sample, all, out, false)})
	}
	if s.fit.stopped.Load() || stop() {
		return nil
	}
	tell(1)
	return variants
}

// anew fits what a signal has a part in, or all, from another model on, without the signal.
func (s *Study) anew(sample []*request, from *Model, out signal, all bool) *Model {
	m := *from
	f := &fit{Model: &m, stop: s.fit.stop, half: s.fit.half, regularisation: s.fit.regularisation}
	for k, of := range [][]*request{sample, s.fit.all[len(s.fit.sample):]} {
		for _, q := range of {
			if q.own < sample[0].own {
				continue
			}
			copied := *q
			copied.m = &m
			f.all = append(f.all, &copied)
		}
		if k == 0 {
			f.sample = f.all
		}
	}
	defer func() {
		if f.stopped.Load() {
			s.fit.stopped.Store(true)
		}
	}()
	base, next := columns(baseNames, out.base), columns(nextNames, out.next)
	for i := range next {
		next[i] += len(baseNames)
	}
	changed := all || len(base)+len(next) > 0
	if changed {
		if f.fitStages(from, base, next); f.stopped.Load() {
			return nil
		}
	}
	if changed || len(out.set) > 0 {
		if !changed {
			f.each(len(f.all), func(i int) { f.all[i].secondStage() })
		}
		lists, taken := f.sets()
		if f.stopped.Load() {
			return nil
		}
		f.fitChoosers(lists, taken, columns(setNames, out.set))
	}
	if all || len(out.link) > 0 {
		d := f.linkings()
		clearColumns(&d, columns(linkNames, out.link))
		m.linker = f.regressFrom(d, penalty, from.linker)
	}
	return &m
}

// columns are the places of some names among all.
func columns(all, some []string) []int {
	at := make([]int, len(some))
	for i, name := range some {
		at[i] = slices.Index(all, name)
	}
	return at
}

// clearColumns makes features say nothing: what never varies gets no slope.
func clearColumns(d *logit.Data, columns []int) {
	if len(columns) == 0 {
		return
	}
	d.Unshare()
	for i := range d.Y {
		for _, k := range columns {
			d.X[i*d.P+k] = 0
		}
	}
}

// Answer visits what each variant answers to a request, which is read once. It may be called from several
// goroutines at once.
func (s *Study) Answer(text string, variants []Variant, visit func(i int, a *Answer)) {
	q := s.Model.open(text, nil)
	for i, v := range variants {
		q.m = v.model
		q.run()
		visit(i, &Answer{q: q, Tools: q.ranked(deep), Steps: q.steps()})
	}
}
