package history

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"waymark/catalog"
	"waymark/suggest/semantic"
)

// Schemas is a tool with the properties of its schemas, which are parsed on first use.
type Schemas struct {
	catalog.Tool
	once    sync.Once
	in, out []catalog.Property
	results []catalog.Property
}

// Inputs lists the properties of the input schema.
func (e *Schemas) Inputs() []catalog.Property {
	e.once.Do(e.read)
	return e.in
}

// Outputs lists the properties of the output schema.
func (e *Schemas) Outputs() []catalog.Property {
	e.once.Do(e.read)
	return e.out
}

// Results lists the properties of the output schema and those of the items of its lists.
func (e *Schemas) Results() []catalog.Property {
	e.once.Do(e.read)
	return e.results
}

func (e *Schemas) read() {
	e.in, e.out, e.results = catalog.Properties(e.InputSchema), catalog.Properties(e.OutputSchema), catalog.Results(e.OutputSchema)
}

// Catalog is an immutable view of the catalog at one moment.
type Catalog struct {
	Tools             []catalog.Tool // sorted by id
	Own               []catalog.Tool // the Tools that were added to the catalog; the others are tools of hosts
	Schemas           []*Schemas     // parallel to Tools
	Capabilities      []catalog.Capability
	capabilitySchemas []*Schemas     // parallel to Capabilities
	ToolIndex         map[string]int // by id, the position in Tools
	CapabilityIndex   map[string]int // by id, the position in Capabilities
	Resolver          *catalog.Resolver
}

// hostTools maps ids to the tools of [catalog.HostTools].
var hostTools = sync.OnceValue(func() map[string]*Schemas {
	all := map[string]*Schemas{}
	for _, t := range catalog.HostTools() {
		all[t.ID] = &Schemas{Tool: t}
	}
	return all
})

// Host reports whether an id is that of a built-in tool of a host and the catalog has no other entry for it.
func (v *Catalog) Host(id string) bool {
	host, own := hostTools()[id], v.SchemasOf(id)
	return host != nil && (own == nil || own == host)
}

// described returns the tools of the catalog and the host tools that were seen, except for host tools whose id has an
// own entry or was removed.
func (s *State) described() map[string]*Schemas {
	all := maps.Clone(s.tools)
	for id, t := range hostTools() {
		n, met := find(s.index, s.ids, id)
		if _, own := s.tools[id]; !own && met && !s.gone[n] {
			if _, own = s.caps[id]; !own {
				all[id] = t
			}
		}
	}
	return all
}

// catalog returns the current view. Entries are sorted by id, so that the order of insertion does not matter. The view
// is cached until the catalog or the aliases change or a new host tool is seen.
func (s *State) catalog() *Catalog {
	if s.view != nil {
		return s.view
	}
	tools := s.described()
	v := &Catalog{ToolIndex: make(map[string]int, len(tools)), CapabilityIndex: make(map[string]int, len(s.caps))}
	ids := make([]string, 0, len(tools)+len(s.caps))
	for _, id := range slices.Sorted(maps.Keys(tools)) {
		if s.aliases.Of(id) != id { // its calls count for another tool
			continue
		}
		v.ToolIndex[id] = len(v.Tools)
		v.Tools = append(v.Tools, tools[id].Tool)
		v.Schemas = append(v.Schemas, tools[id])
		ids = append(ids, id)
	}
	v.Own = v.Tools
	if len(tools) > len(s.tools) {
		v.Own = slices.DeleteFunc(slices.Clone(v.Tools), func(t catalog.Tool) bool { return s.tools[t.ID] == nil })
	}
	for i, id := range slices.Sorted(maps.Keys(s.caps)) {
		v.CapabilityIndex[id] = i
		c := s.renamed(s.caps[id])
		v.Capabilities = append(v.Capabilities, c)
		v.capabilitySchemas = append(v.capabilitySchemas, &Schemas{Tool: catalog.Tool{ID: id, InputSchema: c.InputSchema, OutputSchema: c.OutputSchema}})
		ids = append(ids, id)
	}
	v.Resolver = catalog.NewResolver(ids, s.aliases)
	s.view = v
	return v
}

