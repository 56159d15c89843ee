package run

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"waymark/catalog"
)

// Limits of what is run.
const (
	MaxNodes  = 1000     // nodes of a run, those of the capabilities in it included
	MaxDepth  = 8        // capabilities within each other
	maxResult = 4 << 20  // bytes of one result
	maxKept   = 64 << 20 // bytes of all results of a run
	maxParams = 1 << 20  // bytes of all parameters

	maxTimeout = 24 * time.Hour // of one call
)

// DAG is what is carried out: the dag of a suggestion, or one of one's own.
type DAG struct {
	Intent string          `json:"intent,omitempty"`
	Params json.RawMessage `json:"params,omitempty"` // an object that params.… refers to
	Tasks  []catalog.Task  `json:"tasks,omitempty"`
	Output json.RawMessage `json:"output,omitempty"` // what the run gives back; without: the results of the last tasks
}

// Request asks for a run of a DAG, or of a stored capability with the parameters and the intent of the DAG,
// which then has no tasks.
type Request struct {
	DAG        DAG      `json:"dag"`
	Capability string   `json:"capability,omitempty"`
	Approve    []string `json:"approve,omitempty"` // paths of nodes, or patterns of tool ids (github:*), that need not be asked about
}

// Catalog knows what can be called.
type Catalog interface {
	Tool(id string) (catalog.Tool, bool)
	Capability(id string) (catalog.Capability, bool)
	Resolve(spelling string) (id string, err error)
}

// Problem is one thing wrong with a DAG.
type Problem struct {
	Task     string `json:"task,omitempty"` // path of the node: outer/inner
	Argument string `json:"argument,omitempty"`
	Detail   string `json:"detail"`
	Open     bool   `json:"-"` // a value solves it
}

func (p Problem) String() string {
	switch {
	case p.Task == "" && p.Argument == "":
		return p.Detail
	case p.Task == "":
		return p.Argument + ": " + p.Detail
	case p.Argument == "":
		return fmt.Sprintf("task %q: %s", p.Task, p.Detail)
	}
	return fmt.Sprintf("task %q, argument %q: %s", p.Task, p.Argument, p.Detail)
}

// CheckError is a DAG that cannot be run, with all that is wrong with it. Open lists those of the problems that
// a value solves, in the order of the tasks.
type CheckError struct {
	Problems []Problem
	Open     []Open
}

func (e *CheckError) Error() string {
	all := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		all[i] = p.String()
	}
	return strings.Join(all, "; ")
}

// Matches reports whether one of the patterns, in which * stands for any run of characters, matches id.
func Matches(patterns []string, id string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		form := strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, ".*")
		return p == id || strings.Contains(p, "*") && regexp.MustCompile("(?s)^"+form+"$").MatchString(id)
	})
}

// Asks says why a call of a tool needs a person's word, or nothing. What a server says of its own tools is
// not to be trusted with more than to ask more often: a tool that is not said to be harmless is asked about.
func Asks(t catalog.Tool) string {
	a := t.Annotations
	switch {
	case a == nil || a.ReadOnly == nil && a.Destructive == nil:
		return "it is not annotated as harmless"
	case a.Destructive != nil && *a.Destructive && !(a.ReadOnly != nil && *a.ReadOnly):
		return "it may destroy something"
	case a.ReadOnly != nil && *a.ReadOnly, a.Destructive != nil && !*a.Destructive:
		return ""
	}
	return "it changes something and is not annotated as non-destructive"
}

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
	Meta      map[string]any  // the host's _meta, passed on: trace context, input responses
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
	State       string                     // what the server wants to see again with the answer
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
