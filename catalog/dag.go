package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Layers returns the layer of each node: the length of the longest path to it from a node without dependencies. It
// returns an error if the nodes do not form a directed acyclic graph: an id is missing or occurs twice, or a node
// depends on itself, on an unknown node, or on itself through others. noun is the name of a node in the error ("step",
// "task").
func Layers(noun string, ids []string, dependsOn [][]string) ([]int, error) {
	at := make(map[string]int, len(ids))
	for i, id := range ids {
		if id == "" {
			return nil, fmt.Errorf("%s number %d has no id", noun, i+1)
		}
		if _, twice := at[id]; twice {
			return nil, fmt.Errorf("%s %q occurs twice", noun, id)
		}
		at[id] = i
	}
	for i, deps := range dependsOn {
		for _, d := range deps {
			if j, known := at[d]; !known {
				return nil, fmt.Errorf("%s %q depends on the unknown %s %q", noun, ids[i], noun, d)
			} else if i == j {
				return nil, fmt.Errorf("%s %q depends on itself", noun, d)
			}
		}
	}
	const unseen, open = -2, -1
	layers := slices.Repeat([]int{unseen}, len(ids))
	var path []string // open nodes, each a dependency of the one before
	var place func(i int) error
	place = func(i int) error {
		name := strconv.Quote(ids[i])
		path = append(path, name)
		if layers[i] == open {
			return fmt.Errorf("%ss form a cycle: %s", noun, Cut(strings.Join(path[slices.Index(path, name):], " needs "), 200))
		}
		if layers[i] == unseen {
			layers[i] = open
			layer := 0
			for _, d := range dependsOn[i] {
				if err := place(at[d]); err != nil {
					return err
				}
				layer = max(layer, layers[at[d]]+1)
			}
			layers[i] = layer
		}
		path = path[:len(path)-1]
		return nil
	}
	for i := range dependsOn {
		if err := place(i); err != nil {
			return nil, err
		}
	}
	return layers, nil
}