// Alias replaces the aliases. From the next [State.Freeze] on, counts under an alias are added to those of the tool
// that the alias stands for. If the alias is removed, they count under its own id again.
func (s *State) Alias(a catalog.Aliases) {
	s.aliases, s.view = a, nil
	for _, id := range slices.Sorted(maps.Keys(s.caps)) {
		s.numberTools(s.caps[id])
	}
}

// numberTools assigns a node to each tool of a capability, under its stored id and under its id after aliasing.
func (s *State) numberTools(c catalog.Capability) {
	for _, t := range c.Tools {
		s.node(t)
		s.node(s.aliases.Of(t))
	}
}

// Aliases returns the current aliases.
func (s *State) Aliases() catalog.Aliases { return s.aliases }

// renamed returns a capability in which aliases are replaced by the tools that they stand for.
func (s *State) renamed(c catalog.Capability) catalog.Capability {
	if s.aliases.None() {
		return c
	}
	tools := c.Tools
	c.Tools, c.Tasks = nil, slices.Clone(c.Tasks)
	for _, id := range tools {
		if id = s.aliases.Of(id); !slices.Contains(c.Tools, id) {
			c.Tools = append(c.Tools, id)
		}
	}
	for i := range c.Tasks {
		c.Tasks[i].Tool = s.aliases.Of(c.Tasks[i].Tool)
	}
	return c
}

// SchemasOf returns the schemas of a tool or capability, nil for an id that the catalog does not have.
func (v *Catalog) SchemasOf(id string) *Schemas {
	if i, ok := v.ToolIndex[id]; ok {
		return v.Schemas[i]
	}
	if i, ok := v.CapabilityIndex[id]; ok {
		return v.capabilitySchemas[i]
	}
	return nil
}

// Has reports whether the catalog has the id.
func (v *Catalog) Has(id string) bool {
	_, tool := v.ToolIndex[id]
	_, capability := v.CapabilityIndex[id]
	return tool || capability
}

// canonical returns the id under which an id is counted. An id that the catalog does not have and that can
// only mean one tool shares the history of that tool as soon as both have been seen.
func (v *Catalog) canonical(id string) string {
	for range 2 { // the id that mcp__server__name stands for may itself be a spelling
		if v.Has(id) {
			break
		}
		to, err := v.Resolver.Resolve(id)
		if err != nil {
			break
		}
		id = to
	}
	return id
}

// Roles relate nodes to the catalog and are immutable. A node that was added later is a tool that no capability uses.
type Roles struct {
	removed      []bool
	kind         []catalog.Kind
	capTools     [][]int32 // by node: the tools of a capability
	toolCaps     [][]int32 // by node: the capabilities that use a tool
	Tools        []int32   // nodes, by position in the catalog
	Capabilities []int32
	Known        int // number of nodes in the catalog without host tools

	named func() map[string][]int32 // nodes by folded name, in order of id; computed on first use
}

// Requires lists the nodes of the tools that a tool requires and that can be suggested, in ascending order.
func (c *Counts) Requires(n int32) []int32 {
	i, ok := c.Catalog.ToolIndex[c.IDs[n]]
	if !ok {
		return nil
	}
	var needs []int32
	for _, id := range c.Catalog.Tools[i].Requires {
		if to, ok := c.Find(c.Catalog.canonical(id)); ok {
			if to = c.Canonical[to]; to != n && c.Live(to) {
				needs = append(needs, to)
			}
		}
	}
	slices.Sort(needs)
	return slices.Compact(needs)
}

// Named returns the nodes whose name has the same words, regardless of capitals and separators, in order of id.
func (r *Roles) Named(name string) []int32 { return r.named()[folded(name)] }

// names returns the nodes by folded name.
func (r *Roles) names(view *Catalog) map[string][]int32 {
	type entry struct {
		id, name string
		node     int32
	}
	var all []entry
	for i := range view.Tools {
		all = append(all, entry{view.Tools[i].ID, ToolName(&view.Tools[i]), r.Tools[i]})
	}
	for i := range view.Capabilities {
		all = append(all, entry{view.Capabilities[i].ID, view.Capabilities[i].Name, r.Capabilities[i]})
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.id, b.id) })
	nodes := make(map[string][]int32, len(all))
	for _, e := range all {
		if e.name != "" {
			nodes[folded(e.name)] = append(nodes[folded(e.name)], e.node)
		}
	}
	return nodes
}

