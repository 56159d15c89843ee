package history

import (
	"cmp"
	"slices"
	"strings"

	"waymark/episodic"
	"waymark/internal/numeric"
	"waymark/suggest/semantic"
)

// One dishonest credential must not distort the suggestions of others. Once the workspace has [several] sources, the
// evidence of a source with a key is limited as follows:
//
//   - For each transition a → b, at most max(1, [othersFactor] times the observations of all other sources so far) of
//     its observations count. Once max([fewObservations], that) of its episodes contain the transition, further
//     episodes with it contribute nothing else, neither requests nor weights. An episode that repeats the transition
//     counts once here.
//   - For a transition that no other source reports, [evidence.limit] is the number of observations that count; further
//     episodes with such a transition are excluded from the fit of profile learned. As soon as another source reports
//     the transition, at most [othersFactor] of these observations count.
//   - From the next build on, its requests are evidence for a tool only as defined by [Counts.Vouched].
//   - A tool that is not in the catalog and that only this source has used is not suggested, and episodes with it are
//     excluded from the fit of profile learned.
//
// Sources without a key are the operator's own and are not limited; [Treatments] defines further exceptions. The counts
// depend on the log alone, so that a replay produces the same counts.
const (
	severalSources  = 3
	fewObservations = 5
	othersFactor    = 2

	usualFactor    = 2  // multiple of the usual share of solely reported transitions, above which a share is unusual
	sharedPerCount = 40 // transitions reported by others as well, per observation that counts of each solely reported one
)

// several reports whether the evidence of keys is limited: there are a key and a source of the operator's own, or
// [severalSources] keys. With two keys alone there is no majority that shows what is usual.
func several(sources []string) bool {
	keys, own := 0, false
	for _, name := range sources {
		if HasKey(name) {
			keys++
		} else {
			own = true
		}
		if keys >= severalSources || own && keys > 0 {
			return true
		}
	}
	return false
}

// Treatment is the operator's setting for how the evidence of a source with a key counts.
type Treatment string

// The treatments. A source without one is limited as described above.
const (
	Trusted Treatment = "trust" // counts as the operator's own
	Split   Treatment = "split" // each label of its episodes counts as a separate source: a collector has many reporters
)

// Treatments maps the names of sources to their treatments.
type Treatments map[string]Treatment

// Name returns the source under which an episode counts that was reported by the given source with the given label.
func (t Treatments) Name(source, label string) string {
	switch {
	case t[source] == Trusted:
		return strings.ReplaceAll(source, credential, "trusted:")
	case t[source] == Split && label != "":
		return source + "/" + label
	}
	return source
}

// Treat sets the treatments of sources. It must be called before any other method.
func (s *State) Treat(t Treatments) { s.sources.treatments = t }

// sourceOf returns the number of the source under which an episode counts.
func (s *State) sourceOf(e *episodic.Episode) int32 {
	return s.sourceID(s.sources.treatments.Name(e.Source, e.Label))
}

// HasSource reports whether a source has reported something that counts under its own name.
func (s *State) HasSource(name string) bool {
	_, ok := s.sources.source[name]
	return ok
}

// HasKey reports whether a source presented a key, directly or through a collector.
func HasKey(source string) bool { return strings.Contains(source, credential) }

// evidence counts the distinct transitions of a source with a key: Shared ones are also reported by other sources,
// Alone ones only by this source.
type evidence struct{ Shared, Alone int32 }

// limit returns the number of observations that count of a transition that this source alone reports. others is the
// evidence of all other keys. The limit is 0 if the share of such transitions, by the lower end of its 95 % Wilson
// interval, exceeds [usualFactor] times the share of the others; else it is 1 for each [sharedPerCount] transitions
// that others report as well, at most [fewObservations].
func (e evidence) limit(others evidence) uint8 {
	usual := float64(others.Alone+1) / float64(others.Alone+others.Shared+2)
	if numeric.WilsonLower(float64(e.Alone), float64(e.Alone+e.Shared), numeric.Z95) > usualFactor*usual {
		return 0
	}
	return uint8(min(fewObservations, e.Shared/sharedPerCount))
}

