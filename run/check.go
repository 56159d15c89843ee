package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"waymark/catalog"
)

// The kinds of node.
const (
	kindTool       = "tool"
	KindCapability = "capability" // a stored DAG
	kindScript     = "script"
	KindHost       = "host" // a built-in tool of the host, which a run skips
)

// Plan is a checked DAG: which nodes run, in which order, and which of them need a person's approval. A node within a
// stored capability has an id of the form outer/inner.
type Plan struct {
	Order      []string      `json:"order"`  // ids of the tasks, each after what it depends on
	Layers     [][]string    `json:"layers"` // ids of tasks that may run side by side
	Nodes      []PlannedNode `json:"nodes"`
	Capability string        `json:"capability,omitempty"` // with its version
	Warnings   []string      `json:"warnings"`

	request Request
	nodes   []node
	scopes  []scope
	defs    map[string]catalog.Capability // as they were when the run was checked, by the requested id
}

// NodeInfo identifies a node of a plan or a run.
type NodeInfo struct {
	ID        string   `json:"id"` // outer/inner within a capability
	Tool      string   `json:"tool"`
	Kind      string   `json:"kind"`
	DependsOn []string `json:"depends_on"`
}

// PlannedNode is one node of a plan.
type PlannedNode struct {
	NodeInfo
	Layer    int    `json:"layer"` // among the tasks of its scope
	When     string `json:"when,omitempty"`
	Approval string `json:"approval,omitempty"` // why a person must approve it before
}

// node is a task with all that its execution needs.
type node struct {
	PlannedNode
	scope  int // index of the scope that contains it
	inner  int // index of the scope it opens; -1: none
	task   catalog.Task
	tool   catalog.Tool
	deps   []int
	args   []argument
	when   *expression
	script *expression
	input  *Validator
	group  string
}

// argument is one argument of a node. path is its place in the arguments object.
type argument struct {
	name     string
	path     []string
	value    *value
	required bool
}

// scope is a DAG within the run: the requested one, or that of a capability.
type scope struct {
	owner  int // node that opens it; -1: the run
	prefix string
	nodes  []int
	byID   map[string]int // place in the scope
	order  []int
	output *value
	last   []int // nodes that nothing depends on
	params catalog.Schema
	given  json.RawMessage // parameters, if they are known before the run
}

// Calls reports whether the plan calls a tool for which own returns false.
func (p *Plan) Calls(own func(tool string) bool) bool {
	return slices.ContainsFunc(p.nodes, func(n node) bool { return n.Kind == kindTool && !own(n.task.Tool) })
}

// Rules define what a request is checked against and which calls need approval.
type Rules struct {
	Catalog Catalog
	Asks    func(catalog.Tool) string // why a call needs a person's approval, empty if not; nil: the function Asks
	Host    func(id string) bool      // whether only the host can call it; nil: no such tools
}

// Check checks a whole request: it reports every problem, up to 100, with its task and argument.
func Check(q Request, rules Rules) (*Plan, error) {
	c := &checker{
		Rules: rules, approve: q.Approve, intent: q.DAG.Intent, validators: map[string]*Validator{},
		plan: &Plan{request: q, defs: map[string]catalog.Capability{}, Warnings: []string{}, Order: []string{}, Layers: [][]string{}, Nodes: []PlannedNode{}},
	}
	c.root(q)
	if len(c.problems) > 0 {
		return nil, &CheckError{c.problems, c.open}
	}
	if !slices.ContainsFunc(c.plan.nodes, func(n node) bool { return n.Kind != KindHost }) {
		c.warn("nothing is called: the host carries out every task itself")
	}
	c.describe()
	return c.plan, nil
}

type checker struct {
	Rules
	approve    []string
	intent     string
	plan       *Plan
	problems   []Problem
	open       []Open
	stack      []string // enclosing capabilities, outermost first
	validators map[string]*Validator
}

func (c *checker) wrong(task, argument, format string, args ...any) {
	c.report(Problem{Task: task, Argument: argument, Detail: fmt.Sprintf(format, args...)})
}

func (c *checker) report(p Problem) {
	const most = 100
	if len(c.problems) < most {
		c.problems = append(c.problems, p)
	}
}

func (c *checker) warn(format string, args ...any) {
	if w := fmt.Sprintf(format, args...); !slices.Contains(c.plan.Warnings, w) {
		c.plan.Warnings = append(c.plan.Warnings, w)
	}
}

