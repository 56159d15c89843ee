package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	Grace   time.Duration       // time for calls in progress to end at a shutdown; default 5 s
	Over    func(Status, *Plan) // called when the run has ended, before its waiters are notified

	Shown func(intent string) string // form of the intent in statuses; default unchanged

	By string
}

func (o Options) filled() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Shown == nil {
		o.Shown = func(intent string) string { return intent }
	}
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	return o
}

// Run is a run in progress, or one that has ended.
type Run struct {
	id, intent string
	plan       *Plan
	opts       Options

	mu        sync.Mutex
	status    Status
	params    []json.RawMessage // by scope; nil: the scope is not open yet
	blocked   []bool            // by node: skipped because a node before it failed
	approved  []bool
	decoded   map[int]any   // results, by node, in the form for expressions
	changed   chan struct{} // closed and renewed at every change
	inFlight  int
	stopping  bool // the process ends: open nodes stay open
	parked    bool // the run waits in the journal for a decision
	canceling bool
	ending    bool        // no further step is made
	broken    error       // error of the journal; it ends the run
	unwatch   func() bool // stops watching for the end of the process; nil: the run has not begun

	kept atomic.Int64 // bytes of all results

	over     chan struct{}
	calls    context.Context
	stopCall context.CancelFunc
}

type nodeEnd struct {
	node          int
	status        Node
	effectUnknown bool // the end of the process stopped the call: its effect is unknown
	broken        error
}

// Start begins a run of a plan and returns when the journal has stored it. The run continues until it ends, or until
// all that remains waits for a person. When ctx ends, calls in progress get a grace period; the rest is left to
// [Resume].
func Start(ctx context.Context, id string, p *Plan, o Options) (*Run, error) {
	r := newRun(ctx, id, p, o)
	record := Record{ID: id, Request: p.request, Capabilities: p.defs, StartedAt: r.status.StartedAt, By: r.opts.By}
	if err := r.opts.Journal.Start(ctx, record, r.status); err != nil {
		r.stopCall()
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	return r.proceed(ctx, nil), nil
}

// Resume continues a run that waits in the journal, or that the previous process did not end. p is the plan of its
// request, checked again (see [Past.Rules]). Nodes that ended are not run again. A node that began and did not end is
// interrupted: a person decides whether it is run again. first, if not nil, decides about the run before it continues.
func Resume(ctx context.Context, past Past, p *Plan, o Options, first func(*Run)) *Run {
	o.By = past.By
	r := newRun(ctx, past.ID, p, o)
	r.status.StartedAt = past.StartedAt
	for i := range p.nodes {
		if n := &p.nodes[i]; n.Approval == "" && slices.Contains(past.Waiting, n.ID) { // even if it was granted since
			n.Approval = "it waited for a decision"
		}
		n, ok := past.Nodes[p.nodes[i].ID]
		if !ok || p.nodes[i].Kind != kindTool {
			continue
		}
		now := &r.status.Nodes[i]
		if n.State.settled() {
			r.kept.Add(int64(len(n.Result)))
			n.DependsOn = now.DependsOn
			*now = n
		} else {
			now.State, now.Attempts, now.StartedAt, now.Arguments = NodeInterrupted, n.Attempts, n.StartedAt, n.Arguments
			now.Reason = "it was under way when the process ended, and may have happened"
		}
	}
	return r.proceed(ctx, first)
}

// Rules returns the rules by which the request of a past run is checked again: with the capabilities as they were then.
func (p Past) Rules(rules Rules) Rules {
	rules.Catalog = pastCatalog{rules.Catalog, p}
	return rules
}

type pastCatalog struct {
	Catalog
	past Past
}

// Capability returns a capability as it was when the run was checked.
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
		blocked: make([]bool, len(p.nodes)), approved: make([]bool, len(p.nodes)),
		params: make([]json.RawMessage, len(p.scopes)), decoded: map[int]any{},
		changed: make(chan struct{}), over: make(chan struct{}),
		status: Status{
			ID: id, Capability: p.Capability, Intent: o.Shown(p.request.DAG.Intent), State: Running, StartedAt: o.Now().UTC(),
			Nodes: make([]Node, len(p.nodes)), Waiting: []string{}, Warnings: p.Warnings,
		},
	}
	r.calls, r.stopCall = context.WithCancel(context.WithoutCancel(ctx))
	r.params[0] = p.scopes[0].given
	for i := range p.nodes {
		r.status.Nodes[i] = Node{NodeInfo: p.nodes[i].NodeInfo, State: NodeWaiting}
	}
	return r
}

// ID returns the id of the run.
func (r *Run) ID() string { return r.id }

// Over returns a channel that is closed when the run has ended, or is left to be resumed.
func (r *Run) Over() <-chan struct{} { return r.over }

// Changed returns a channel that is closed at the next change of the status.
func (r *Run) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// Status returns a copy of the current status.
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

// ErrNotWaiting means that a node does not wait for a person.
var ErrNotWaiting = errors.New("does not wait for a decision")

// ErrParked means that a run waits in the journal and has to be resumed to continue.
var ErrParked = errors.New("the run waits in the journal")

