package suggest

import (
	"waymark/internal/codec"
	"waymark/suggest/history"
	"waymark/suggest/semantic"
)

// Write writes the measures for [ReadMeasures].
func (m *Measures) Write(w *codec.Writer) {
	w.Uint(uint64(m.nodes))
	w.Uint(uint64(m.episodes))
	w.Floats(m.rank)
	w.Uint(uint64(m.sweeps))
	w.Ints(m.groups.community)
	w.Float(m.groups.modularity)
	w.Ints(m.groups.cluster)
	w.Uint(uint64(m.groups.clusters))
	w.Floats(m.groups.gaps)
	w.Floats(m.hyperRank)
	m.texts.vectors.Write(w)
	w.Bool(m.seed)
	f := m.learning.fitted()
	w.Bool(f != nil)
	if f != nil {
		f.rank.Write(w)
	}
}

// ReadMeasures reads what [Measures.Write] wrote. c are the counts that were measured. What is damaged
// fails r.
func ReadMeasures(r *codec.Reader, c *history.Counts, words *semantic.Thesaurus) *Measures {
	n := len(c.IDs)
	m := newMeasures(c)
	if nodes, episodes := r.Uint(), r.Uint(); nodes != uint64(n) || episodes != uint64(m.episodes) {
		r.Fail("measures of %d nodes and %d episodes, where there are %d and %d", nodes, episodes, n, m.episodes)
	}
	perNode := func(what string, length int) {
		if length != n {
			r.Fail("%d %s of %d nodes", length, what, n)
		}
	}
	labels := func(what string) []int32 {
		l := r.Ints()
		perNode(what, len(l))
		for _, x := range l {
			if x < -1 || int(x) >= n {
				r.Fail("%s %d of %d nodes", what, x, n)
			}
		}
		return l
	}
	m.rank = r.Floats()
	perNode("ranks", len(m.rank))
	m.sweeps = int(r.Uint())
	m.groups.community = labels("communities")
	m.groups.modularity = r.Float()
	m.groups.cluster = labels("clusters")
	m.groups.clusters, m.groups.gaps, m.hyperRank = int(r.Uint()), r.Floats(), r.Floats()
	perNode("ranks in the incidence", len(m.hyperRank))
	m.readTexts(c, words, nil)
	m.texts.vectors = semantic.ReadVectors(r, len(m.texts.node))
	m.joinGroups(c)
	m.seed = r.Bool()
	if r.Bool() {
		m.learning.known.Store(&keptModels{data: r.Rest()})
	}
	if r.Err() != nil {
		return nil
	}
	inc, err := c.Incidence()
	if err != nil {
		r.Fail("%w", err)
		return nil
	}
	m.incidence = inc
	m.group(c)
	return m
}
