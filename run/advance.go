package run

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
)

// firstFailure returns the first node of a scope, in order, that failed without on_error; nil if there is none.
func (p *Plan) firstFailure(nodes []Node, scope int) *Node {
	for _, i := range p.scopes[scope].order {
		if n := &nodes[i]; n.State == NodeFailed && p.nodes[i].task.OnError == "" {
			return n
		}
	}
	return nil
}

// settled reports whether all of some nodes are settled.
func (r *Run) settled(nodes []int) bool {
	return !slices.ContainsFunc(nodes, func(i int) bool { return !r.status.Nodes[i].State.settled() })
}

// settledScope reports whether every node of a scope is settled.
func (r *Run) settledScope(scope int) bool { return r.settled(r.plan.scopes[scope].nodes) }

// outputOf returns the output of a scope: its output value, or else the results of its last nodes.
func (r *Run) outputOf(scope int) (json.RawMessage, error) {
	s := &r.plan.scopes[scope]
	if s.output != nil {
		v, missing, err := s.output.eval(scopeView{r, scope})
		if missing != nil {
			return nil, nil
		}
		return v, err
	}
	if len(s.last) == 1 {
		return r.status.Nodes[s.last[0]].Result, nil
	}
	out := map[string]json.RawMessage{}
	for _, i := range s.last {
		if result := r.status.Nodes[i].Result; result != nil {
			out[r.plan.nodes[i].task.ID] = result
		}
	}
	return json.Marshal(out)
}

// advance settles the nodes that need no call, and begins the calls that are ready.
func (r *Run) advance() {
	if r.canceling || r.stopping || r.broken != nil {
		return
	}
	for changed := true; changed; {
		changed = false
		for scope := range r.plan.scopes {
			if r.params[scope] == nil {
				continue
			}
			for _, i := range r.plan.scopes[scope].order {
				if r.status.Nodes[i].State == NodeWaiting && r.settled(r.plan.nodes[i].deps) {
					changed = r.begin(i) || changed
				}
			}
			if owner := r.plan.scopes[scope].owner; owner >= 0 && r.status.Nodes[owner].State == NodeRunning && r.settledScope(scope) {
				r.settleCapability(owner, scope)
				changed = true
			}
		}
	}
}

// begin begins a node, or settles it. It reports whether anything changed.
func (r *Run) begin(i int) bool {
	n, s := &r.plan.nodes[i], &r.status.Nodes[i]
	for _, d := range n.deps {
		switch state := r.status.Nodes[d].State; {
		case state == NodeFailed && r.plan.nodes[d].task.OnError == "", state == NodeSkipped && r.blocked[d]:
			r.blocked[i] = true
			r.skip(i, fmt.Sprintf("because %s %s", r.status.Nodes[d].ID, state))
			return true
		}
	}
	if n.Kind == KindHost {
		r.skip(i, "the host carries it out itself")
		return true
	}
	if n.Kind != KindCapability && r.inFlight >= width {
		return false
	}
	if n.when != nil {
		holds, err := n.when.condition(scopeView{r, n.scope}.environment(n.when))
		if err != nil {
			r.fail(i, FailedArgument, "when: "+err.Error())
			return true
		}
		if !holds {
			r.skip(i, "its condition does not hold")
			return true
		}
	}
	arguments, ok := r.arguments(i)
	if !ok {
		return true
	}
	if n.Kind == KindCapability {
		s.State, s.StartedAt, s.Attempts = NodeRunning, r.opts.Now().UTC(), 1
		r.params[n.inner] = arguments
		return true
	}
	if n.Approval != "" && !r.approved[i] {
		s.State, s.Arguments, s.Reason = nodeApproval, arguments, n.Approval
		return true
	}
	s.State, s.StartedAt, s.Reason = NodeRunning, r.opts.Now().UTC(), ""
	s.Attempts++
	r.inFlight++
	began := *s
	began.Arguments = arguments
	after := r.after(i, []string{})
	go func() { r.note(r.work(i, began, arguments, after)) }()
	return true
}

// after appends the ids of the calls that a node comes after. For a capability as predecessor, these are its last
// calls. For a first node of a capability, they are the calls that the capability comes after. A skipped node or a
// script is replaced by its own predecessors.
func (r *Run) after(i int, ids []string) []string {
	n := &r.plan.nodes[i]
	if owner := r.plan.scopes[n.scope].owner; len(n.deps) == 0 && owner >= 0 {
		return r.after(owner, ids)
	}
	for _, d := range n.deps {
		ids = r.calledIn(d, ids)
	}
	return ids
}

func (r *Run) calledIn(i int, ids []string) []string {
	switch n := &r.plan.nodes[i]; {
	case r.status.Nodes[i].State == NodeSkipped || n.Kind == kindScript:
		return r.after(i, ids)
	case n.Kind == KindCapability:
		for _, last := range r.plan.scopes[n.inner].last {
			ids = r.calledIn(last, ids)
		}
		return ids
	case slices.Contains(ids, n.ID):
		return ids
	}
	return append(ids, r.plan.nodes[i].ID)
}

