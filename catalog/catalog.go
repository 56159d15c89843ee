// Package catalog defines what an agent can use: tools and capabilities.
//
// A [Tool] is one operation of a server (or of any API); a [Capability] is a reusable procedure built
// on tools. Each has one canonical id. The id of a server's tool is
//
//	server:name        github:search_issues
//
// and a [Resolver] maps every other spelling of it (mcp__github__search_issues, github.search_issues,
// …) to that id before anything is stored, so that one tool never has two histories. A [Fingerprint]
// shows whether the contract of a tool (description, schemas, annotations) changed.
package catalog

import "encoding/json"

// Kind distinguishes tools and capabilities in a common list.
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
	Requires     []string        `json:"requires,omitempty"` // ids of tools whose results it needs, as declared by an author
}

// Annotations are a server's own, untrusted hints about a tool. A nil field means not specified.
type Annotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    *bool  `json:"read_only,omitempty"`
	Destructive *bool  `json:"destructive,omitempty"`
	Idempotent  *bool  `json:"idempotent,omitempty"`
	OpenWorld   *bool  `json:"open_world,omitempty"`
}

// Capability is a stored procedure that uses tools: its intent, its tools in order of first use and, if
// it is a stored DAG, its tasks.
type Capability struct {
	ID           string          `json:"id"`
	Name         string          `json:"name,omitempty"`
	Description  string          `json:"description,omitempty"`
	Intent       string          `json:"intent,omitempty"`
	Tools        []string        `json:"tools"`
	Tasks        []Task          `json:"tasks,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	Version      int             `json:"version,omitempty"` // version number of its author; 0: not specified
	Tags         []string        `json:"tags,omitempty"`
	Script       *Script         `json:"script,omitempty"` // instead of tasks
	Output       json.RawMessage `json:"output,omitempty"` // result of a run, in the form of a task argument; absent: the results of the last tasks
}

// Script is a capability that is computed without calling tools.
type Script struct {
	Language string `json:"language"` // expr
	Source   string `json:"source"`
}

// Task is one node of a stored DAG. An argument is a value, or an object with the single key $from (the
// path of a parameter or of an earlier task's result) or $expr (an expression over them).
type Task struct {
	ID        string                     `json:"id"`
	Tool      string                     `json:"tool"`
	DependsOn []string                   `json:"depends_on,omitempty"`
	Arguments map[string]json.RawMessage `json:"arguments,omitempty"`
	When      string                     `json:"when,omitempty"`       // expression; the task is skipped unless it is true
	OnError   string                     `json:"on_error,omitempty"`   // empty: dependent tasks are skipped; continue: they run without the result
	TimeoutMS int64                      `json:"timeout_ms,omitempty"` // 0: the timeout of the run
}

// OnErrorContinue lets dependent tasks run after the task failed.
const OnErrorContinue = "continue"