func (c *checker) root(q Request) {
	params := q.DAG.Params
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	var object map[string]json.RawMessage
	switch {
	case len(params) > maxParams:
		c.wrong("", "params", "has %d bytes, at most %d", len(params), maxParams)
		return
	case json.Unmarshal(params, &object) != nil || object == nil:
		c.wrong("", "params", "is not an object")
		return
	}
	if q.Capability == "" {
		if len(q.DAG.Tasks) == 0 {
			c.wrong("", "", "there are no tasks")
			return
		}
		c.scope(scope{owner: -1, given: params}, q.DAG.Tasks, q.DAG.Output)
		return
	}
	if len(q.DAG.Tasks) > 0 || len(q.DAG.Output) > 0 {
		c.wrong("", "dag", "a capability brings its own tasks and output")
		return
	}
	if _, ok := c.Catalog.Capability(q.Capability); !ok { // perhaps another spelling of its id
		id, err := c.Catalog.Resolve(q.Capability)
		if err != nil {
			c.wrong("", "capability", "%s", err)
			return
		}
		q.Capability, c.plan.request.Capability = id, id
	}
	def, ok := c.capability(q.Capability)
	if !ok {
		c.wrong("", "capability", "%q is unknown", q.Capability)
		return
	}
	c.plan.Capability = def.ID
	sc := scope{owner: -1, params: catalog.ReadSchema(def.InputSchema)}
	sc.given = withDefaults(params, sc.params)
	input, _ := c.validator(def.ID, def.InputSchema)
	for _, name := range sc.params.Required() {
		if _, ok := follow(sc.given, []step{{name, -1}}); !ok {
			at, _ := sc.params.Member(name)
			o := Open{"params", name, c.plan.Capability, shown(at)}
			c.missing(&sc, Problem{Argument: o.Key(), Detail: "is required and not given"}, o)
		}
	}
	wrong, _ := input.Check(sc.given)
	for _, w := range wrong {
		if w.At != "" || !w.Absent { // absent parameters are reported above
			c.wrong("", strings.TrimSuffix("params."+w.At, "."), "%s", w.Detail)
		}
	}
	if len(c.problems) > 0 {
		return
	}
	tasks := def.Tasks
	if len(tasks) == 0 { // one call of the capability itself
		task := catalog.Task{ID: "run", Tool: q.Capability, Arguments: literally(object)}
		c.scope(scope{owner: -1, given: params}, []catalog.Task{task}, nil)
		return
	}
	c.stack = append(c.stack, def.ID)
	c.scope(sc, tasks, def.Output)
}

// capability looks up a capability and stores its definition in the plan.
func (c *checker) capability(id string) (catalog.Capability, bool) {
	def, ok := c.Catalog.Capability(id)
	if ok {
		c.plan.defs[id] = def
	}
	return def, ok
}

// validator compiles the schema of an id once. An unusable schema gives a nil validator, which accepts everything; the
// error is returned the first time only.
func (c *checker) validator(id string, raw json.RawMessage) (v *Validator, err error) {
	v, known := c.validators[id]
	if !known {
		v, err = NewValidator(raw)
		c.validators[id] = v
	}
	return v, err
}

// scope adds the tasks of a DAG and, recursively, of the capabilities they call. It returns the index of the scope.
func (c *checker) scope(sc scope, tasks []catalog.Task, output json.RawMessage) int {
	at := len(c.plan.scopes)
	switch {
	case len(tasks) > catalog.MaxTasks:
		c.wrong(strings.TrimSuffix(sc.prefix, "/"), "", "%d tasks, at most %d", len(tasks), catalog.MaxTasks)
		return at
	case len(c.plan.nodes)+len(tasks) > MaxNodes:
		c.wrong(strings.TrimSuffix(sc.prefix, "/"), "", "the run would have more than %d nodes", MaxNodes)
		return at
	}
	sc.byID = map[string]int{}
	before := len(c.problems)
	for i, t := range tasks {
		path := sc.prefix + t.ID
		switch _, twice := sc.byID[t.ID]; {
		case t.ID == "":
			c.wrong(fmt.Sprintf("%s#%d", sc.prefix, i+1), "", "has no id")
		case twice:
			c.wrong(path, "", "occurs twice")
		case t.ID == "intent" || t.ID == "params" || strings.Contains(t.ID, "/"):
			c.wrong(path, "", "is not an id for a task: intent and params mean something else in references, and / stands between capabilities and their tasks")
		}
		sc.byID[t.ID] = i
		sc.nodes = append(sc.nodes, len(c.plan.nodes))
		planned := PlannedNode{NodeInfo: NodeInfo{ID: path}, When: t.When}
		c.plan.nodes = append(c.plan.nodes, node{PlannedNode: planned, scope: at, inner: -1, task: t})
	}
	c.plan.scopes = append(c.plan.scopes, sc)
	unsound := len(c.problems) > before

	s := &c.plan.scopes[at]
	compile := compiler(s.byID)
	for _, i := range s.nodes {
		c.find(&c.plan.nodes[i])
	}
	for _, i := range s.nodes {
		unsound = !c.link(s, &c.plan.nodes[i], compile) || unsound
	}
	if len(output) > 0 {
		v, err := compile.value(output)
		if err != nil {
			c.wrong(strings.TrimSuffix(s.prefix, "/"), "output", "%s", err)
		} else {
			s.output = v
		}
	}
	if unsound || !c.arrange(s) {
		return at
	}
	for _, i := range s.nodes {
		c.types(s, &c.plan.nodes[i])
	}
	if s.output != nil {
		c.outputTypes(s)
	}
	for _, i := range slices.Clone(s.nodes) {
		c.unfold(i) // may move c.plan.scopes and c.plan.nodes
	}
	return at
}

