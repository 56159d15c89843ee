package client

import (
	"encoding/json"
	"time"
)

// NextRequest asks for the tools that come next. All fields are optional.
type NextRequest struct {
	Context       []string `json:"context,omitempty"`        // ids of the tools called so far, oldest first
	Intent        string   `json:"intent,omitempty"`         // the task in words
	Limit         int      `json:"limit,omitempty"`          // number of suggestions; 0: 5
	Allow         []string `json:"allow,omitempty"`          // patterns of ids that may be suggested, as in github:*
	MinConfidence float64  `json:"min_confidence,omitempty"` // suggestions below it are left out, in [0, 1]
	Profile       string   `json:"profile,omitempty"`        // seed, learned or auto; empty: auto
	Session       string   `json:"session,omitempty"`        // the conversation, for A/B tests
	MinSeq        uint64   `json:"min_seq,omitempty"`        // waits, at most a second, until the model counts this event
	Explain       *bool    `json:"explain,omitempty"`        // terms and reasons; nil: true
}

// NextAnswer ranks what comes next, best first.
type NextAnswer struct {
	SuggestionID string       `json:"suggestion_id"` // names this answer in Feedback and Episode
	Suggestions  []Suggestion `json:"suggestions"`
	Stop         *float64     `json:"stop"`      // probability that the task is finished, in [0, 1]; nil: not known
	Abstained    bool         `json:"abstained"` // no suggestion reaches MinConfidence
	Mode         string       `json:"mode"`      // how the answer was found
	Model        Model        `json:"model"`
	Warnings     []string     `json:"warnings"`
	UnknownIDs   []UnknownID  `json:"unknown_ids,omitempty"` // ids of the request that nobody knows
}

// Suggestion is a tool or capability with the calibrated probability that it comes next.
type Suggestion struct {
	ID            string   `json:"id"`
	Kind          string   `json:"kind"` // tool or capability
	Confidence    float64  `json:"confidence"`
	ConfidenceLow float64  `json:"confidence_low,omitempty"` // lower bound of the confidence
	Score         float64  `json:"score"`                    // what the ranking compares; its scale depends on the formula
	Formula       string   `json:"formula"`
	Reason        string   `json:"reason,omitempty"`
	Evidence      Evidence `json:"evidence"`
	Terms         []Term   `json:"terms,omitempty"` // summands of the score
}

// Evidence counts what the history says of a suggestion after the last tool of the context.
type Evidence struct {
	Count       int     `json:"count"`        // how often it came directly after
	Of          int     `json:"of,omitempty"` // of that many
	Successes   int     `json:"successes,omitempty"`
	Failures    int     `json:"failures,omitempty"`
	Bypassed    int     `json:"bypassed,omitempty"` // how often something else was called in its place
	Uses        int     `json:"uses,omitempty"`
	Jaccard     float64 `json:"jaccard,omitempty"`     // overlap of the tasks that use both, in [0, 1]
	Containment float64 `json:"containment,omitempty"` // share of the tasks of one that use the other, in [0, 1]
}

// Term is a summand of a score: value times weight.
type Term struct {
	Name         string  `json:"name"`
	Value        float64 `json:"value"`
	Weight       float64 `json:"weight"`
	Contribution float64 `json:"contribution"`
}

// UnknownID is an id of a request that the model does not know, with known ids that are spelled like it.
type UnknownID struct {
	ID         string   `json:"id"`
	DidYouMean []string `json:"did_you_mean"`
	Message    string   `json:"message"`
}

// Model names the model that answered.
type Model struct {
	Version string    `json:"version"`
	Seq     uint64    `json:"seq"` // the last event that it counts
	Nodes   int       `json:"nodes"`
	Edges   int       `json:"edges"`
	Density float64   `json:"density"`
	Alpha   float64   `json:"alpha"` // weight of texts against the graph, adapted to the density
	Profile string    `json:"profile"`
	BuiltAt time.Time `json:"built_at,omitzero"`
}

// SearchRequest asks for tools and capabilities by words.
type SearchRequest struct {
	Query   string   `json:"query"`             // words, a name or an id
	Context []string `json:"context,omitempty"` // ids of the tools called so far, oldest first
	Limit   int      `json:"limit,omitempty"`   // number of results; 0: 10
	Kinds   []string `json:"kinds,omitempty"`   // tool, capability; empty: both
	Allow   []string `json:"allow,omitempty"`   // patterns of ids that may be found
	MinSeq  uint64   `json:"min_seq,omitempty"` // waits, at most a second, until the model counts this event
	Session string   `json:"session,omitempty"` // the conversation, for A/B tests
	Explain *bool    `json:"explain,omitempty"` // terms; nil: true
}

