// Package run carries out a DAG of tasks or a stored capability by calling tools.
//
//	Request ──Check──▶ Plan ──Start──▶ Run ─▶ Status
//	                                    ├─▶ Caller    makes the calls
//	                                    └─▶ Journal   stores each call before it is made and after it ended, for Resume
//
// [Check] reports all problems of a request before the first call. A task begins as soon as all tasks that it depends on
// have ended, and a call that needs a person's approval ([ApprovalReason]) waits for [Run.Decide]. The package knows neither
// servers nor storage: a [Caller] and a [Journal] stand for them.
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

// Limits of a run.
const (
	MaxNodes  = 1000     // nodes of a run, including those of its capabilities
	MaxDepth  = 8        // levels of nested capabilities
	maxResult = 4 << 20  // bytes of one result
	maxKept   = 64 << 20 // bytes of all results of a run
	maxParams = 1 << 20  // bytes of all parameters

	width          = 8               // concurrent calls
	defaultTimeout = 2 * time.Minute // of one call
	maxTimeout     = 24 * time.Hour
)

// DAG is a graph of tasks to run: the dag of a suggestion, or one that the caller wrote.
type DAG struct {
	Intent string          `json:"intent,omitempty"`
	Params json.RawMessage `json:"params,omitempty"` // an object that params.… refers to
	Tasks  []catalog.Task  `json:"tasks,omitempty"`
	Output json.RawMessage `json:"output,omitempty"` // output of the run; absent: the results of the last tasks
}

// Request asks for a run of a DAG, or of a stored capability with the parameters and the intent of the DAG,
// which then has no tasks.
type Request struct {
	DAG        DAG      `json:"dag"`
	Capability string   `json:"capability,omitempty"`
	Approve    []string `json:"approve,omitempty"` // approved paths of nodes or patterns of tool ids (github:*)
}

// Catalog looks up the tools and capabilities that can be called.
type Catalog interface {
	Tool(id string) (catalog.Tool, bool)
	Capability(id string) (catalog.Capability, bool)
	Resolve(spelling string) (id string, err error)
}

// Problem is one error in a DAG.
type Problem struct {
	Task     string `json:"task,omitempty"` // path of the node: outer/inner
	Argument string `json:"argument,omitempty"`
	Detail   string `json:"detail"`
	Open     bool   `json:"-"` // a value for the argument solves it
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

// CheckError is a DAG that cannot be run, with all its problems. Open lists the missing values that would solve some of
// them, in the order of the tasks.
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

// Matches reports whether one of the patterns, in which * matches any sequence of characters, matches id.
func Matches(patterns []string, id string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		form := strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, ".*")
		return p == id || strings.Contains(p, "*") && regexp.MustCompile("(?s)^"+form+"$").MatchString(id)
	})
}

// ApprovalReason returns the reason why a call of a tool needs a person's approval, or an empty string. A server is not trusted
// about its own tools by default: a tool that is not annotated as harmless needs approval.
func ApprovalReason(t catalog.Tool) string {
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
	ID        string          // of the call in its session; in a run, the path of the node; empty: none
	After     []string        // ids of the calls of its session that precede it; nil: only the order is known
	Source    string          // the caller (a credential), as episodes count sources; empty: unknown
	Arguments json.RawMessage // a JSON object; nil means none
	Session   string          // of the host or run that calls; its calls form a sequence
	Group     string          // calls of one group ran in parallel
	Intent    string          // intent of the session, if known
	Meta      map[string]any  // the host's _meta, passed on: trace context, input responses
	Approved  bool            // the run has obtained a person's approval if the call needs one

	// Progress receives the progress that the server reports: the amount done, the total (0: not known) and a text. It
	// may be slow; of the reports that arrive meanwhile, only the newest is kept. nil: reports are ignored.
	Progress func(done, total float64, message string)
}

// Result is the outcome of a call that was carried out or refused.
type Result struct {
	Structured  json.RawMessage            // structured content, nil if there is none
	Content     json.RawMessage            // MCP content blocks as they came
	Failure     Failure                    // empty if it worked
	Message     string                     // what went wrong
	Unrecorded  string                     // why the call is not in the history although it should be; empty if it is
	Unvalidated string                     // why the result is not known to fit the tool's output schema; empty if it fits, or there is none
	Misfit      bool                       // it was checked and does not fit
	Members     map[string]json.RawMessage // other members of the result, such as _meta
	Repeated    bool                       // refused, because it repeats a call that just failed twice
	NeedsInput  json.RawMessage            // input requests for the host; the call has not happened yet
	State       string                     // state that the server expects back with the answer
}

// Failure is the kind of a failed call: its cause.
type Failure string

// The kinds of failure, as they stand in a step's error_kind.
const (
	FailedTool        Failure = "tool"         // the tool reports an error
	FailedArgument    Failure = "argument"     // the arguments are wrong
	FailedTimeout     Failure = "timeout"      // it did not answer in time
	FailedAuth        Failure = "auth"         // the caller is not authorized
	FailedPolicy      Failure = "policy"       // Waymark or the operator refused the call
	FailedUnknown     Failure = "unknown_tool" // no server offers such a tool
	FailedUnavailable Failure = "unavailable"  // its server was not available
)

// Held reports whether a failure is held against the tool. An unauthorized call or an unavailable server says nothing
// about the tool.
func (f Failure) Held() bool {
	return f == FailedTool || f == FailedArgument || f == FailedTimeout
}

// Caller carries out calls. An error means that the effect of the call is unknown, or that ctx is done. A known failure
// is a Result with a Failure.
type Caller interface {
	Call(ctx context.Context, c Call) (Result, error)
}
