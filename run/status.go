package run

import (
	"context"
	"encoding/json"
	"time"

	"waymark/catalog"
)

// State of a run.
type State string

const (
	Running  State = "running"
	Paused   State = "paused" // until a person decides about the nodes that wait
	Done     State = "done"
	Failed   State = "failed" // a node failed, or the output could not be computed or stored
	Canceled State = "canceled"
)

// Over reports whether a run has ended.
func (s State) Over() bool { return s == Done || s == Failed || s == Canceled }

// NodeState is the state of a node of a run.
type NodeState string

const (
	NodeWaiting     NodeState = "waiting"
	NodeRunning     NodeState = "running"
	nodeApproval    NodeState = "awaiting_approval"
	NodeInterrupted NodeState = "interrupted" // begun before a crash, may have happened; a person decides about a retry
	NodeDone        NodeState = "done"
	NodeFailed      NodeState = "failed"
	NodeSkipped     NodeState = "skipped"
	nodeCanceled    NodeState = "canceled"
	nodeNotRun      NodeState = "not_run"
)

func (s NodeState) settled() bool {
	return s != NodeWaiting && s != NodeRunning && s != nodeApproval && s != NodeInterrupted
}

// Node is one node of a run as it is now. Times are absent where they are not yet known.
type Node struct {
	NodeInfo
	State       NodeState       `json:"state"`
	Attempts    int             `json:"attempts,omitempty"`
	StartedAt   time.Time       `json:"started_at,omitzero"`
	DurationMS  int64           `json:"duration_ms,omitempty"`
	Arguments   json.RawMessage `json:"arguments,omitempty"` // while a person has to approve it
	Result      json.RawMessage `json:"result,omitempty"`
	ErrorKind   Failure         `json:"error_kind,omitempty"`
	Error       string          `json:"error,omitempty"`
	Reason      string          `json:"reason,omitempty"`      // why it was skipped, or why a person is asked
	Unvalidated string          `json:"unvalidated,omitempty"` // why the result is not known to fit its schema
	Misfit      bool            `json:"misfit,omitempty"`      // the result does not fit its schema: references see none
	Unrecorded  string          `json:"unrecorded,omitempty"`  // why the call is not in the history although it should be
}

// Status is the current status of a run.
type Status struct {
	ID         string          `json:"id"`
	Capability string          `json:"capability,omitempty"`
	Intent     string          `json:"intent,omitempty"`
	State      State           `json:"state"`
	StartedAt  time.Time       `json:"started_at"`
	EndedAt    time.Time       `json:"ended_at,omitzero"`
	Nodes      []Node          `json:"nodes"`
	Waiting    []string        `json:"waiting"` // nodes that a person has to decide about
	Done       int             `json:"done"`    // number of nodes, of the DAG itself only
	Failed     int             `json:"failed"`
	Skipped    int             `json:"skipped"`
	Output     json.RawMessage `json:"output,omitempty"`
	Error      string          `json:"error,omitempty"`
	Warnings   []string        `json:"warnings"`
}

// Brief is a status without arguments, results and output.
func (s Status) Brief() Status {
	nodes := make([]Node, len(s.Nodes))
	for i, n := range s.Nodes {
		n.Arguments, n.Result = nil, nil
		nodes[i] = n
	}
	s.Nodes, s.Output = nodes, nil
	return s
}

// Record is a run at its start. It contains the capabilities that the run needs, so that later changes of the catalog
// do not affect the run.
type Record struct {
	ID           string                        `json:"id"`
	Request      Request                       `json:"request"`
	Capabilities map[string]catalog.Capability `json:"capabilities,omitempty"`
	StartedAt    time.Time                     `json:"started_at"`
	By           string                        `json:"by,omitempty"`
}

// A Journal stores what another process needs to continue a run. Each method returns when its data is durable. Only
// calls of tools are recorded: everything else follows from them.
//
//	Start ─▶ Began t1 ─▶ (call) ─▶ Ended t1 ─▶ (its result is used) … ─▶ Leave
//
// So it is unknown only for a node that began and did not end whether its call happened. Leave is called when a run has
// ended, and when nothing can happen before a person decides: then the run waits in the journal until [Resume]
// continues it.
type Journal interface {
	Start(ctx context.Context, r Record, s Status) error
	Began(ctx context.Context, run string, n Node) error
	Ended(ctx context.Context, run string, n Node) error
	Leave(ctx context.Context, s Status) error
}

// Past is the content of a journal about a run that has not ended: the nodes that began, by path, in their last
// recorded state.
type Past struct {
	Record
	Nodes   map[string]Node
	Waiting []string // paths of nodes that waited for a decision
}

// CapabilityRun is the outcome of one capability in a run: the requested one, or one within it.
type CapabilityRun struct {
	ID         string
	Path       string    // of its node; empty: the requested capability
	Outcome    NodeState // NodeDone, or NodeFailed with a failure held against its tools
	ErrorKind  Failure
	DurationMS int64
}

// Failure returns the kind of failure that made a run fail: that of the first node that failed without on_error, or
// else FailedTool, because the results gave no valid output. It is empty for a run that did not fail.
func (p *Plan) Failure(s Status) Failure {
	if s.State != Failed {
		return ""
	}
	if n := p.firstFailure(s.Nodes, 0); n != nil {
		return n.ErrorKind
	}
	return FailedTool
}

// CapabilityRuns lists the capabilities of a run that has ended, except those whose outcome says nothing about them
// (see [Failure.Held]).
func (p *Plan) CapabilityRuns(s Status) (all []CapabilityRun) {
	add := func(r CapabilityRun) {
		if r.Outcome == NodeDone || r.Outcome == NodeFailed && r.ErrorKind.Held() {
			all = append(all, r)
		}
	}
	if def, ok := p.defs[p.request.Capability]; ok && len(def.Tasks) > 0 {
		state := NodeDone
		if s.State == Failed {
			state = NodeFailed
		}
		add(CapabilityRun{def.ID, "", state, p.Failure(s), s.EndedAt.Sub(s.StartedAt).Milliseconds()})
	}
	for i, n := range p.nodes {
		if now := s.Nodes[i]; n.Kind != kindTool {
			add(CapabilityRun{p.defs[n.task.Tool].ID, n.ID, now.State, now.ErrorKind, now.DurationMS})
		}
	}
	return all
}
