package suggest

import (
	"fmt"
	"slices"
)

// A ToolSet is a named allow-list of tools. A nil set allows everything, a set without patterns nothing.
type ToolSet struct {
	Name     string
	Patterns []string // patterns of ids, in which * stands for any characters
}

// Refusal returns the error for a request that uses an id outside the set.
func (s *ToolSet) Refusal(id string) error {
	return fmt.Errorf("%s is not in the tool set of agent %q", id, s.Name)
}

// Has reports whether a pattern of the set matches a tool.
func (s *ToolSet) Has(id string) bool {
	return slices.ContainsFunc(s.Patterns, func(p string) bool { return matches(p, id) })
}

// mostNested bounds the nesting of capabilities. Capabilities nested more deeply are outside every set.
const mostNested = 8

// Allows reports whether an id is in a set. A capability is in the set if everything it uses is; its own id is matched
// only if it uses nothing.
func (m *Model) Allows(set *ToolSet, id string) bool {
	return set == nil || m.allows(set, id, mostNested)
}

func (m *Model) allows(set *ToolSet, id string, depth int) bool {
	c, is := m.Capability(id)
	uses := slices.Clone(c.Tools)
	for _, t := range c.Tasks {
		uses = append(uses, t.Tool)
	}
	if !is || len(uses) == 0 {
		return set.Has(id)
	}
	return depth > 0 && !slices.ContainsFunc(uses, func(used string) bool {
		if resolved, err := m.Resolve(used); err == nil {
			used = resolved
		}
		return !m.allows(set, used, depth-1)
	})
}

// Within returns the exclusions extended by all ids outside the set.
func (m *Model) Within(set *ToolSet, w *Exclusions) *Exclusions {
	if set == nil {
		return w
	}
	within := &Exclusions{set: set, model: m}
	if w != nil {
		within.by, within.ids = w.by, w.ids
	}
	return within
}
