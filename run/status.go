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
	Failed   State = "failed" // a node failed, or what came of the nodes is no answer
	Canceled State = "canceled"
)

// Over reports whether a run has ended.
func (s State) Over() bool { return s == Done || s == Failed || s == Canceled }

// NodeState is where a node of a run stands.
type NodeState string

const (
	NodeWaiting     NodeState = "waiting"
	NodeRunning     NodeState = "running"
	nodeApproval    NodeState = "awaiting_approval"
	NodeInterrupted NodeState = "interrupted" // begun before a crash: it may have happened, and a person decides whether it is done again
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
	ID          string          `json:"id"`
	Tool        string          `json:"tool"`
	Kind        string          `json:"kind"`
	DependsOn   []string        `json:"depends_on"`
	State       NodeState       `json:"state"`
	Attempts    int             `json:"attempts,omitempty"`
	StartedAt   time.Time       `json:"started_at,omitzero"`
	DurationMS  int64           `json:"duration_ms,omitempty"`
	Arguments   json.RawMessage `json:"arguments,omitempty"` // while a person is asked
	Result      json.RawMessage `json:"result,omitempty"`
	ErrorKind   Failure         `json:"error_kind,omitempty"`
	Error       string          `json:"error,omitempty"`
	Reason      string          `json:"reason,omitempty"`      // why it was skipped, or why a person is asked
	Unvalidated string          `json:"unvalidated,omitempty"` // why the result is not known to fit its schema
	Misfit      bool            `json:"misfit,omitempty"`      // the result does not fit its schema: no argument is taken from it
	Unrecorded  string          `json:"unrecorded,omitempty"`  // why the call is not in the history although it should be
}

// Status is a run as it is now.
type Status struct {
	ID         string          `json:"id"`
	Capability string          `json:"capability,omitempty"`
	Intent     string          `json:"intent,omitempty"`
	State      State           `json:"state"`
	StartedAt  time.Time       `json:"started_at"`
	EndedAt    time.Time       `json:"ended_at,omitzero"`
	Nodes      []Node          `json:"nodes"`
	Waiting    []string        `json:"waiting"` // nodes that a person has to decide about
	Done       int             `json:"done"`    // nodes, of those of the DAG itself
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

// Record is a run before anything of it has happened. What it needs of the catalog is in it, so that a run
// goes on as it was checked whatever is put into the catalog meanwhile.
type Record struct {
	ID           string                        `json:"id"`
	Request      Request                       `json:"request"`
	Capabilities map[string]catalog.Capability `json:"capabilities,omitempty"`
	StartedAt    time.Time                     `json:"started_at"`
	By           string                        `json:"by,omitempty"`
}

// A Journal keeps what a run needs to go on in another process. Each method returns when what it was told is
// durable. Calls of tools alone are told of: all else follows from them.
//
//	Start ─▶ Began t1 ─▶ (call) ─▶ Ended t1 ─▶ (its result is used) … ─▶ Leave
//
// So a node that began and did not end may or may not have happened, and no other. A run is left when it has ended, and
// when nothing of it can happen before a person decides: then it waits in the journal, and [Resume] goes on with it.
type Journal interface {
	Start(ctx context.Context, r Record, s Status) error
	Began(ctx context.Context, run string, n Node) error
	Ended(ctx context.Context, run string, n Node) error
	Leave(ctx context.Context, s Status) error
}

// Past is what a journal holds of a run that has not ended: the nodes that began, by path, as they were
// told of last.
type Past struct {
	Record
	Nodes   map[string]Node
	Waiting []string // paths of nodes that waited for a decision
}

// CapabilityRun is how one capability fared in a run: the one asked for, or one within it.
type CapabilityRun struct {
	ID         string
	Path       string    // of its node; empty: it is what was run
	Outcome    NodeState // NodeDone, or NodeFailed because of what its tools did
	ErrorKind  Failure
	DurationMS int64
}

// Failure is whose fault it is that a run failed: that of the first node that failed and may not, else, where what
// came of the nodes is no answer, the tools'. It is empty for a run that did not fail.
func (p *Plan) Failure(s Status) Failure {
	if s.State != Failed {
		return ""
	}
	if n := p.firstFailure(s.Nodes, 0); n != nil {
		return n.ErrorKind
	}
	return FailedTool
}

// CapabilityRuns lists the capabilities of a run that has ended, as far as their end says something of them.
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
		if now := s.Nodes[i]; n.kind != kindTool {
			add(CapabilityRun{p.defs[n.task.Tool].ID, n.path, now.State, now.ErrorKind, now.DurationMS})
		}
	}
	return all
}