// SearchAnswer ranks what was found, best first.
type SearchAnswer struct {
	SuggestionID string         `json:"suggestion_id"`
	Results      []SearchResult `json:"results"`
	Mode         string         `json:"mode"`
	Model        Model          `json:"model"`
	Warnings     []string       `json:"warnings"`
	UnknownIDs   []UnknownID    `json:"unknown_ids,omitempty"`
}

// SearchResult is a tool or capability that fits the query.
type SearchResult struct {
	ID            string  `json:"id"`
	Kind          string  `json:"kind"`
	Name          string  `json:"name"`
	Description   string  `json:"description"`
	Confidence    float64 `json:"confidence"`
	ConfidenceLow float64 `json:"confidence_low,omitempty"`
	Score         float64 `json:"score"`
	Formula       string  `json:"formula"`
	Semantic      float64 `json:"semantic"` // what the texts contribute
	Graph         float64 `json:"graph"`    // what the learned graph contributes
	Terms         []Term  `json:"terms,omitempty"`
}

// DAGRequest asks for a plan. All fields are optional, but one of Intent and Context is needed.
type DAGRequest struct {
	Intent   string   `json:"intent,omitempty"`
	Context  []string `json:"context,omitempty"`   // ids of the tools called so far, oldest first
	MaxSteps int      `json:"max_steps,omitempty"` // most tasks; 0: as many as tasks like it had
	Allow    []string `json:"allow,omitempty"`     // patterns of ids that may be used
	Profile  string   `json:"profile,omitempty"`
	Session  string   `json:"session,omitempty"`
	MinSeq   uint64   `json:"min_seq,omitempty"`
	Explain  *bool    `json:"explain,omitempty"`
}

// DAGAnswer is a plan with the probability that it is what the task needs.
type DAGAnswer struct {
	SuggestionID  string         `json:"suggestion_id"`
	DAG           DAG            `json:"dag"`
	Confidence    float64        `json:"confidence"`
	ConfidenceLow float64        `json:"confidence_low,omitempty"`
	Mode          string         `json:"mode"`
	Rationale     string         `json:"rationale"`
	Paths         []Path         `json:"paths"`
	Alternatives  []Alternative  `json:"alternatives"`
	RejectedEdges []RejectedEdge `json:"rejected_edges"`
	Warnings      []string       `json:"warnings"`
	Model         Model          `json:"model"`
	Terms         []Term         `json:"terms,omitempty"`
	UnknownIDs    []UnknownID    `json:"unknown_ids,omitempty"`
}

// DAG is a directed acyclic graph of tasks.
type DAG struct {
	Intent string `json:"intent,omitempty"`
	Tasks  []Task `json:"tasks"`
}

// Task is one call of a plan.
type Task struct {
	ID            string              `json:"id"`
	Tool          string              `json:"tool"`
	Kind          string              `json:"kind"`
	DependsOn     []string            `json:"depends_on"` // ids of tasks that come first
	Arguments     map[string]Argument `json:"arguments"`  // arguments whose origin is known
	Wired         []Wired             `json:"wired,omitempty"`
	Slot          string              `json:"slot"` // the part of the intent that the task serves
	Confidence    float64             `json:"confidence"`
	ConfidenceLow float64             `json:"confidence_low,omitempty"`
	Formula       string              `json:"formula"`
	Reason        string              `json:"reason,omitempty"`
	Terms         []Term              `json:"terms,omitempty"`
}

// Argument refers to the result of another task, as in t1.result.id.
type Argument struct {
	From string `json:"$from"`
}

// Wired is what the history says of an argument: Count of Of calls took its value from there.
type Wired struct {
	Argument string `json:"argument"`
	From     string `json:"from"`
	Count    int    `json:"count"`
	Of       int    `json:"of"`
}

// Path leads from one tool to another in the learned graph.
type Path struct {
	From       string   `json:"from"`
	To         string   `json:"to"`
	Hops       int      `json:"hops"`
	Via        []string `json:"via"`
	Confidence float64  `json:"confidence"`
}