// limits returns [evidence.limit] by source; nil if there are not several sources.
func (s *State) limits() []uint8 {
	if !several(s.sources.names) {
		return nil
	}
	var all evidence
	for _, e := range s.sources.evidence {
		all.Shared += e.Shared
		all.Alone += e.Alone
	}
	limits := make([]uint8, len(s.sources.names))
	for i, e := range s.sources.evidence {
		limits[i] = e.limit(evidence{all.Shared - e.Shared, all.Alone - e.Alone})
	}
	return limits
}

// pair is a transition between two nodes.
type pair struct{ from, to int32 }

// claim counts the observations within its limit, and the episodes, in which a source with a key reported a transition.
type claim struct {
	Source                 int32
	Observations, Episodes uint32
}

// trusted reports whether a source is the operator's own.
func (s *State) trusted(source int32) bool {
	return !HasKey(s.sources.names[source])
}

// admission is the decision about one observation of a transition.
type admission struct {
	within     bool // within the limit of its source; true for all sources before there are several
	counted    bool
	restCounts bool // the rest of the episode counts
}

// admit decides about one more observation of a transition. again is true if its episode had the transition before.
func (s *State) admit(source int32, t *transition, again bool) admission {
	if s.trusted(source) {
		s.report(t, source, false)
		return admission{true, true, true}
	}
	i, known := slices.BinarySearchFunc(t.By, source, func(c claim, source int32) int { return cmp.Compare(c.Source, source) })
	if t.By = slices.Clone(t.By); !known {
		t.By = slices.Insert(t.By, i, claim{Source: source})
	}
	c := &t.By[i]
	own, few := uint64(c.Observations), !several(s.sources.names)
	others := t.Within - min(own, t.Within)
	limit := max(fewObservations, othersFactor*others)
	a := admission{within: few || own < limit, restCounts: few || again || uint64(c.Episodes) < limit}
	if !again && a.restCounts {
		c.Episodes++
	}
	if a.within {
		c.Observations++
		s.report(t, source, own == 0)
		a.counted = few || t.Only != 0 || own < max(1, othersFactor*others)
	}
	return a
}

// report records the reporter of a transition before the transition is counted. first is true for the first report by
// this source.
func (s *State) report(t *transition, source int32, first bool) {
	trusted, e := s.trusted(source), s.sources.evidence
	switch {
	case t.Within == 0 && !trusted:
		t.Only = source + 1
		e[source].Alone++
	case t.Only != 0 && t.Only != source+1:
		e[t.Only-1].Alone--
		e[t.Only-1].Shared++
		t.Only = 0
		if several(s.sources.names) {
			*t = t.atMost(othersFactor)
		}
		if !trusted {
			e[source].Shared++
		}
	case t.Only == 0 && first && !trusted:
		e[source].Shared++
	}
}

// atMost returns the transition reduced to at most n observations.
func (t transition) atMost(n uint64) transition {
	if t.Count > n {
		t.Halves, t.Count = max(n, t.Halves*n/t.Count), n
	}
	return t
}

// counted returns the part of a transition that counts under limits by source, nil for none. The count may be 0.
func (t transition) counted(limits []uint8) transition {
	if limits == nil || t.Only == 0 {
		return t
	}
	return t.atMost(uint64(limits[t.Only-1]))
}

