package history

import (
	"cmp"
	"slices"
	"strings"

	"waymark/episodic"
	"waymark/internal/codec"
)

// One dishonest credential must not bend what others are told. Evidence of a source with a key counts as follows, once
// the workspace has [severalSources] sources:
//
//   - of its observations of one transition a → b, at most max([fewObservations], [othersFactor] times those of all
//     other sources so far) are counted; an episode with more teaches nothing else, neither requests nor weights;
//   - of its observations of a transition that no other source reports, one counts, and up to [fewObservations] where
//     the source has reported [confirmedPerCount] times as many that others report as well; further episodes with such
//     a transition are left out of the fit of profile learned;
//   - a tool that is in no catalog and that only this source has used is not suggested.
//
// Sources without a key are the operator's own and are not limited; [Treatments] says which others are not either. What is
// counted depends on the order of the log alone, so that a replay counts the same.
const (
	severalSources  = 3
	fewObservations = 5
	othersFactor    = 2

	confirmedPerCount = 50
)

// Treatment is how the operator wants the evidence of a source with a key to count.
type Treatment string

// The treatments. A source without one is limited as described above.
const (
	Trusted Treatment = "trust" // as the operator's own
	Split   Treatment = "split" // each label of its episodes as a source of its own: a collector has many reporters
)

// Treatments are those of sources that have one.
type Treatments map[string]Treatment

// Name is the source for which an episode counts that a source reports under a label.
func (t Treatments) Name(source, label string) string {
	switch {
	case t[source] == Trusted:
		return strings.ReplaceAll(source, credential, "trusted:")
	case t[source] == Split && label != "":
		return source + "/" + label
	}
	return source
}

// Treat sets how sources count. It is called before anything else is.
func (s *State) Treat(t Treatments) { s.sources.treatments = t }

// sourceOf numbers the source for which an episode counts.
func (s *State) sourceOf(e *episodic.Episode) int32 {
	return s.sourceID(s.sources.treatments.Name(e.Source, e.Label))
}

// HasSource reports whether a source has reported something that counts under its own name.
func (s *State) HasSource(name string) bool {
	_, ok := s.sources.source[name]
	return ok
}

// HasKey reports whether a source came with a key, be it directly or through a collector.
func HasKey(source string) bool { return strings.Contains(source, credential) }

// aloneLimit is how many observations count of a transition that one key alone reports, by the number of its
// observations that other sources confirm.
func aloneLimit(confirmed int32) uint8 {
	return uint8(min(fewObservations, max(1, confirmed/confirmedPerCount)))
}

// claim is a transition as one source with a key reports it.
type claim struct{ source, from, to int32 }

// claims are the observations counted of sources with a key.
type claims map[claim]uint32

// trusted reports whether a source is the operator's own.
func (s *State) trusted(source int32) bool {
	return !HasKey(s.sources.names[source])
}

// admit reports whether one more observation of a transition is counted, of which all sources have count so far.
func (s *State) admit(source, from, to int32, count uint64) bool {
	if s.trusted(source) {
		return true
	}
	c := claim{source, from, to}
	own := uint64(s.claims[c])
	if len(s.sources.names) >= severalSources && own >= max(fewObservations, othersFactor*(count-min(own, count))) {
		return false
	}
	s.claims[c]++
	return true
}

// reporter is what a transition notes of a source: 0 for the operator's own.
func (s *State) reporter(source int32) int32 {
	if s.trusted(source) {
		return 0
	}
	return source + 1
}

// reportedBy notes who reports a transition, before it is counted; only is as in transition.
func (t *transition) reportedBy(only int32) {
	if t.count == 0 {
		t.only = only
	} else if t.only != only {
		t.only = 0
	}
}

// counted is what counts of a transition, with or without several sources.
func (t transition) counted(several bool) transition {
	if alone := uint64(t.alone); several && t.only != 0 && t.count > alone {
		t.halves, t.count = max(alone, t.halves*alone/t.count), alone
	}
	return t
}

// pair is a transition between two nodes.
type pair struct{ from, to int32 }

// Repeated marks the past episodes from first on in which a key repeats a transition that no other source reports:
// all but those that count by [aloneLimit]. It returns nil where there are fewer than severalSources.
func (c *Counts) Repeated(first int) []bool {
	if len(c.Sources) < severalSources {
		return nil
	}
	only, marked := map[pair]int32{}, make([]bool, c.Past.N-first)
	for i := range marked {
		p := c.Past.Episode(first + i)
		reporter := int32(0)
		if HasKey(c.Sources[p.Source]) {
			reporter = p.Source + 1
		}
		for _, t := range c.pairs(p) {
			if before, ok := only[t]; ok && before != reporter {
				only[t] = 0
			} else {
				only[t] = reporter
			}
		}
	}
	seen, confirmed := map[pair]uint8{}, make([]int32, len(c.Sources))
	for i := range marked {
		p := c.Past.Episode(first + i)
		pairs, limit := c.pairs(p), aloneLimit(confirmed[p.Source])
		marked[i] = slices.ContainsFunc(pairs, func(t pair) bool { return only[t] != 0 && seen[t] >= limit })
		for _, t := range pairs {
			if only[t] == 0 {
				confirmed[p.Source]++
			} else if !marked[i] {
				seen[t] = min(seen[t], fewObservations) + 1
			}
		}
	}
	return marked
}

// pairs are the transitions of an episode.
func (c *Counts) pairs(p *Episode) (out []pair) {
	for x, parents := range p.Parents() {
		for _, y := range parents {
			out = append(out, pair{c.Canonical[p.Nodes[y]], c.Canonical[p.Nodes[x]]})
		}
	}
	return out
}

// usedBy notes who uses a node, before the use is counted.
func (s *State) usedBy(node, source int32) {
	u := &s.uses[node]
	switch {
	case s.trusted(source):
		u.only = 0
	case u.Steps == 0:
		u.only = source + 1
	case u.only != source+1:
		u.only = 0
	}
}

// Unconfirmed reports whether a node is in no catalog and was used by one source with a key alone.
func (c *Counts) Unconfirmed(n int32) bool {
	if len(c.Sources) < severalSources || c.Usage.At(n).only == 0 {
		return false
	}
	_, known := c.Catalog.ToolIndex[c.IDs[n]]
	return !known
}

// write sorts the claims, so that equal states are equal bytes.
func (c claims) write(w *codec.Writer) {
	sorted := make([]claim, 0, len(c))
	for k := range c {
		sorted = append(sorted, k)
	}
	slices.SortFunc(sorted, func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	w.Uint(uint64(len(sorted)))
	for _, k := range sorted {
		w.Uint(uint64(k.source))
		w.Uint(uint64(k.from))
		w.Uint(uint64(k.to))
		w.Uint(uint64(c[k]))
	}
}

// readClaims reads what write wrote, of so many sources and nodes. What is damaged fails r.
func readClaims(r *codec.Reader, sources, nodes int) claims {
	c := claims{}
	for range r.Len(4) {
		source, from, to, count := r.Uint(), r.Uint(), r.Uint(), r.Uint()
		if source >= uint64(sources) || from >= uint64(nodes) || to >= uint64(nodes) {
			r.Fail("source %d of %d reports a transition from %d to %d of %d nodes", source, sources, from, to, nodes)
			break
		}
		c[claim{int32(source), int32(from), int32(to)}] = uint32(count)
	}
	return c
}
