// Package run executes DAGs of tools and capabilities over anything that can call one of them.
package run

import (
	"context"
	"encoding/json"
)

// Call is one call of a tool or capability.
type Call struct {
	Tool      string          // canonical id
	ID        string          // of the call in its session, the id of a task in a run; empty: it has none
	After     []string        // ids of the calls of its session that it came after; nil: only the order is known
	Source    string          // who calls, as episodes count sources (a credential); empty: not said
	Arguments json.RawMessage // a JSON object; nil means none
	Session   string          // of the host or run that calls; calls of one session follow each other
	Group     string          // calls of one group ran in parallel
	Intent    string          // what the session is about, as far as known
	Meta      json.RawMessage // the host's _meta, passed on: trace context, input responses
	Approved  bool            // a run asked for a person's word where this call needs one

	// Progress is told how far the call is, as the server says: done, of how much (0: not known), and in words.
	// It may take its time; what comes meanwhile is left out but for the newest. nil: nobody listens.
	Progress func(done, total float64, message string)
}

// Result is what became of a call that was carried out or refused.
type Result struct {
	Structured  json.RawMessage            // structured content, nil if there is none
	Content     json.RawMessage            // MCP content blocks as they came
	Failure     Failure                    // empty if it worked
	Message     string                     // what went wrong
	Unrecorded  string                     // why the call is not in the history although it should be; empty if it is
	Unvalidated string                     // why the result is not known to fit the tool's output schema; empty if it fits, or there is none
	Misfit      bool                       // it was checked and does not fit
	Members     map[string]json.RawMessage // what else the result has, such as _meta
	Repeated    bool                       // it was refused: it repeats a call that just failed twice
	NeedsInput  json.RawMessage            // the host is asked for something first; the call has not happened yet
}

// Failure says whose fault it is that a call did not work.
type Failure string

// The kinds of failure, as they stand in a step's error_kind.
const (
	FailedTool        Failure = "tool"         // the tool says so
	FailedArgument    Failure = "argument"     // it was called wrongly
	FailedTimeout     Failure = "timeout"      // it did not answer in time
	FailedAuth        Failure = "auth"         // the caller may not
	FailedPolicy      Failure = "policy"       // we did not let it happen
	FailedUnknown     Failure = "unknown_tool" // nobody offers such a tool: there was nothing to call
	FailedUnavailable Failure = "unavailable"  // its server was not there
)

// Held reports whether a failure is held against the tool. Who may not call it, or finds its server
// down, has learned nothing about the tool.
func (f Failure) Held() bool {
	return f == FailedTool || f == FailedArgument || f == FailedTimeout
}

// Caller carries out calls. An error means that nothing is known of what happened, or ctx is done;
// what is known to have failed is a Result with a Failure.
type Caller interface {
	Call(ctx context.Context, c Call) (Result, error)
}