// arguments computes the arguments of a node. ok is false if the node was settled instead.
func (r *Run) arguments(i int) (_ json.RawMessage, ok bool) {
	n := &r.plan.nodes[i]
	tree := map[string]any{}
	for _, a := range n.args {
		v, missing, err := a.value.eval(scopeView{r, n.scope})
		switch {
		case err != nil:
			r.fail(i, FailedArgument, fmt.Sprintf("argument %q: %v", a.name, err))
			return nil, false
		case missing != nil && !a.required:
			continue
		case missing != nil && missing.skipped:
			r.skip(i, fmt.Sprintf("because %s has no result, which %s needs", r.status.Nodes[missing.task].ID, a.name))
			return nil, false
		case missing != nil:
			r.fail(i, FailedArgument, fmt.Sprintf("argument %q: %v", a.name, missing))
			return nil, false
		}
		at := tree
		for _, part := range a.path[:len(a.path)-1] {
			next, _ := at[part].(map[string]any)
			if next == nil {
				next = map[string]any{}
				at[part] = next
			}
			at = next
		}
		at[a.path[len(a.path)-1]] = v
	}
	out, _ := json.Marshal(tree) // of JSON: cannot fail
	if n.Kind != kindTool {
		out = withDefaults(out, catalog.ReadSchema(n.tool.InputSchema))
	}
	if wrong, _ := n.input.Check(out); len(wrong) > 0 {
		var all []string
		for _, w := range wrong {
			all = append(all, w.String())
		}
		r.fail(i, FailedArgument, "arguments: "+strings.Join(all, "; "))
		return nil, false
	}
	return out, true
}

func (r *Run) skip(i int, why string) {
	s := &r.status.Nodes[i]
	s.State, s.Reason = NodeSkipped, why
	r.passOver(i)
}

func (r *Run) fail(i int, kind Failure, why string) {
	s := &r.status.Nodes[i]
	s.State, s.ErrorKind, s.Error, s.Arguments = NodeFailed, kind, why, nil
	r.passOver(i)
}

// passOver marks the nodes within a capability that was not opened as not run.
func (r *Run) passOver(i int) {
	if n := &r.plan.nodes[i]; n.inner >= 0 && r.params[n.inner] == nil {
		for _, j := range r.plan.scopes[n.inner].nodes {
			r.status.Nodes[j].State = nodeNotRun
			r.passOver(j)
		}
	}
}

// settleCapability settles node i, a capability, whose tasks, the nodes of the scope, are all settled.
func (r *Run) settleCapability(i, scope int) {
	s := &r.status.Nodes[i]
	s.DurationMS = r.opts.Now().Sub(s.StartedAt).Milliseconds()
	if n := r.plan.firstFailure(r.status.Nodes, scope); n != nil {
		s.State, s.ErrorKind, s.Error = NodeFailed, n.ErrorKind, n.ID+": "+n.Error
		return
	}
	out, err := r.outputOf(scope)
	if err != nil {
		s.State, s.ErrorKind, s.Error = NodeFailed, FailedTool, "output: "+err.Error()
		return
	}
	s.State, s.Result = NodeDone, out
}

// scopeView resolves the references of the values in a scope.
type scopeView struct {
	r     *Run
	scope int
}

func (v scopeView) resolve(ref *reference) (json.RawMessage, *missingError) {
	var from json.RawMessage
	switch ref.from {
	case fromIntent:
		b, _ := json.Marshal(v.r.intent) // a string: cannot fail
		return b, nil
	case fromParams:
		from = v.r.params[v.scope]
	case fromTask:
		i := v.r.plan.scopes[v.scope].nodes[ref.task]
		if n := v.r.status.Nodes[i]; n.Misfit {
			return nil, &missingError{ref.text + ": the result of " + n.ID + " does not fit the output schema of its tool", false, i}
		}
		if from = v.r.status.Nodes[i].Result; from == nil {
			return nil, &missingError{ref.text, v.r.status.Nodes[i].State != NodeDone, i}
		}
	}
	out, ok := follow(from, ref.path)
	if !ok {
		return nil, &missingError{text: ref.text}
	}
	return out, nil
}

func (v scopeView) environment(x *expression) map[string]any {
	tasks := map[string]any{}
	s := &v.r.plan.scopes[v.scope]
	for _, id := range x.tasks {
		i := s.nodes[s.byID[id]]
		n := v.r.status.Nodes[i]
		result, known := v.r.decoded[i]
		if !known && !n.Misfit && n.Result != nil {
			result = decode(n.Result)
			v.r.decoded[i] = result
		}
		tasks[id] = map[string]any{"result": result, "state": string(n.State), "error": n.Error}
	}
	return map[string]any{nameIntent: v.r.intent, nameParams: decode(v.r.params[v.scope]), nameTasks: tasks}
}
