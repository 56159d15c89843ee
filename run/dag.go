package run

import (
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

// repeatable reports whether a call may be made again without harm where it is not known what became of it.
func repeatable(t catalog.Tool) bool {
	a := t.Annotations
	return a != nil && (a.ReadOnly != nil && *a.ReadOnly || a.Idempotent != nil && *a.Idempotent)
}
