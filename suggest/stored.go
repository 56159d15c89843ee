package suggest

import (
	"slices"

	"waymark/internal/codec"
	"waymark/suggest/history"
	"waymark/suggest/semantic"
)

// Write writes the measures for [ReadMeasures].
func (m *Measures) Write(w *codec.Writer) {
	m.writeUnlearned(w)
	f := m.learning.fitted()
	w.Bool(f != nil)
	if f != nil {
		f.rank.Write(w)
	}
}

// writeUnlearned writes the measures without the fitted models, and whether only profile seed answers.
func (m *Measures) writeUnlearned(w *codec.Writer) {
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
}

// ReadMeasures reads the output of [Measures.Write]. c are the measured counts. If the data are damaged,
// it sets the error of r and returns nil.
func ReadMeasures(r *codec.Reader, c *history.Counts, words *semantic.Thesaurus) *Measures {
	n := len(c.IDs)
	m := newMeasures(c)
	if nodes, episodes := r.Uint(), r.Uint(); nodes != uint64(n) || episodes != uint64(m.episodes) {
		r.Fail("measures of %d nodes and %d episodes, where there are %d and %d", nodes, episodes, n, m.episodes)
	}
	m.rank, m.sweeps = r.Floats(), int(r.Uint())
	m.groups.community, m.groups.modularity = r.Ints(), r.Float()
	m.groups.cluster, m.groups.clusters, m.groups.gaps, m.hyperRank = r.Ints(), int(r.Uint()), r.Floats(), r.Floats()
	outside := func(label int32) bool { return label < -1 || int(label) >= n }
	if len(m.rank) != n || len(m.groups.community) != n || len(m.groups.cluster) != n || len(m.hyperRank) != n ||
		slices.ContainsFunc(slices.Concat(m.groups.community, m.groups.cluster), outside) {
		r.Fail("ranks or groups do not fit the %d nodes", n)
	}
	m.readTexts(c, words, nil)
	m.texts.vectors = semantic.ReadVectors(r, len(m.texts.node))
	m.joinGroups(c)
	m.seed = r.Bool()
	if r.Bool() {
		m.learning.known.Store(&storedModels{data: r.Rest()})
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