// Alternative is a tool that nearly became part of the plan.
type Alternative struct {
	ID    string  `json:"id"`
	For   string  `json:"for,omitempty"` // the task that it could replace
	Score float64 `json:"score"`
}

// RejectedEdge is a dependency that was left out.
type RejectedEdge struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"`
}

// Episode is a task that was done: the tools called, in order.
type Episode struct {
	ID           string    `json:"id"` // of the caller's choice; the same id is the same episode
	Steps        []Step    `json:"steps"`
	Intent       string    `json:"intent,omitempty"`
	Outcome      string    `json:"outcome,omitempty"` // success, failure or partial
	Session      string    `json:"session,omitempty"`
	Source       string    `json:"source,omitempty"`
	Label        string    `json:"label,omitempty"`
	SuggestionID string    `json:"suggestion_id,omitempty"` // the answer that it followed
	Time         time.Time `json:"time,omitzero"`
}

// Step is one call of an episode.
type Step struct {
	Tool       string         `json:"tool"`
	ID         string         `json:"id,omitempty"`         // names the step in DependsOn
	DependsOn  []string       `json:"depends_on,omitempty"` // absent: the step before
	Group      string         `json:"group,omitempty"`      // steps of one group ran side by side
	Outcome    string         `json:"outcome,omitempty"`
	Error      string         `json:"error,omitempty"`
	ErrorKind  string         `json:"error_kind,omitempty"`
	DurationMS int64          `json:"duration_ms,omitempty"`
	Inputs     map[string]any `json:"inputs,omitempty"`
	Outputs    map[string]any `json:"outputs,omitempty"`
	Shape      string         `json:"shape,omitempty"`
	Shown      int            `json:"shown,omitempty"`
}

// RecordResult counts what became of episodes.
type RecordResult struct {
	Accepted      int         `json:"accepted"`   // new or grown, and durable
	Duplicates    int         `json:"duplicates"` // known with the same or more content
	Rejected      []Rejection `json:"rejected"`   // the first 1000
	RejectedTotal int         `json:"rejected_total"`
	Seq           uint64      `json:"seq"` // a question with this MinSeq counts them
}

// Rejection says why something was not stored.
type Rejection struct {
	ID    string `json:"id"`
	Line  int    `json:"line,omitempty"`
	Error string `json:"error"`
}

// Feedback says whether a suggestion was used.
type Feedback struct {
	SuggestionID string   `json:"suggestion_id,omitempty"`
	ID           string   `json:"id,omitempty"`      // the tool
	Context      []string `json:"context,omitempty"` // without SuggestionID: the tools called before
	Used         bool     `json:"used"`
	Outcome      string   `json:"outcome,omitempty"`
}

// Tool describes a tool of the catalog.
type Tool struct {
	ID           string          `json:"id"` // server:name
	Name         string          `json:"name,omitempty"`
	Description  string          `json:"description,omitempty"`
	Domain       string          `json:"domain,omitempty"`
	Server       string          `json:"server,omitempty"`
	Requires     []string        `json:"requires,omitempty"` // tools that come first
	InputSchema  json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"` // those of MCP: readOnlyHint and the like
}

// PutResult counts what became of tools.
type PutResult struct {
	Added     int         `json:"added"`
	Updated   int         `json:"updated"`
	Unchanged int         `json:"unchanged"`
	Changed   []string    `json:"changed"`
	Rejected  []Rejection `json:"rejected"`
	Flagged   []Flagged   `json:"flagged,omitempty"`
	Seq       uint64      `json:"seq"`
}

// Flagged is a tool in which the checks of the catalog found something. A quarantined one is not suggested until it
// is approved.
type Flagged struct {
	ID          string   `json:"id"`
	Flags       []string `json:"flags"`
	Quarantined bool     `json:"quarantined"`
}

// Job is work that goes on after the answer.
type Job struct {
	ID           string    `json:"id"`
	Kind         string    `json:"kind"`
	Reason       string    `json:"reason"`
	State        string    `json:"state"`
	Phase        string    `json:"phase"`
	Progress     float64   `json:"progress"` // in [0, 1]
	ETA          int64     `json:"eta_ms"`
	StartedAt    time.Time `json:"started_at"`
	FinishedAt   time.Time `json:"finished_at,omitzero"`
	ModelVersion string    `json:"model_version,omitempty"`
	Error        string    `json:"error,omitempty"`
}
