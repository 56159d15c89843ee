// Package catalog names what an agent can use: tools and capabilities.
//
// A [Tool] is one operation of a server (or of any API); a [Capability] is a reusable piece built
// on tools. Both live under one canonical id. A tool of a server is
//
//	server:name        github:search_issues
//
// and every other spelling of it (mcp__github__search_issues, github.search_issues, …) is resolved
// to that id by a [Resolver] before anything is stored, so that one tool never has two histories.
// A [Fingerprint] tells whether the contract of a tool (description, schemas, annotations) changed.
package catalog

import "encoding/json"

// Kind tells tools and capabilities apart wherever both stand in one list.
type Kind string

const (
	KindTool       Kind = "tool"
	KindCapability Kind = "capability"
)

// Tool is one operation that a server offers.
type Tool struct {
	ID           string          `json:"id"`
	Name         string          `json:"name,omitempty"`
	Description  string          `json:"description,omitempty"`
	Server       string          `json:"server,omitempty"`
	Domain       string          `json:"domain,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	Annotations  *Annotations    `json:"annotations,omitempty"`
	Requires     []string        `json:"requires,omitempty"` // ids of tools whose results it needs, as an author wrote down
}

// Annotations are a server's own, untrusted hints about a tool. A nil field is "not said".
type Annotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    *bool  `json:"read_only,omitempty"`
	Destructive *bool  `json:"destructive,omitempty"`
	Idempotent  *bool  `json:"idempotent,omitempty"`
	OpenWorld   *bool  `json:"open_world,omitempty"`
}

// Capability is a stored way of doing something with tools: its intent, the tools it uses, in order
// of first use, and, where it is a stored DAG, the tasks.
type Capability struct {
	ID           string          `json:"id"`
	Name         string          `json:"name,omitempty"`
	Description  string          `json:"description,omitempty"`
	Intent       string          `json:"intent,omitempty"`
	Tools        []string        `json:"tools"`
	Tasks        []Task          `json:"tasks,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	Version      int             `json:"version,omitempty"` // as its author numbers it; 0: not said
	Tags         []string        `json:"tags,omitempty"`
	Script       *Script         `json:"script,omitempty"` // instead of tasks
	Output       json.RawMessage `json:"output,omitempty"` // what a run gives back, an argument like those of tasks; without: the results of the last tasks
}

// Script is a capability that is computed rather than carried out with tools.
type Script struct {
	Language string `json:"language"` // expr
	Source   string `json:"source"`
}

// Task is one node of a stored DAG. An argument is a value, or an object with the one key $from (the
// path of a parameter or of an earlier task's result) or $expr (an expression over them).
type Task struct {
	ID        string                     `json:"id"`
	Tool      string                     `json:"tool"`
	DependsOn []string                   `json:"depends_on,omitempty"`
	Arguments map[string]json.RawMessage `json:"arguments,omitempty"`
	When      string                     `json:"when,omitempty"`       // an expression; the task is skipped unless it is true
	OnError   string                     `json:"on_error,omitempty"`   // empty: what depends on it is skipped; continue: it goes on without the result
	TimeoutMS int64                      `json:"timeout_ms,omitempty"` // 0: that of the run
}

// OnErrorContinue lets what depends on a task go on where the task fails.
const OnErrorContinue = "continue"
