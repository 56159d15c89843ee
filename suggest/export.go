package suggest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/internal/numeric"
)

// Export returns the whole graph if around is empty, else the part within depth steps of that id.
func (m *Model) Export(around string, depth int) (Export, error) {
	in := make([]bool, len(m.IDs))
	if around == "" {
		for i := range in {
			in[i] = m.Live(int32(i))
		}
	} else {
		if depth < 0 || depth > 16 {
			return Export{}, &RequestError{Invalid, "depth", fmt.Sprintf("is %d, must be 0 to 16", depth)}
		}
		n, ok, err := m.node(around)
		if err != nil {
			return Export{}, &RequestError{Invalid, "around", err.Error()}
		}
		if !ok || !m.Live(n) {
			return Export{}, &RequestError{NotFound, "around", fmt.Sprintf("%q is in no catalog and no episode", around)}
		}
		m.spread(n, depth, in)
	}
	e := Export{Model: m.info, Nodes: []ExportNode{}, Edges: []ExportEdge{}, Uses: []ExportUse{}}
	for _, n := range m.sortedNodes(in) {
		id := m.IDs[n]
		name, _ := m.describe(n)
		e.Nodes = append(e.Nodes, ExportNode{
			ID: id, Kind: m.Kind(n), Name: name, Known: m.Catalog.Has(id) && !m.Host(id), PageRank: m.rank(n),
			Community: groupName(m.measures.groups.named.community, m.comm(n)), Cluster: groupName(m.measures.groups.named.cluster, m.cluster(n)), Uses: m.Usage.At(n).Steps,
		})
		to, weight := m.Graph.Out(n)
		for i, v := range to {
			if in[v] {
				_, count := m.transition(n, v)
				e.Edges = append(e.Edges, ExportEdge{id, m.IDs[v], weight[i], count})
			}
		}
		if loop, ok := m.Graph.Loop(n); ok {
			e.Edges = append(e.Edges, ExportEdge{id, id, loop.Weight, loop.Count})
		}
		for _, t := range m.CapabilityTools(n) {
			if in[t] {
				e.Uses = append(e.Uses, ExportUse{m.IDs[t], id, m.weightIn(t, n)})
			}
		}
	}
	slices.SortFunc(e.Edges, func(a, b ExportEdge) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To))
	})
	slices.SortFunc(e.Uses, func(a, b ExportUse) int {
		return cmp.Or(strings.Compare(a.Capability, b.Capability), strings.Compare(a.Tool, b.Tool))
	})
	return e, nil
}

// spread marks the nodes within depth steps of n, along transitions in either direction and along the
// incidence of tools and capabilities.
func (m *Model) spread(n int32, depth int, in []bool) {
	in[n] = true
	layer := []int32{n}
	for ; depth > 0 && len(layer) > 0; depth-- {
		var next []int32
		for _, u := range layer {
			for _, near := range [][]int32{m.Graph.Neighbours(u), m.CapabilityTools(u), m.ToolCapabilities(u)} {
				for _, v := range near {
					if !in[v] && m.Live(v) {
						in[v] = true
						next = append(next, v)
					}
				}
			}
		}
		layer = next
	}
}

// sortedNodes lists the marked nodes in order of id. Node numbers depend on the order of arrival, on which an
// export must not depend.
func (m *Model) sortedNodes(in []bool) []int32 {
	var nodes []int32
	for i, ok := range in {
		if ok {
			nodes = append(nodes, int32(i))
		}
	}
	slices.SortFunc(nodes, func(a, b int32) int { return strings.Compare(m.IDs[a], m.IDs[b]) })
	return nodes
}

// DiffReport lists the differences between two models.
type DiffReport struct {
	From         string          `json:"from"`
	To           string          `json:"to"`
	Added        []string        `json:"added"`
	Removed      []string        `json:"removed"`
	EdgesAdded   []ExportEdge    `json:"edges_added"`
	EdgesRemoved []ExportEdge    `json:"edges_removed"`
	EdgesChanged int             `json:"edges_changed"`
	Communities  []string        `json:"community_changed"` // ids whose community has other members now
	Clusters     []string        `json:"cluster_changed"`
	Answers      []AnswerChanged `json:"answers_changed"`
}

// DiffExports compares two exported graphs by id, because node numbers may differ between them.
func DiffExports(a, b Export) DiffReport {
	id := func(n ExportNode) string { return n.ID }
	ends := func(e ExportEdge) [2]string { return [2]string{e.From, e.To} }
	old, now := byKey(a.Nodes, id), byKey(b.Nodes, id)
	was, is := byKey(a.Edges, ends), byKey(b.Edges, ends)
	d := DiffReport{
		From: a.Model.Version, To: b.Model.Version, Added: []string{}, Removed: []string{}, Answers: []AnswerChanged{},
		EdgesAdded: missing(b.Edges, ends, was), EdgesRemoved: missing(a.Edges, ends, is),
		Communities: regrouped(old, now, func(n ExportNode) int32 { return n.Community }),
		Clusters:    regrouped(old, now, func(n ExportNode) int32 { return n.Cluster }),
	}
	for _, n := range missing(b.Nodes, id, old) {
		d.Added = append(d.Added, n.ID)
	}
	for _, n := range missing(a.Nodes, id, now) {
		d.Removed = append(d.Removed, n.ID)
	}
	for pair, e := range was {
		if n, ok := is[pair]; ok && n != e {
			d.EdgesChanged++
		}
	}
	return d
}

func byKey[K comparable, V any](list []V, key func(V) K) map[K]V {
	by := make(map[K]V, len(list))
	for _, v := range list {
		by[key(v)] = v
	}
	return by
}

// missing lists the elements whose key the other graph does not have.
func missing[K comparable, V any](list []V, key func(V) K, other map[K]V) []V {
	absent := []V{}
	for _, v := range list {
		if _, ok := other[key(v)]; !ok {
			absent = append(absent, v)
		}
	}
	return absent
}

// regrouped lists the ids present in both exports whose group has changed, counting only ids present in both. Labels
// are only names: a group is unchanged if all of its members, and no other ids, share one label in the other export.
func regrouped(old, now map[string]ExportNode, label func(ExportNode) int32) []string {
	was, is, both, changed := map[int32]int{}, map[int32]int{}, map[[2]int32]int{}, []string{}
	for id, n := range now {
		if o, ok := old[id]; ok {
			was[label(o)]++
			is[label(n)]++
			both[[2]int32{label(o), label(n)}]++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(now)) {
		o, ok := old[id]
		before, after := label(o), label(now[id])
		n := both[[2]int32{before, after}]
		if ok && max(before, after) >= 0 && (min(before, after) < 0 || n != was[before] || n != is[after]) {
			changed = append(changed, id)
		}
	}
	return changed
}

// mostUsed lists the k tools with the most recorded steps, ties by id.
func (m *Model) mostUsed(k int) (ids []string) {
	var best []int32
	for i := range int32(len(m.IDs)) {
		if m.Live(i) && m.Usage.At(i).Steps > 0 && m.Kind(i) == catalog.KindTool {
			best = numeric.Keep(best, k, i, func(a, b int32) int {
				return cmp.Or(cmp.Compare(m.Usage.At(b).Steps, m.Usage.At(a).Steps), strings.Compare(m.IDs[a], m.IDs[b]))
			})
		}
	}
	for _, n := range best {
		ids = append(ids, m.IDs[n])
	}
	return ids
}
