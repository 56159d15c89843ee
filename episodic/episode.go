// Package episodic keeps what happened and what it teaches.
//
// An [Episode] is one task as it was done: an intent, the steps in order (each a call of a tool or
// capability) and an outcome. Episodes are appended and never changed. From them come
//
//   - transitions: which tool followed which ([Episode.Transitions]), the edges of the tool graph;
//   - memory: how often a tool worked, alone and right after another tool ([Memory]).
//
// What is unknown stays unknown: a step without an outcome is neither a success nor a failure, and
// the outcome of an episode is never copied onto its steps.
package episodic

import "time"

// Outcome of a step or an episode. The zero value is read as [Unknown].
type Outcome string

const (
	Unknown Outcome = "unknown"
	Success Outcome = "success"
	Failure Outcome = "failure"
)

// Known reports whether the outcome says anything.
func (o Outcome) Known() bool { return o == Success || o == Failure }

// Episode is one task as it happened.
type Episode struct {
	ID           string    `json:"id"`
	Intent       string    `json:"intent,omitempty"`
	Time         time.Time `json:"time,omitzero"` // zero: not known, the episode does not age
	Session      string    `json:"session,omitempty"`
	Source       string    `json:"source,omitempty"` // who said so: a credential or an importer, never the body
	Label        string    `json:"label,omitempty"`  // what the body itself claims as its source
	Steps        []Step    `json:"steps"`
	Outcome      Outcome   `json:"outcome,omitempty"`
	SuggestionID string    `json:"suggestion_id,omitempty"`
}

// Digests are keyed hashes of scalar values by their path in a JSON document ("items[].id"): enough to
// see that a value went from one step to another, not enough to know it.
type Digests map[string][]string

// Step is one call. DependsOn nil means "only the order is known"; empty but not nil means "a root".
// Steps that share a Group ran in parallel.
type Step struct {
	ID         string   `json:"id,omitempty"`
	Tool       string   `json:"tool"`
	DependsOn  []string `json:"depends_on,omitzero"`
	Group      string   `json:"group,omitempty"`
	Outcome    Outcome  `json:"outcome,omitempty"`
	DurationMS int64    `json:"duration_ms,omitempty"`
	Error      string   `json:"error,omitempty"`
	ErrorKind  string   `json:"error_kind,omitempty"`
	Shape      string   `json:"shape,omitempty"`   // types of the arguments, never their values
	Inputs     Digests  `json:"inputs,omitempty"`  // of the values of the arguments
	Outputs    Digests  `json:"outputs,omitempty"` // of the values of the result
}