// folded returns a key that is equal for names of the same words, however they are joined.
func folded(s string) string { return strings.Join(semantic.Parts(s), "") }

// roles resolves ids of the catalog to nodes. The tools of a capability are canonical nodes, sorted, each
// once; toolCaps is the inverse of capTools.
func (s *State) roles() *Roles {
	n := len(s.ids)
	r := &Roles{removed: make([]bool, n), kind: make([]catalog.Kind, n), capTools: make([][]int32, n), toolCaps: make([][]int32, n)}
	for i := range s.gone {
		r.removed[i] = true
	}
	for i, id := range s.ids {
		r.kind[i] = catalog.KindTool
		if _, ok := s.view.CapabilityIndex[id]; ok {
			r.kind[i] = catalog.KindCapability
		}
		if s.view.Has(id) && !s.view.Host(id) {
			r.Known++
		}
	}
	for i := range s.view.Tools {
		r.Tools = append(r.Tools, s.node(s.view.Tools[i].ID))
	}
	for i := range s.view.Capabilities {
		c := &s.view.Capabilities[i]
		node := s.node(c.ID)
		r.Capabilities = append(r.Capabilities, node)
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
	view := s.view
	r.named = sync.OnceValue(func() map[string][]int32 { return r.names(view) })
	return r
}

// Of returns x[i], or none if i is beyond the end of x, as for a node that is newer than x.
func Of[T any](x []T, i int32, none T) T {
	if int(i) < len(x) {
		return x[i]
	}
	return none
}

// Server returns the server or domain of a tool, "" if the catalog has neither.
func (c *Counts) Server(node int32) string {
	if i, ok := c.Catalog.ToolIndex[c.IDs[node]]; ok {
		return cmp.Or(c.Catalog.Tools[i].Server, c.Catalog.Tools[i].Domain)
	}
	return ""
}

// Document returns the catalog's texts for an id. An id that the catalog does not have is its own text.
func (c *Counts) Document(id string) semantic.Document { return c.Catalog.Document(id) }

// Document returns the texts for an id; see [Counts.Document].
func (v *Catalog) Document(id string) semantic.Document {
	if i, ok := v.ToolIndex[id]; ok {
		t := &v.Tools[i]
		props := []string{}
		for _, list := range [2][]catalog.Property{v.Schemas[i].Inputs(), v.Schemas[i].Outputs()} {
			for _, p := range list {
				props = append(props, p.Name)
			}
		}
		d := semantic.Document{Name: id, Text: t.Description, Properties: strings.Join(append(props, t.Domain), " ")}
		if t.Name != "" && !strings.HasSuffix(id, t.Name) {
			d.Name = t.Name + " " + id
		}
		return d
	}
	if i, ok := v.CapabilityIndex[id]; ok {
		cp := &v.Capabilities[i]
		return semantic.Document{
			Name: cp.Name + " " + id, Text: cp.Description + " " + cp.Intent,
			Properties: strings.Join(cp.Tools, " "),
		}
	}
	return semantic.Document{Name: id}
}

// ChangedSince returns the ids that are new or whose text differs from an earlier view: tools first, then capabilities.
func (v *Catalog) ChangedSince(before *Catalog) []string {
	if v == before {
		return nil
	}
	var ids []string
	check := func(id string) {
		old := before.SchemasOf(id)
		if now := v.SchemasOf(id); old == nil || old != now && before.Document(id) != v.Document(id) {
			ids = append(ids, id)
		}
	}
	for i := range v.Tools {
		check(v.Tools[i].ID)
	}
	for i := range v.Capabilities {
		check(v.Capabilities[i].ID)
	}
	return ids
}

// ToolName returns the name of a tool, or its id without the prefix of its server.
func ToolName(t *catalog.Tool) string {
	if t.Name != "" {
		return t.Name
	}
	if name, ok := strings.CutPrefix(t.ID, t.Server+":"); ok && t.Server != "" {
		return name
	}
	return t.ID
}

// Describe returns the name and description of an id.
func (v *Catalog) Describe(id string) (name, description string) {
	if i, ok := v.ToolIndex[id]; ok {
		t := &v.Tools[i]
		return ToolName(t), t.Description
	}
	if i, ok := v.CapabilityIndex[id]; ok {
		c := &v.Capabilities[i]
		return cmp.Or(c.Name, id), c.Description
	}
	return id, ""
}
