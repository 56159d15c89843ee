package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waymark/catalog"
)

// Options of a run.
type Options struct {
	Caller  Caller
	Journal Journal
	Now     func() time.Time    // time.Now unless set
	Width   int                 // calls at once; default 8
	Timeout time.Duration       // of a call whose task says nothing; default 2 minutes
	Grace   time.Duration       // that calls under way are given at a shutdown; default 5 s
	Over    func(Status, *Plan) // told when the run has ended, before those who wait for it

	Shown func(intent string) string // how the intent stands in statuses; default as it is

	By string
}

func (o Options) filled() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Shown == nil {
		o.Shown = func(intent string) string { return intent }
	}
	o.Width, o.Timeout, o.Grace = cmp.Or(o.Width, 8), cmp.Or(o.Timeout, 2*time.Minute), cmp.Or(o.Grace, 5*time.Second)
	return o
}

// Run is a run under way, or one that has ended.
type Run struct {
	id, intent string
	plan       *Plan
	opts       Options

	mu        sync.Mutex
	status    Status
	results   []json.RawMessage // by node; nil: none
	params    []json.RawMessage // by scope; nil: it is not open yet
	blocked   []bool            // by node: skipped because something failed
	approved  []bool
	prepared  []json.RawMessage // arguments that were computed before a person was asked
	decoded   map[int]any       // results as expressions see them
	changed   chan struct{}     // closed and renewed at every change
	inFlight  int
	stopping  bool // the process ends: what is open stays open
	canceling bool
	broken    error // the journal takes no more

	kept atomic.Int64 // bytes of all results

	ended    chan nodeEnd
	wake     chan struct{}
	over     chan struct{}
	calls    context.Context
	stopCall context.CancelFunc
}

type nodeEnd struct {
	node      int
	status    Node
	result    json.RawMessage
	abandoned bool // the process ended it: nothing is known of what happened
	broken    error
}

// Start begins a run of a plan and returns when it is kept. It goes on until it ends; when ctx ends, calls
// under way get a grace and the rest is left to [Resume].
func Start(ctx context.Context, id string, p *Plan, o Options) (*Run, error) {
	r := newRun(ctx, id, p, o)
	if err := r.opts.Journal.Start(ctx, r.record()); err != nil {
		r.stopCall()
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	go r.loop(ctx)
	return r, nil
}

func (r *Run) record() Record {
	return Record{ID: r.id, Request: r.plan.request, Capabilities: r.plan.defs, StartedAt: r.status.StartedAt, By: r.opts.By}
}

// Resume goes on with a run that the process before did not end. p is the plan of its request, checked
// again (see [Past.Rules]). Nodes that ended are not run again. A node that began and did not end is interrupted: a person
// says whether it is run again.
func Resume(ctx context.Context, past Past, p *Plan, o Options) *Run {
	o.By = past.By
	r := newRun(ctx, past.ID, p, o)
	r.status.StartedAt = past.StartedAt
	for i := range p.nodes {
		n, ok := past.Nodes[p.nodes[i].path]
		if !ok || p.nodes[i].kind != kindTool {
			continue
		}
		now := &r.status.Nodes[i]
		if n.State.settled() {
			r.results[i] = n.Result
			r.kept.Add(int64(len(n.Result)))
			n.DependsOn = now.DependsOn
			*now = n
		} else {
			now.State, now.Attempts, now.StartedAt, now.Arguments = NodeInterrupted, n.Attempts, n.StartedAt, n.Arguments
			now.Reason = "it was under way when the process ended, and may have happened"
		}
	}
	go r.loop(ctx)
	return r
}

// Rules are those by which the request of a past run is checked again: with the capabilities as they were.
func (p Past) Rules(rules Rules) Rules {
	rules.Catalog = pastCatalog{rules.Catalog, p}
	return rules
}

type pastCatalog struct {
	Catalog
	past Past
}

// Capability is one as it was when the run was checked.
func (c pastCatalog) Capability(id string) (catalog.Capability, bool) {
	if def, ok := c.past.Capabilities[id]; ok {
		return def, true
	}
	return c.Catalog.Capability(id)
}

func newRun(ctx context.Context, id string, p *Plan, o Options) *Run {
	o = o.filled()
	r := &Run{
		id: id, intent: p.request.DAG.Intent, plan: p, opts: o,
		results: make([]json.RawMessage, len(p.nodes)), blocked: make([]bool, len(p.nodes)), approved: make([]bool, len(p.nodes)),
		prepared: make([]json.RawMessage, len(p.nodes)), params: make([]json.RawMessage, len(p.scopes)), decoded: map[int]any{},
		changed: make(chan struct{}), ended: make(chan nodeEnd), wake: make(chan struct{}, 1), over: make(chan struct{}),
		status: Status{
			ID: id, Capability: p.Capability, Intent: o.Shown(p.request.DAG.Intent), State: Running, StartedAt: o.Now().UTC(),
			Nodes: make([]Node, len(p.nodes)), Waiting: []string{}, Warnings: p.Warnings,
		},
	}
	r.calls, r.stopCall = context.WithCancel(context.WithoutCancel(ctx))
	r.params[0] = p.scopes[0].given
	for i := range p.nodes {
		n := &p.nodes[i]
		s := Node{ID: n.path, Tool: n.task.Tool, Kind: n.kind, State: NodeWaiting, DependsOn: []string{}}
		for _, d := range n.deps {
			s.DependsOn = append(s.DependsOn, p.nodes[d].path)
		}
		r.status.Nodes[i] = s
	}
	return r
}

// ID of the run.
func (r *Run) ID() string { return r.id }

// Over is closed when the run has ended, or was left to be resumed.
func (r *Run) Over() <-chan struct{} { return r.over }

// Status is the run as it is now.
func (r *Run) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.copied()
}

