package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
)

// CheckDAG reports why nodes with these ids and dependencies do not form a directed acyclic graph:
// an id that is missing or occurs twice, a node that depends on itself, on an unknown node, or on
// itself through others. noun is what a node is called in the error ("step", "task").
func CheckDAG(noun string, ids []string, dependsOn [][]string) error {
	at := make(map[string]int, len(ids))
	for i, id := range ids {
		if id == "" {
			return fmt.Errorf("%s number %d has no id", noun, i+1)
		}
		if _, twice := at[id]; twice {
			return fmt.Errorf("%s %q occurs twice", noun, id)
		}
		at[id] = i
	}
	ordered := true // each node after its dependencies, as nearly always: no graph is needed
	for i, deps := range dependsOn {
		for _, d := range deps {
			j, known := at[d]
			switch {
			case !known:
				return fmt.Errorf("%s %q depends on the unknown %s %q", noun, ids[i], noun, d)
			case i == j:
				return fmt.Errorf("%s %q depends on itself", noun, d)
			}
			ordered = ordered && j < i
		}
	}
	if ordered {
		return nil
	}
	g := simple.NewDirectedGraph()
	for i, deps := range dependsOn {
		for _, d := range deps {
			g.SetEdge(simple.Edge{F: simple.Node(at[d]), T: simple.Node(i)})
		}
	}
	_, err := topo.Sort(g)
	var cycles topo.Unorderable
	if !errors.As(err, &cycles) {
		return nil
	}
	// One of the cycles is shown, from the first node that is in one.
	component := map[string]bool{}
	first := len(ids)
	for _, nodes := range cycles {
		for _, n := range nodes {
			component[ids[n.ID()]], first = true, min(first, int(n.ID()))
		}
	}
	var path []string
	for id := ids[first]; ; {
		if start := slices.Index(path, id); start >= 0 {
			return fmt.Errorf("%ss form a cycle: %s", noun, shownCycle(append(path[start:], id)))
		}
		path = append(path, id)
		deps := dependsOn[at[id]]
		id = deps[slices.IndexFunc(deps, func(d string) bool { return component[d] })]
	}
}

func shownCycle(path []string) string {
	const most = 9
	var names []string
	for _, id := range path[:min(len(path), most)] {
		names = append(names, fmt.Sprintf("%q", id))
	}
	if len(path) > most {
		names = append(names, "…")
	}
	return strings.Join(names, " needs ")
}