// find looks up the tool or capability that a node calls.
func (c *checker) find(n *node) {
	id := n.task.Tool
	if id == "" {
		c.wrong(n.ID, "", "has no tool")
		return
	}
	resolved, err := c.Catalog.Resolve(id)
	if err != nil {
		c.wrong(n.ID, "", "%s", err)
		return
	}
	n.task.Tool = resolved
	if c.Host != nil && c.Host(resolved) {
		n.Kind, n.tool = KindHost, catalog.Tool{ID: resolved}
		return
	}
	if t, ok := c.Catalog.Tool(resolved); ok {
		n.Kind, n.tool = kindTool, t
		switch {
		case Matches(c.approve, t.ID), slices.Contains(c.approve, n.ID):
		case c.Asks != nil:
			n.Approval = c.Asks(t)
		default:
			n.Approval = ApprovalReason(t)
		}
		return
	}
	def, ok := c.capability(resolved)
	if !ok {
		c.wrong(n.ID, "", "tool %q is unknown", id)
		return
	}
	n.tool = catalog.Tool{ID: def.ID, InputSchema: def.InputSchema, OutputSchema: def.OutputSchema}
	switch {
	case def.Script != nil && len(def.Tasks) == 0:
		n.Kind = kindScript
		if def.Script.Language != "expr" {
			c.wrong(n.ID, "", "capability %q: a script in %q cannot be run here, only one in expr", id, def.Script.Language)
			return
		}
		x, err := compileExpression(def.Script.Source, false)
		if err == nil && len(x.tasks) > 0 {
			err = errors.New("a script sees intent and params, not tasks")
		}
		if err != nil {
			c.wrong(n.ID, "", "capability %q: %s", id, err)
			return
		}
		n.script = x
	case len(def.Tasks) > 0:
		n.Kind = KindCapability
	default:
		c.wrong(n.ID, "", "capability %q has neither tasks nor a script: it can be suggested, not run", id)
	}
}

// link compiles the condition and the arguments of a node and sets its dependencies. It reports whether all
// dependencies are known.
func (c *checker) link(s *scope, n *node, compile compiler) (sound bool) {
	sound = true
	wrong := func(argument, format string, args ...any) {
		c.wrong(n.ID, argument, format, args...)
		sound = false
	}
	depend := func(argument string, ids ...string) {
		for _, id := range ids {
			switch i, ok := s.byID[id]; {
			case !ok:
				wrong(argument, "there is no task %q", id)
			case id == n.task.ID:
				wrong("", "depends on itself")
			default:
				n.deps = append(n.deps, s.nodes[i])
			}
		}
	}
	depend("depends_on", n.task.DependsOn...)
	if n.task.When != "" {
		x, err := compileExpression(n.task.When, true)
		if err != nil {
			wrong("when", "%s", err)
		} else {
			n.when = x
			depend("when", x.tasks...)
		}
	}
	switch n.task.OnError {
	case "", catalog.OnErrorContinue:
	default:
		c.wrong(n.ID, "on_error", "is %q; it is empty or %q", n.task.OnError, catalog.OnErrorContinue)
	}
	if n.task.TimeoutMS < 0 || n.task.TimeoutMS > int64(maxTimeout/time.Millisecond) {
		c.wrong(n.ID, "timeout_ms", "is %d, must be 0 to %d", n.task.TimeoutMS, maxTimeout/time.Millisecond)
	}
	for _, name := range slices.Sorted(maps.Keys(n.task.Arguments)) {
		v, err := compile.value(n.task.Arguments[name])
		if err != nil {
			wrong(name, "%s", err)
			continue
		}
		for _, read := range v.reads {
			depend(name, tasksOf(read)...)
		}
		n.args = append(n.args, argument{name: name, path: []string{name}, value: v})
	}
	slices.Sort(n.deps)
	n.deps = slices.Compact(n.deps)
	return sound
}