// Decide allows waiting nodes to run, or refuses them, which makes them fail. Without paths it decides about all
// waiting nodes.
func (r *Run) Decide(paths []string, allow bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.decidable(); err != nil {
		return err
	}
	r.advance() // in a resumed run, no node waits for a decision before this
	r.recount()
	for _, path := range paths {
		if !slices.Contains(r.status.Waiting, path) {
			return fmt.Errorf("node %q %w", path, ErrNotWaiting)
		}
	}
	for i := range r.status.Nodes {
		n := &r.status.Nodes[i]
		if !slices.Contains(r.status.Waiting, n.ID) || len(paths) > 0 && !slices.Contains(paths, n.ID) {
			continue
		}
		n.Arguments, n.Reason = nil, ""
		if allow {
			n.State, r.approved[i] = NodeWaiting, true
			continue
		}
		before := n.State
		n.State = NodeRunning // until the journal has stored the refusal
		n.Reason = "not approved"
		if before == NodeInterrupted {
			n.Reason = "interrupted, and not to be done again"
		}
		r.refuse(i)
	}
	r.recount()
	r.status.State = Running // a status read before the next step must not show Paused
	r.step()
	return nil
}

func (r *Run) decidable() error {
	switch {
	case r.status.State.Over():
		return fmt.Errorf("run %q has ended (%s) and %w", r.id, r.status.State, ErrNotWaiting)
	case r.parked:
		return ErrParked
	}
	return nil
}

// refuse makes a node fail that a person did not approve.
func (r *Run) refuse(i int) {
	n := r.status.Nodes[i]
	n.State, n.ErrorKind, n.Error, n.Reason = NodeFailed, FailedPolicy, n.Reason, ""
	r.inFlight++
	go func() {
		err := r.opts.Journal.Ended(context.WithoutCancel(r.calls), r.id, n)
		r.note(nodeEnd{node: i, status: n, broken: err})
	}()
}

// Cancel ends the run: it abandons the calls in progress and begins no others.
func (r *Run) Cancel() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.decidable(); err != nil {
		return err
	}
	r.canceling = true
	r.stopCall()
	r.step()
	return nil
}

// proceed starts or continues the run after first has decided about it. When ctx ends, no further node begins, and
// calls in progress get a grace period.
func (r *Run) proceed(ctx context.Context, first func(*Run)) *Run {
	if first != nil {
		first(r)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unwatch = context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.stopping = true
		time.AfterFunc(r.opts.Grace, r.stopCall)
		r.step()
	})
	go func() { // a goroutine, so that the caller gets its answer before the run begins
		r.mu.Lock()
		defer r.mu.Unlock()
		r.step()
	}()
	return r
}

// step continues the run after a change: it settles and begins the nodes that are ready. It ends the run if nothing
// more can happen, and parks it if nothing can happen before a person decides. It does nothing before the run has
// begun. The caller holds mu.
func (r *Run) step() {
	if r.unwatch == nil || r.ending {
		return
	}
	r.advance()
	r.recount()
	// A run that is stopping is not parked: it is resumed later, and waits then.
	r.parked = r.status.State == Paused && !r.canceling && !r.stopping && r.broken == nil
	r.ending = r.parked || r.inFlight == 0 && (r.canceling || r.stopping || r.broken != nil || r.settledScope(0))
	r.wake()
	if r.ending {
		go r.finish()
	}
}

// wake notifies those who wait for a change. The caller holds mu.
func (r *Run) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// note applies the end of a node to the run.
func (r *Run) note(e nodeEnd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight--
	r.broken = cmp.Or(e.broken, r.broken)
	if !e.effectUnknown {
		r.status.Nodes[e.node] = e.status
	}
	r.step()
}

// recount updates the summary in the status.
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

// endNodes sets the final state of all nodes of a run that ends.
func (s *Status) endNodes() {
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
}

// Cancel ends a run that no process executes.
func (s *Status) Cancel(at time.Time) {
	s.endNodes()
	s.State, s.EndedAt, s.Waiting = Canceled, at.UTC(), []string{}
}

// finish ends the run, unless it is to be resumed.
func (r *Run) finish() {
	defer close(r.over)
	defer r.stopCall()
	r.unwatch()
	durable := context.WithoutCancel(r.calls)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.status
	if r.parked {
		now := r.copied()
		r.mu.Unlock()
		_ = r.opts.Journal.Leave(durable, now) // if it fails, the run counts as interrupted by the end of the process
		r.mu.Lock()
		r.wake() // watchers continue with the journal
		return
	}
	if r.stopping && !r.canceling && !r.settledScope(0) {
		return
	}
	s.endNodes()
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
	s.State, s.EndedAt, s.Output, s.Error = Running, time.Time{}, nil, "" // the end is visible only after it is stored
	r.mu.Unlock()
	if err := r.opts.Journal.Leave(durable, last); err != nil {
		last.State, last.Error = Failed, "the end of the run could not be kept: "+err.Error()
	}
	if r.opts.Over != nil {
		r.opts.Over(last, r.plan)
	}
	r.mu.Lock()
	r.status = last
	r.wake()
}
