package episodic

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func chain(tools ...string) Episode {
	e := Episode{ID: "e"}
	for i, t := range tools {
		e.Steps = append(e.Steps, Step{ID: fmt.Sprint(i + 1), Tool: t})
	}
	return e
}

// The rules of the edge weight, each worked by hand. Halves: 2 is weight 1, 1 is weight ½.
func TestTransitions(t *testing.T) {
	failed := func(e Episode, steps ...int) Episode {
		e.Steps = slices.Clone(e.Steps)
		for _, i := range steps {
			e.Steps[i].Outcome = Failure
		}
		return e
	}
	group := chain("a", "b", "c", "d")
	group.Steps[1].Group, group.Steps[2].Group = "g", "g"
	dag := chain("a", "b", "c")
	dag.Steps[0].DependsOn = []string{}
	dag.Steps[1].DependsOn = []string{}
	dag.Steps[2].DependsOn = []string{"1", "2"}
	whole := failed(chain("a", "b", "c"))
	whole.Outcome = Failure
	for _, row := range []struct {
		name string
		e    Episode
		want []Transition
	}{
		{"order only counts half", chain("a", "b", "c"), []Transition{{0, 1, 1}, {1, 2, 1}}},
		{"listed pairs count one and nothing else does", dag, []Transition{{0, 2, 2}, {1, 2, 2}}},
		{"parallel steps form a layer", group, []Transition{{0, 1, 1}, {0, 2, 1}, {1, 3, 1}, {2, 3, 1}}},
		{"a failed step breaks the chain", failed(chain("a", "b", "c"), 1), nil},
		{"failed episodes still teach their unknown steps", whole, []Transition{{0, 1, 1}, {1, 2, 1}}},
		{"one failed of a layer leaves the others", failed(group, 1), []Transition{{0, 2, 1}, {2, 3, 1}}},
		{"a single step has none", chain("a"), nil},
		{"a repeat is a transition to itself", chain("a", "a"), []Transition{{0, 1, 1}}},
	} {
		assert.Equal(t, row.want, row.e.Transitions(), row.name)
	}
}

// Order respects dependencies, otherwise the order of the record.
func TestOrder(t *testing.T) {
	e := chain("late", "root", "middle", "other")
	e.Steps[0].DependsOn = []string{"3"}
	e.Steps[1].DependsOn = []string{}
	e.Steps[2].DependsOn = []string{"2"}
	e.Steps[3].DependsOn = []string{}
	assert.Equal(t, []int{1, 2, 0, 3}, e.Order())
	assert.Equal(t, []int{0, 1, 2}, func() []int { e := chain("a", "b", "c"); return e.Order() }())
}

// Two groups of 1,000 parallel steps would be a million transitions from one small episode.
func TestGroupsThatMultiplyAreRefused(t *testing.T) {
	e := Episode{ID: "wide"}
	for i := range 2000 {
		e.Steps = append(e.Steps, Step{Tool: "t", Group: []string{"first", "second"}[i/1000]})
	}
	assert.ErrorContains(t, e.Normalise(), "groups are too large")
	e.Steps = e.Steps[900:1020] // 100 and 20
	assert.NoError(t, e.Normalise())
	assert.Len(t, e.Transitions(), 100*20)
}
