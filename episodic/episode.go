// Package episodic holds recorded tasks and the statistics that follow from them.
//
// An [Episode] is one recorded task: an intent, the steps in order (each a call of a tool or capability)
// and an outcome. It may grow by further steps. Episodes yield
//
//   - transitions: which tool followed which ([Episode.Transitions]), the edges of the tool graph;
//   - memory: how often a tool worked, alone and right after another tool ([Memory]).
//
// Unknown outcomes stay unknown: a step without an outcome counts neither as a success nor as a failure,
// and the outcome of an episode is never copied to its steps.
package episodic

import "time"

// Outcome of a step or an episode. The zero value is read as [Unknown].
type Outcome string

const (
	Unknown Outcome = "unknown"
	Success Outcome = "success"
	Failure Outcome = "failure"
)

// Known reports whether the outcome is a success or a failure.
func (o Outcome) Known() bool { return o == Success || o == Failure }

// Episode is one recorded task.
type Episode struct {
	ID           string    `json:"id" mcp:"optional" doc:"An episode with a known id is counted once."`
	Intent       string    `json:"intent,omitempty" doc:"Goal of the task, in words."`
	Time         time.Time `json:"time,omitzero" mcp:"-"` // zero: unknown; the episode does not age
	Session      string    `json:"session,omitempty" mcp:"-"`
	Source       string    `json:"source,omitempty" mcp:"-"` // reporter: a credential or an importer, never from the body
	Label        string    `json:"label,omitempty" mcp:"-"`  // the source that the request body claims
	Steps        []Step    `json:"steps" minItems:"1" doc:"The tools used, in order."`
	Outcome      Outcome   `json:"outcome,omitempty"`
	SuggestionID string    `json:"suggestion_id,omitempty" doc:"The suggestion that was followed."`
}

// Digests are keyed hashes of scalar values by their path in a JSON document ("items[].id"). They show that a
// value went from one step to another without revealing the value.
type Digests map[string][]string

// Step is one call. DependsOn nil means "only the order is known"; empty but not nil means "a root".
// Steps that share a Group ran in parallel.
type Step struct {
	ID         string   `json:"id,omitempty" doc:"A name for depends_on, unique in the episode."`
	Tool       string   `json:"tool" doc:"Id of a tool or capability."`
	DependsOn  []string `json:"depends_on,omitzero" doc:"Ids of the steps whose output this step used; empty if none. If absent, only the order is known."`
	Group      string   `json:"group,omitempty" doc:"Steps of one group ran in parallel."`
	Outcome    Outcome  `json:"outcome,omitempty"`
	DurationMS int64    `json:"duration_ms,omitempty" mcp:"-"`
	Error      string   `json:"error,omitempty" doc:"The error in a few words, without secrets."`
	ErrorKind  string   `json:"error_kind,omitempty" mcp:"-"`
	Shape      string   `json:"shape,omitempty" mcp:"-"`   // types of the arguments, never their values
	Inputs     Digests  `json:"inputs,omitempty" mcp:"-"`  // digests of the arguments
	Outputs    Digests  `json:"outputs,omitempty" mcp:"-"` // digests of the result
}