// Repeated marks the past episodes from first on in which a key repeats a transition that no other source reports, more
// often than [evidence.limit] allows. It returns nil if there are not several sources.
func (c *Counts) Repeated(first int) []bool {
	if !several(c.Sources) {
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
	seen := map[pair]uint8{}
	for i := range marked {
		p := c.Past.Episode(first + i)
		pairs := c.pairs(p)
		marked[i] = slices.ContainsFunc(pairs, func(t pair) bool { return only[t] != 0 && seen[t] >= c.limits[p.Source] })
		for _, t := range pairs {
			if only[t] != 0 && !marked[i] {
				seen[t] = min(seen[t], fewObservations) + 1
			}
		}
	}
	return marked
}

// Limited reports whether limits apply to a past episode: there are several sources, and its source has a key.
func (c *Counts) Limited(p *Episode) bool {
	return HasKey(c.Sources[p.Source]) && several(c.Sources)
}

// Vouched reports whether the request of past episode i is evidence for a tool that it used. If its source is limited,
// others must confirm a word of the request with the tool, and another tool of the episode with it or half of the words:
// one word alone is shared by chance. A word or a tool is confirmed while this key reported it with the tool less than
// [othersFactor] times as often as all others.
func (c *Counts) Vouched(i int, tool int32) bool {
	return !c.Limited(c.Past.Episode(i)) || slices.Contains(c.vouched()[i], tool)
}

// report is a tool, and a word of the request or another tool of the episode, that a source reported together; source -1
// stands for all sources.
type report struct {
	word               string
	with, tool, source int32
}

// vouch returns the vouched tools of each past episode; see [Counts.Vouched].
func (c *Counts) vouch() [][]int32 {
	reports, vouched := map[report]int{}, make([][]int32, c.Past.N)
	each := func(i int, visit func(tool int32, words, others []report)) {
		met := []int32{}
		for _, raw := range c.Past.Episode(i).Nodes {
			met = append(met, c.Canonical[raw])
		}
		met = sorted(met)
		said := sorted(semantic.Tokens(c.Past.Episode(i).Intent))
		for _, tool := range met {
			var words, others []report
			for _, w := range said {
				words = append(words, report{w, -1, tool, c.Past.Episode(i).Source})
			}
			for _, o := range met {
				if o != tool {
					others = append(others, report{"", o, tool, c.Past.Episode(i).Source})
				}
			}
			visit(tool, words, others)
		}
	}
	ofAll := func(r report) report { r.source = -1; return r }
	for i := range vouched {
		each(i, func(_ int32, words, others []report) {
			for _, r := range slices.Concat(words, others) {
				reports[r]++
				reports[ofAll(r)]++
			}
		})
	}
	said := map[report]int{}
	confirmed := func(of []report) (n int) {
		for _, r := range of {
			if said[r] < othersFactor*(reports[ofAll(r)]-reports[r]) {
				n++
			}
			said[r]++
		}
		return n
	}
	for i := range vouched {
		each(i, func(tool int32, words, others []report) {
			if n, near := confirmed(words), confirmed(others); n > 0 && (near > 0 || 2*n >= len(words)) {
				vouched[i] = append(vouched[i], tool)
			}
		})
	}
	return vouched
}

// sorted returns the distinct elements of a list in ascending order.
func sorted[T cmp.Ordered](list []T) []T { return slices.Compact(slices.Sorted(slices.Values(list))) }

// pairs returns the transitions of an episode.
func (c *Counts) pairs(p *Episode) (out []pair) {
	for x, parents := range p.Parents() {
		for _, y := range parents {
			out = append(out, pair{c.Canonical[p.Nodes[y]], c.Canonical[p.Nodes[x]]})
		}
	}
	return out
}

// usedBy updates the only user of a node before the use is counted.
func (s *State) usedBy(node, source int32) {
	u := &s.uses[node]
	switch {
	case s.trusted(source):
		u.Only = 0
	case u.Steps == 0:
		u.Only = source + 1
	case u.Only != source+1:
		u.Only = 0
	}
}

// Unconfirmed reports whether a node is not a tool of the catalog and only one source with a key has used it. It is
// false if there are not several sources.
func (c *Counts) Unconfirmed(n int32) bool {
	if c.Usage.At(n).Only == 0 || !several(c.Sources) {
		return false
	}
	_, known := c.Catalog.ToolIndex[c.IDs[n]]
	return !known
}