// arrange orders the tasks of a scope by layer, otherwise as written, or reports which of them form a cycle. The layer
// of a task is the length of the longest path to it from a task without dependencies.
func (c *checker) arrange(s *scope) bool {
	ids, deps := make([]string, len(s.nodes)), make([][]string, len(s.nodes))
	needed := map[int]bool{}
	for p, i := range s.nodes {
		n := &c.plan.nodes[i]
		ids[p] = n.task.ID
		for _, d := range n.deps {
			deps[p] = append(deps[p], c.plan.nodes[d].task.ID)
			needed[d] = true
		}
	}
	layers, err := catalog.Layers("task", ids, deps)
	if err != nil {
		c.wrong(strings.TrimSuffix(s.prefix, "/"), "", "%s (a reference to the result of a task makes it a dependency)", err)
		return false
	}
	size := map[int]int{}
	for p, i := range s.nodes {
		c.plan.nodes[i].Layer = layers[p]
		size[layers[p]]++
		if !needed[i] {
			s.last = append(s.last, i)
		}
	}
	s.order = slices.SortedStableFunc(slices.Values(s.nodes), func(a, b int) int { return c.plan.nodes[a].Layer - c.plan.nodes[b].Layer })
	for _, i := range s.nodes {
		if n := &c.plan.nodes[i]; size[n.Layer] > 1 {
			n.group = fmt.Sprintf("%slayer-%d", s.prefix, n.Layer+1)
		}
	}
	return true
}

// unfold adds the DAG of the capability that a node calls.
func (c *checker) unfold(i int) {
	n := &c.plan.nodes[i]
	if n.Kind != KindCapability {
		return
	}
	def := c.plan.defs[n.task.Tool]
	if slices.Contains(c.stack, def.ID) {
		c.wrong(n.ID, "", "capabilities call each other in a circle: %s", strings.Join(append(slices.Clone(c.stack), def.ID), " calls "))
		return
	}
	if len(c.stack) >= MaxDepth {
		c.wrong(n.ID, "", "capabilities within each other more than %d deep", MaxDepth)
		return
	}
	c.stack = append(c.stack, def.ID)
	at := c.scope(scope{owner: i, prefix: n.ID + "/", params: catalog.ReadSchema(def.InputSchema)}, def.Tasks, def.Output)
	c.stack = c.stack[:len(c.stack)-1]
	if at < len(c.plan.scopes) {
		c.plan.nodes[i].inner = at
	}
}

// withDefaults adds the default values of the members that an object lacks.
func withDefaults(object json.RawMessage, of catalog.Schema) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil || members == nil {
		return object
	}
	for _, name := range of.Names() {
		if members[name] != nil {
			continue
		}
		if v, ok := defaultOf(of, name); ok {
			members[name], _ = json.Marshal(v) // it was JSON
		}
	}
	out, err := json.Marshal(members)
	if err != nil {
		return object
	}
	return out
}

// defaultOf returns the default value of a member.
func defaultOf(of catalog.Schema, name string) (value any, ok bool) {
	member, _ := of.Member(name)
	value, ok = member.Object()["default"]
	return value, ok
}

// describe fills in the exported fields of the plan.
func (c *checker) describe() {
	p := c.plan
	root := &p.scopes[0]
	for _, i := range root.order {
		n := &p.nodes[i]
		p.Order = append(p.Order, n.task.ID)
		if n.Layer == len(p.Layers) {
			p.Layers = append(p.Layers, nil)
		}
		p.Layers[n.Layer] = append(p.Layers[n.Layer], n.task.ID)
	}
	var show func(s *scope)
	show = func(s *scope) {
		for _, i := range s.order {
			n := &p.nodes[i]
			n.Tool, n.DependsOn = n.task.Tool, []string{}
			for _, dep := range n.deps {
				n.DependsOn = append(n.DependsOn, p.nodes[dep].ID)
			}
			p.Nodes = append(p.Nodes, n.PlannedNode)
			if n.inner >= 0 {
				show(&p.scopes[n.inner])
			}
		}
	}
	show(root)
}