func (r *Run) copied() Status {
	s := r.status
	s.Nodes = slices.Clone(s.Nodes)
	s.Waiting = slices.Clone(s.Waiting)
	return s
}

// Watch yields the run as it is and after every change, briefly, and closes after the last. A slow reader
// misses steps in between, never the last one.
func (r *Run) Watch(ctx context.Context) <-chan Status {
	states := make(chan Status)
	go func() {
		defer close(states)
		for {
			r.mu.Lock()
			now, changed := r.copied().Brief(), r.changed
			r.mu.Unlock()
			select {
			case states <- now:
			case <-ctx.Done():
				return
			}
			if now.State.Over() {
				return
			}
			select {
			case <-changed:
			case <-r.over:
				if !r.Status().State.Over() {
					return // left to be resumed
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return states
}

// ErrNotWaiting says that a node does not wait for a person.
var ErrNotWaiting = errors.New("does not wait for a decision")

// Decide lets nodes that wait go on, or fails them: all that wait if none is named.
func (r *Run) Decide(paths []string, allow bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status.State.Over() {
		return fmt.Errorf("run %q has ended and %w", r.id, ErrNotWaiting)
	}
	if len(paths) == 0 {
		for _, n := range r.status.Nodes {
			if n.State == nodeApproval || n.State == NodeInterrupted {
				paths = append(paths, n.ID)
			}
		}
	}
	var chosen []int
	for _, path := range paths {
		i := slices.IndexFunc(r.status.Nodes, func(n Node) bool { return n.ID == path })
		if i < 0 || r.status.Nodes[i].State != nodeApproval && r.status.Nodes[i].State != NodeInterrupted {
			return fmt.Errorf("node %q %w", path, ErrNotWaiting)
		}
		chosen = append(chosen, i)
	}
	for _, i := range chosen {
		n := &r.status.Nodes[i]
		n.Arguments, n.Reason = nil, ""
		if allow {
			n.State, r.approved[i] = NodeWaiting, true
			continue
		}
		before := n.State
		n.State = NodeRunning // until the refusal is kept
		n.Reason = "not approved"
		if before == NodeInterrupted {
			n.Reason = "interrupted, and not to be done again"
		}
		r.refuse(i)
	}
	r.recount()
	r.status.State = Running // whoever looks before the loop does shall not see it wait
	r.nudge()
	return nil
}

// refuse fails a node that a person does not want.
func (r *Run) refuse(i int) {
	n := r.status.Nodes[i]
	n.State, n.ErrorKind, n.Error, n.Reason = NodeFailed, FailedPolicy, n.Reason, ""
	r.inFlight++
	go func() {
		err := r.opts.Journal.Ended(context.WithoutCancel(r.calls), r.id, n)
		r.ended <- nodeEnd{node: i, status: n, broken: err}
	}()
}

// Cancel ends the run: calls under way are given up, the rest is not begun.
func (r *Run) Cancel() {
	r.mu.Lock()
	r.canceling = true
	r.mu.Unlock()
	r.stopCall()
	r.nudge()
}

func (r *Run) nudge() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// loop owns the progress of the run.
func (r *Run) loop(ctx context.Context) {
	defer close(r.over)
	defer r.stopCall()
	stop := ctx.Done()
	var late <-chan time.Time
	for {
		r.mu.Lock()
		if !r.canceling && !r.stopping && r.broken == nil {
			r.advance()
		}
		finished := r.inFlight == 0 && (r.canceling || r.stopping || r.broken != nil || r.settledScope(0))
		r.recount()
		close(r.changed)
		r.changed = make(chan struct{})
		r.mu.Unlock()
		if finished {
			r.finish(ctx)
			return
		}
		select {
		case e := <-r.ended:
			r.mu.Lock()
			r.note(e)
			r.mu.Unlock()
		case <-r.wake:
		case <-stop:
			stop = nil
			r.mu.Lock()
			r.stopping = true
			r.mu.Unlock()
			late = time.After(r.opts.Grace)
		case <-late:
			r.stopCall()
		}
	}
}

// note takes in what became of a node.
func (r *Run) note(e nodeEnd) {
	r.inFlight--
	if e.broken != nil {
		r.broken = e.broken
	}
	if e.abandoned {
		return
	}
	r.status.Nodes[e.node] = e.status
	r.results[e.node] = e.result
}

// recount brings the summary of the status up to date.
func (r *Run) recount() {
	s := &r.status
	s.Done, s.Failed, s.Skipped, s.Waiting = 0, 0, 0, []string{}
	for i, n := range s.Nodes {
		if n.State == nodeApproval || n.State == NodeInterrupted {
			s.Waiting = append(s.Waiting, n.ID)
		}
		if r.plan.nodes[i].scope != 0 {
			continue
		}
		switch n.State {
		case NodeDone:
			s.Done++
		case NodeFailed:
			s.Failed++
		case NodeSkipped:
			s.Skipped++
		}
	}
	if s.State.Over() {
		return
	}
	s.State = Running
	if r.inFlight == 0 && len(s.Waiting) > 0 {
		s.State = Paused
	}
}

// finish ends the run, unless it is to be resumed.
func (r *Run) finish(ctx context.Context) {
	r.mu.Lock()
	s := &r.status
	if r.stopping && !r.canceling && !r.settledScope(0) {
		r.mu.Unlock()
		return
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		switch n.State {
		case NodeWaiting, nodeApproval:
			n.State, n.Reason = nodeNotRun, ""
		case NodeRunning:
			n.State = nodeCanceled
		case NodeInterrupted:
			n.State, n.Error, n.Reason = nodeCanceled, "interrupted; it may have happened", ""
		}
		n.Arguments = nil
	}
	state := Done
	switch {
	case r.broken != nil:
		state, s.Error = Failed, "the run could not be kept: "+r.broken.Error()
	case r.canceling:
		state = Canceled
	default:
		if n := r.plan.firstFailure(s.Nodes, 0); n != nil {
			state, s.Error = Failed, n.ID+": "+n.Error
			break
		}
		output, err := r.outputOf(0)
		if err != nil {
			state, s.Error = Failed, "output: "+err.Error()
		}
		s.Output = output
	}
	s.State, s.EndedAt = state, r.opts.Now().UTC()
	r.recount()
	last := r.copied()
	s.State, s.EndedAt, s.Output, s.Error = Running, time.Time{}, nil, "" // until it is kept, nobody sees the end
	r.mu.Unlock()

	if err := r.opts.Journal.End(context.WithoutCancel(ctx), last); err != nil {
		last.State, last.Error = Failed, "the end of the run could not be kept: "+err.Error()
	}
	if r.opts.Over != nil {
		r.opts.Over(last, r.plan)
	}
	r.mu.Lock()
	r.status = last
	close(r.changed)
	r.changed = make(chan struct{})
	r.mu.Unlock()
}

// work carries out one node: says that it begins, calls, and says how it ended.
func (r *Run) work(i int, s Node, arguments json.RawMessage, after []string) (end nodeEnd) {
	n := &r.plan.nodes[i]
	if n.kind == kindScript {
		return r.compute(i, s, arguments)
	}
	durable := context.WithoutCancel(r.calls)
	end = nodeEnd{node: i, status: s}
	if err := r.opts.Journal.Began(durable, r.id, s); err != nil {
		end.status.State, end.status.ErrorKind, end.status.Error = NodeFailed, FailedUnavailable, "not begun: it could not be kept"
		end.broken = err
		return end
	}
	end.status.Arguments = nil
	result, known := r.call(n, arguments, after)
	r.mu.Lock()
	canceling, stopping := r.canceling, r.stopping
	r.mu.Unlock()
	if !known && stopping && !canceling {
		end.abandoned = true
		return end
	}
	end.status.DurationMS = r.opts.Now().Sub(s.StartedAt).Milliseconds()
	switch {
	case !known && canceling:
		end.status.State, end.status.Error = nodeCanceled, "given up while under way; it may have happened"
	case result.Failure != "":
		end.status.State, end.status.ErrorKind, end.status.Error = NodeFailed, result.Failure, result.Message
	default:
		end.status.State, end.status.Unvalidated, end.status.Unrecorded, end.status.Misfit = NodeDone, result.Unvalidated, result.Unrecorded, result.Misfit
		end.result = resultOf(result)
		if long := r.tooLong(end.result); long != "" {
			end.result, end.status.State, end.status.ErrorKind = nil, NodeFailed, FailedTool
			end.status.Error = "it was done, but " + long
		}
		end.status.Result = end.result
	}
	end.broken = r.opts.Journal.Ended(durable, r.id, end.status)
	return end
}

// tooLong says why a result cannot be kept, or nothing.
func (r *Run) tooLong(result json.RawMessage) string {
	if len(result) > maxResult {
		return fmt.Sprintf("its result is larger than %d bytes", maxResult)
	}
	if size := int64(len(result)); r.kept.Add(size) > maxKept {
		r.kept.Add(-size)
		return fmt.Sprintf("all results of the run would be larger than %d bytes", maxKept)
	}
	return ""
}

// call calls a tool, and takes nothing amiss. known is false if nothing is known of what happened because the call was given
// up from here.
func (r *Run) call(n *node, arguments json.RawMessage, after []string) (result Result, known bool) {
	defer func() {
		if p := recover(); p != nil {
			result, known = Result{Failure: FailedUnavailable, Message: "internal error while calling"}, true
		}
	}()
	if r.opts.Caller == nil {
		return Result{Failure: FailedUnavailable, Message: "no servers are configured"}, true
	}
	timeout := r.opts.Timeout
	if n.task.TimeoutMS > 0 {
		timeout = time.Duration(n.task.TimeoutMS) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(r.calls, timeout)
	defer cancel()
	result, err := r.opts.Caller.Call(ctx, Call{
		Tool: n.task.Tool, ID: n.path, After: after, Source: r.opts.By, Arguments: arguments,
		Session: r.id, Group: n.group, Intent: r.intent, Approved: true,
	})
	switch {
	case err == nil && len(result.NeedsInput) > 0 && result.Failure == "":
		return Result{Failure: FailedPolicy, Message: "it asks for input, which a run cannot give"}, true
	case err == nil && result.Failure == FailedTimeout:
		result.Message += "; it may have happened"
		return result, true
	case err == nil:
		return result, true
	case r.calls.Err() != nil:
		return Result{}, false
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		return Result{Failure: FailedTimeout, Message: fmt.Sprintf("no answer within %s; it may have happened", timeout)}, true
	}
	return Result{Failure: FailedUnavailable, Message: "it is not known what happened: " + err.Error()}, true
}

// compute runs a script. It needs no journal: it gives the same again.
func (r *Run) compute(i int, s Node, arguments json.RawMessage) nodeEnd {
	s.Arguments = nil
	env := map[string]any{nameIntent: r.intent, nameParams: decode(arguments), nameTasks: map[string]any{}}
	v, err := r.plan.nodes[i].script.value(env)
	s.DurationMS = r.opts.Now().Sub(s.StartedAt).Milliseconds()
	if err != nil {
		s.State, s.ErrorKind, s.Error = NodeFailed, FailedTool, err.Error()
		return nodeEnd{node: i, status: s}
	}
	s.State, s.Result = NodeDone, v
	return nodeEnd{node: i, status: s, result: v}
}

// resultOf is what other nodes see of a call: the structured content, else the text, as JSON if it is an
// object or a list.
func resultOf(r Result) json.RawMessage {
	if s := bytes.TrimSpace(r.Structured); len(s) > 0 && json.Valid(s) && string(s) != "null" {
		return s
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(r.Content, &blocks) != nil {
		return json.RawMessage("null")
	}
	var texts []string
	for _, b := range blocks {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	if len(texts) == 0 {
		return json.RawMessage("null")
	}
	text := strings.TrimSpace(strings.Join(texts, "\n"))
	if text != "" && (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	b, _ := json.Marshal(strings.Join(texts, "\n")) // a string: cannot fail
	return b
}

// decode reads JSON for an expression: whole numbers stay whole.
func decode(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return plainNumbers(v)
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil && i >= math.MinInt && i <= math.MaxInt {
			return int(i)
		}
		f, _ := v.Float64() // beyond the range it is infinite, which no value may be
		return f
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}

// firstFailure is the first node of a scope, in order, that failed and may not, nil if there is none.
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

// outputOf is what a scope gives back.
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
		return r.results[s.last[0]], nil
	}
	out := map[string]json.RawMessage{}
	for _, i := range s.last {
		if r.results[i] != nil {
			out[r.plan.nodes[i].id] = r.results[i]
		}
	}
	return json.Marshal(out)
}

// advance settles what can be settled without a call, and begins the calls that may begin.
func (r *Run) advance() {
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
				r.close(owner, scope)
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
	if n.kind == KindHost {
		r.skip(i, "the host carries it out itself")
		return true
	}
	arguments := r.prepared[i]
	if arguments == nil {
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
		var ok bool
		if arguments, ok = r.arguments(i); !ok {
			return true
		}
	}
	if n.kind == KindCapability {
		s.State, s.StartedAt, s.Attempts = NodeRunning, r.opts.Now().UTC(), 1
		r.params[n.inner] = arguments
		return true
	}
	if n.ask != "" && !r.approved[i] {
		s.State, s.Arguments, s.Reason = nodeApproval, arguments, n.ask
		r.prepared[i] = arguments
		return true
	}
	if r.inFlight >= r.opts.Width {
		r.prepared[i] = arguments
		return false
	}
	s.State, s.StartedAt, s.Reason = NodeRunning, r.opts.Now().UTC(), ""
	s.Attempts++
	r.inFlight++
	r.prepared[i] = nil
	began := *s
	began.Arguments = arguments
	after := r.after(i, []string{})
	go func() { r.ended <- r.work(i, began, arguments, after) }()
	return true
}

// after adds the ids of the calls that a node comes after: of a capability those it ends with, and of a node
// that begins one those that the capability comes after. What was skipped hands on what it came after.
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
	case r.status.Nodes[i].State == NodeSkipped || n.kind == kindScript:
		return r.after(i, ids)
	case n.kind == KindCapability:
		for _, last := range r.plan.scopes[n.inner].last {
			ids = r.calledIn(last, ids)
		}
		return ids
	case slices.Contains(ids, n.path):
		return ids
	}
	return append(ids, r.plan.nodes[i].path)
}

// arguments computes those of a node; ok is false if it is settled instead.
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
	out, err := json.Marshal(tree)
	if err != nil {
		r.fail(i, FailedArgument, err.Error())
		return nil, false
	}
	if n.inner >= 0 {
		out = withDefaults(out, r.plan.scopes[n.inner].defaults)
	} else if n.kind == kindScript {
		out = withDefaults(out, defaultsOf(n.tool.InputSchema))
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

// passOver says of what is in a capability that was not opened that it is not run.
func (r *Run) passOver(i int) {
	if n := &r.plan.nodes[i]; n.inner >= 0 && r.params[n.inner] == nil {
		for _, j := range r.plan.scopes[n.inner].nodes {
			r.status.Nodes[j].State = nodeNotRun
			r.passOver(j)
		}
	}
}

// close ends a capability whose tasks are settled.
func (r *Run) close(i, scope int) {
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
	r.results[i] = out
}

// scopeView is what the values of a scope can refer to.
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
		if from = v.r.results[i]; from == nil {
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
		if !known && !n.Misfit && v.r.results[i] != nil {
			result = decode(v.r.results[i])
			v.r.decoded[i] = result
		}
		tasks[id] = map[string]any{"result": result, "state": string(n.State), "error": n.Error}
	}
	return map[string]any{nameIntent: v.r.intent, nameParams: decode(v.r.params[v.scope]), nameTasks: tasks}
}
