package suggest

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"waymark/catalog"
)

// toolEntry is a tool. Its schemas are read when they are first asked for.
type toolEntry struct {
	catalog.Tool
	once    sync.Once
	in, out []catalog.Property

	looked  sync.Once
	stuffed bool   // its description is a list of keywords
	shape   string // equal for copies of a description
}

func (e *toolEntry) inputs() []catalog.Property {
	e.once.Do(e.read)
	return e.in
}

func (e *toolEntry) outputs() []catalog.Property {
	e.once.Do(e.read)
	return e.out
}

func (e *toolEntry) read() {
	e.in, e.out = catalog.Properties(e.InputSchema), catalog.Properties(e.OutputSchema)
}

// catalogView is the catalog at one moment, immutable.
type catalogView struct {
	tools   []catalog.Tool // by id
	entries []*toolEntry   // beside tools
	caps    []catalog.Capability
	capIO   []*toolEntry // beside caps: what they take and give
	tool    map[string]int
	cap     map[string]int
	// requiring: some tool says what it requires.
	requiring bool
	resolver  *catalog.Resolver
}

func (s *State) catalog() *catalogView {
	if s.view != nil {
		return s.view
	}
	v := &catalogView{tool: make(map[string]int, len(s.tools)), cap: make(map[string]int, len(s.caps))}
	ids := make([]string, 0, len(s.tools)+len(s.caps))
	for i, id := range slices.Sorted(maps.Keys(s.tools)) {
		v.tool[id] = i
		v.tools = append(v.tools, s.tools[id].Tool)
		v.entries = append(v.entries, s.tools[id])
		v.requiring = v.requiring || len(s.tools[id].Requires) > 0
		ids = append(ids, id)
	}
	for i, id := range slices.Sorted(maps.Keys(s.caps)) {
		v.cap[id] = i
		c := s.caps[id]
		v.caps = append(v.caps, c)
		v.capIO = append(v.capIO, &toolEntry{Tool: catalog.Tool{ID: id, InputSchema: c.InputSchema, OutputSchema: c.OutputSchema}})
		ids = append(ids, id)
	}
	v.resolver = catalog.NewResolver(ids)
	s.view = v
	return v
}

// entry is what the catalog says of the inputs and outputs of a tool or capability; nil if it has none of this id.
func (v *catalogView) entry(id string) *toolEntry {
	if i, ok := v.tool[id]; ok {
		return v.entries[i]
	}
	if i, ok := v.cap[id]; ok {
		return v.capIO[i]
	}
	return nil
}

// names reports whether the catalog has the id.
func (v *catalogView) names(id string) bool {
	_, tool := v.tool[id]
	_, capability := v.cap[id]
	return tool || capability
}

// canonical is the id that counts for an id: one that the catalog does not name and that can only
// mean one tool shares that tool's history, as soon as both have been seen.
func (v *catalogView) canonical(id string) string {
	for range 2 { // what mcp__server__name stands for may itself be a spelling
		if v.names(id) {
			break
		}
		to, err := v.resolver.Resolve(id)
		if err != nil {
			break
		}
		id = to
	}
	return id
}

// roles are what the catalog makes of the nodes, immutable. A node that came later is a tool that no
// capability uses.
type roles struct {
	gone     []bool
	kind     []catalog.Kind
	capTools [][]int32 // by node: the tools of a capability
	toolCaps [][]int32 // by node: the capabilities that use a tool
	toolNode []int32   // by position in the catalog
	capNode  []int32
	known    int // nodes that the catalog names

	once   sync.Once
	byName map[string][]int32 // by folded name, in order of id; made when first asked for

	demoting     sync.Once
	demotedNodes map[int32]bool // see demoted
}

// requires are the nodes of the tools that a tool requires, as far as they can be suggested, rising.
func (c *Counts) requires(n int32) []int32 {
	i, ok := c.view.tool[c.ids[n]]
	if !ok {
		return nil
	}
	var needs []int32
	for _, id := range c.view.tools[i].Requires {
		if to, ok := c.find(c.view.canonical(id)); ok {
			if to = c.canon[to]; to != n && c.live(to) {
				needs = append(needs, to)
			}
		}
	}
	slices.Sort(needs)
	return slices.Compact(needs)
}

// named lists the nodes that may have a name, however it is capitalised, in order of id.
func (r *roles) named(view *catalogView, name string) []int32 {
	r.once.Do(func() {
		r.byName = make(map[string][]int32, len(view.tools)+len(view.caps))
		ids := map[int32]string{}
		add := func(node int32, id, name string) {
			if name != "" {
				key := folded(name)
				r.byName[key] = append(r.byName[key], node)
				ids[node] = id
			}
		}
		for i := range view.tools {
			add(r.toolNode[i], view.tools[i].ID, nameOf(&view.tools[i]))
		}
		for i := range view.caps {
			add(r.capNode[i], view.caps[i].ID, view.caps[i].Name)
		}
		for _, nodes := range r.byName {
			slices.SortFunc(nodes, func(a, b int32) int { return strings.Compare(ids[a], ids[b]) })
		}
	})
	return r.byName[folded(name)]
}

// folded returns a key that is equal for strings that [strings.EqualFold] reports as equal.
func folded(s string) string { return strings.ToLower(strings.ToUpper(s)) }

func (s *State) roles() *roles {
	n := len(s.ids)
	r := &roles{gone: make([]bool, n), kind: make([]catalog.Kind, n), capTools: make([][]int32, n), toolCaps: make([][]int32, n)}
	for i := range s.gone {
		r.gone[i] = true
	}
	for i, id := range s.ids {
		r.kind[i] = catalog.KindTool
		if _, ok := s.view.cap[id]; ok {
			r.kind[i] = catalog.KindCapability
		}
		if s.view.names(id) {
			r.known++
		}
	}
	for i := range s.view.tools {
		r.toolNode = append(r.toolNode, s.node(s.view.tools[i].ID))
	}
	for i := range s.view.caps {
		c := &s.view.caps[i]
		node := s.node(c.ID)
		r.capNode = append(r.capNode, node)
		for _, t := range c.Tools {
			tool := s.shown.canon[s.node(t)]
			if !slices.Contains(r.capTools[node], tool) {
				r.capTools[node] = append(r.capTools[node], tool)
				r.toolCaps[tool] = append(r.toolCaps[tool], node)
			}
		}
		slices.Sort(r.capTools[node])
	}
	for _, caps := range r.toolCaps {
		slices.Sort(caps)
	}
	return r
}

// of is x[i], or beyond its end what stands for a node that x does not know.
func of[T any](x []T, i int32, none T) T {
	if int(i) < len(x) {
		return x[i]
	}
	return none
}
