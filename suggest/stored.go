package suggest

import (
	"waymark/internal/codec"
	"waymark/semantic"
	"waymark/semantic/thesaurus"
	"waymark/suggest/history"
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
	w.Bool(m.groups.capped)
	w.Floats(m.groups.gaps)
	w.Floats(m.hyperRank)
	w.Ints(m.texts.doc)
	m.texts.text.Write(w)
	w.Ints(m.texts.recalled)
	m.texts.recall.Write(w)
	w.Bool(m.learning != nil)
	if m.learning != nil {
		f := m.learning.fitted()
		w.Bool(f != nil)
		if f != nil {
			f.write(w)
		}
	}
}

// ReadMeasures reads what [Measures.Write] wrote. c are the counts that were measured. What is damaged
// fails r.
func ReadMeasures(r *codec.Reader, c *history.Counts, words *thesaurus.Thesaurus) *Measures {
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
	m.groups.clusters, m.groups.capped, m.groups.gaps, m.hyperRank = int(r.Uint()), r.Bool(), r.Floats(), r.Floats()
	perNode("ranks in the incidence", len(m.hyperRank))
	m.texts.doc = labels("documents")
	m.texts.text = semantic.ReadIndex(r)
	for node, doc := range m.texts.doc {
		if doc >= 0 {
			if int(doc) != len(m.texts.docNode) {
				r.Fail("document %d of node %d, where %d is next", doc, node, len(m.texts.docNode))
			}
			m.texts.docNode = append(m.texts.docNode, int32(node))
		}
	}
	if len(m.texts.docNode) != m.texts.text.Len() {
		r.Fail("%d documents of %d nodes", m.texts.text.Len(), len(m.texts.docNode))
	}
	m.texts.recalled = r.Ints()
	for _, e := range m.texts.recalled {
		if e < 0 || int(e) >= m.episodes {
			r.Fail("episode %d of %d", e, m.episodes)
		}
	}
	m.texts.recall = semantic.ReadIntents(r)
	if m.texts.recall.Len() != len(m.texts.recalled) {
		r.Fail("%d intents of %d episodes", m.texts.recall.Len(), len(m.texts.recalled))
	}
	if r.Bool() {
		m.learning = newLearning(c)
		m.learning.hyper = hypergraph{m.groups.cluster, m.hyperRank}
		if r.Bool() {
			m.learning.known.Store(&keptModels{data: r.Rest()})
		}
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
	m.prepareSearch(words)
	return m
}
