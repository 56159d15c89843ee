package suggest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"waymark/catalog"
)

// Term is one named part of a score. For additive formulas the contributions add up, left to right, to the
// score; for "mixed" the product of the values is the score; for "logistic" the contributions add up to
// ln(score/(1-score)). The last term of "logistic", "rest", is the remainder, due to calibration and to the other
// candidates.
type Term struct {
	Name         string  `json:"name"`
	Value        float64 `json:"value"`
	Weight       float64 `json:"weight"`
	Contribution float64 `json:"contribution"`
}

// The formulas a score can come from.
const (
	FormulaTool       = "tool_score"
	FormulaCapability = "capability_score"
	FormulaMixed      = "mixed"
	FormulaHybrid     = "hybrid"
	FormulaName       = "name"     // the query is its id or its name
	FormulaPin        = "pin"      // pinned by a rule of the operator, regardless of the history
	FormulaCovers     = "covers"   // a capability in a plan with the best score of the tasks that it replaces
	FormulaLogistic   = "logistic" // sigmoid of the sum of the contributions, a calibrated probability
)

// Mode is the kind of input that determines an answer.
type Mode string

const (
	Active      Mode = "active_search"      // a query or intent
	Passive     Mode = "passive_suggestion" // a context alone
	Exploration Mode = "exploration"        // neither
)

// Profiles. Learned is the default; if there is too little history to learn from, profile seed answers instead.
const (
	ProfileSeed    = "seed"
	ProfileLearned = "learned"
)

// Warnings that an answer may carry.
const (
	WarnLowConfidence  = "low_confidence"  // the best confidence is below .50
	WarnNoHistory      = "no_history"      // nothing was ever recorded after the last step
	WarnUnknownContext = "unknown_context" // an id of the context is in no catalog and no episode
	WarnNoIntentMatch  = "no_intent_match" // no tool's text has anything in common with the intent
	WarnForeign        = "foreign_request" // neither the catalog nor the history seems to serve the intent
	WarnTruncated      = "truncated"       // the step limit cut the plan
	WarnNothingAllowed = "nothing_allowed" // the patterns of allow match no id
	WarnProvisional    = "provisional"     // profile learned is not fitted yet: seed answers
)

// ModelInfo names the model that answered.
type ModelInfo struct {
	Version string    `json:"version"`
	BuiltAt time.Time `json:"built_at,omitzero"` // activation time of the last build; absent if none or unknown
	Seq     uint64    `json:"seq"`
	Nodes   int       `json:"nodes"`
	Edges   int       `json:"edges"`
	Density float64   `json:"density"`
	Alpha   float64   `json:"alpha"`
	Profile string    `json:"profile"` // the profile that answered
}

// ShortVersion shortens the hash in the version of a model, for display.
func ShortVersion(v string) string {
	if algorithm, hex, ok := strings.Cut(v, ":"); ok && len(hex) > 12 {
		return algorithm + ":" + hex[:12]
	}
	return v
}

// NextRequest asks for the next step after the context. Context is in order; its last element is the last
// step done. Limit 0 means 5.
type NextRequest struct {
	Context []string `json:"context,omitempty" maxItems:"512" doc:"Ids of the steps so far, oldest first."`
	Intent  string   `json:"intent,omitempty" maxLength:"8192" doc:"Goal of the task, in words."`
	Limit   int      `json:"limit,omitempty" minimum:"1" maximum:"100" doc:"Maximum number of suggestions; default 5."`
	Profile string   `json:"profile,omitempty" mcp:"-" enum:"learned,seed" doc:"Ranking profile; default learned. If the history is too short to learn from, seed answers instead."`
	Allow   []string `json:"allow,omitempty" maxItems:"64" doc:"Patterns of ids that may be suggested; * stands for any characters."`
	Explain *bool    `json:"explain,omitempty" doc:"Include terms and reasons. Default: true over HTTP, false in MCP."`

	MinConfidence float64 `json:"min_confidence,omitempty" minimum:"0" maximum:"1" doc:"Minimum confidence of a suggestion. The answer abstains if no suggestion reaches it."`

	Vector   []float32   `json:"-"` // of the intent, from the embeddings endpoint; optional
	Withheld *Exclusions `json:"-"`
	Pinned   []Pin       `json:"-"`
}

// A Pin moves an id to the front of an answer, by a rule of the operator.
type Pin struct {
	ID   string `json:"id"`
	Rule string `json:"rule"`
}

func (s Suggestion) id() string   { return s.ID }
func (r SearchResult) id() string { return r.ID }

// Foremost is the id of the first suggestion; empty without any.
func (a NextAnswer) Foremost() string { return slices.Concat(a.Suggestions, []Suggestion{{}})[0].ID }

// LastKnown is the last id of the context of the request that is known; empty without any.
func (a NextAnswer) LastKnown(context []string) string {
	for _, id := range slices.Backward(context) {
		if !slices.ContainsFunc(a.UnknownIDs, func(u UnknownID) bool { return u.ID == id }) {
			return id
		}
	}
	return ""
}

// Foremost is the id of the first result; empty without any.
func (a SearchAnswer) Foremost() string { return slices.Concat(a.Results, []SearchResult{{}})[0].ID }

// Foremost is the tool of the task with the highest confidence; empty without any.
func (a DAGAnswer) Foremost() string {
	all := slices.Concat(a.DAG.Tasks, []Task{{Confidence: -1}})
	return slices.MaxFunc(all, func(a, b Task) int { return cmp.Compare(a.Confidence, b.Confidence) }).Tool
}

// Suggestion is one ranked candidate. Its confidence is the probability that it is the next step, if there is one.
// ConfidenceLow is a one-sided 90 % lower bound of the confidence, computed from held-out predictions. It
// is 0, and absent, if there are none or if terms are not included.
type Suggestion struct {
	ID            string       `json:"id"`
	Kind          catalog.Kind `json:"kind"`
	Confidence    float64      `json:"confidence"`
	ConfidenceLow float64      `json:"confidence_low,omitempty"`
	Score         float64      `json:"score"`
	Formula       string       `json:"formula"`
	Terms         []Term       `json:"terms,omitempty"`
	Reason        string       `json:"reason,omitempty"` // set for the first, for all with terms, and for pinned ones
	Evidence      Evidence     `json:"evidence"`
}

// Evidence holds the counts behind a suggestion.
type Evidence struct {
	Count     uint64  `json:"count"`               // times it followed the last step
	Of        uint64  `json:"of,omitempty"`        // times anything followed the last step
	Successes int     `json:"successes,omitempty"` // known step outcomes
	Failures  int     `json:"failures,omitempty"`
	Jaccard   float64 `json:"jaccard,omitempty"`     // capability: context ∩ tools / context ∪ tools
	Contained float64 `json:"containment,omitempty"` // capability: context ∩ tools / tools
	Uses      int     `json:"uses,omitempty"`        // capability: times it was called
}

// NextAnswer is the answer of Next.
type NextAnswer struct {
	SuggestionID string       `json:"suggestion_id"`
	Suggestions  []Suggestion `json:"suggestions"`
	Stop         float64      `json:"stop"`      // probability that the task ends here
	Abstained    bool         `json:"abstained"` // the list of suggestions is empty
	Mode         Mode         `json:"mode"`
	Model        ModelInfo    `json:"model,omitzero"`
	Warnings     []string     `json:"warnings"`
	UnknownIDs   []UnknownID  `json:"unknown_ids,omitempty"`
	Waiting      string       `json:"waiting,omitempty"` // in an empty or weak answer: note on the entries to approve
}

// SearchRequest asks for tools and capabilities by words. Limit 0 means 10.
type SearchRequest struct {
	Query   string         `json:"query" maxLength:"8192" doc:"Words, a name or an id. An exact id or name ranks first."`
	Context []string       `json:"context,omitempty" maxItems:"512" doc:"Ids of the steps so far, oldest first."`
	Limit   int            `json:"limit,omitempty" minimum:"1" maximum:"100" doc:"Maximum number of results; default 10, in MCP 5."`
	Kinds   []catalog.Kind `json:"kinds,omitempty" mcp:"-" enum:"tool,capability" doc:"Default both."`
	Profile string         `json:"profile,omitempty" mcp:"-" enum:"learned,seed" doc:"Has no effect: searches rank the same in every profile."`
	Allow   []string       `json:"allow,omitempty" maxItems:"64" doc:"Patterns of ids that may be found."`
	Explain *bool          `json:"explain,omitempty" doc:"Include terms. Default: true over HTTP, false in MCP."`

	Vector   []float32   `json:"-"` // of the query, from the embeddings endpoint; optional
	Withheld *Exclusions `json:"-"`
	Pinned   []Pin       `json:"-"`
}

// SearchResult is one hit.
type SearchResult struct {
	ID            string       `json:"id"`
	Kind          catalog.Kind `json:"kind"`
	Name          string       `json:"name"`
	Description   string       `json:"description"`
	Confidence    float64      `json:"confidence"`
	ConfidenceLow float64      `json:"confidence_low,omitempty"`
	Score         float64      `json:"score"`
	Formula       string       `json:"formula"`
	Semantic      float64      `json:"semantic"`
	Graph         float64      `json:"graph"`
	Reason        string       `json:"reason,omitempty"` // see Suggestion
	Terms         []Term       `json:"terms,omitempty"`
}

// SearchAnswer is the answer of Search.
type SearchAnswer struct {
	SuggestionID string         `json:"suggestion_id"`
	Results      []SearchResult `json:"results"`
	Mode         Mode           `json:"mode"`
	Model        ModelInfo      `json:"model"`
	Warnings     []string       `json:"warnings"`
	UnknownIDs   []UnknownID    `json:"unknown_ids,omitempty"`
	Waiting      string         `json:"waiting,omitempty"` // in an empty or weak answer: note on the entries to approve
}

// DAGRequest asks for a plan. The history determines the length of the plan, which is at most 25 steps;
// MaxSteps can lower this bound.
type DAGRequest struct {
	Intent   string   `json:"intent,omitempty" maxLength:"8192" doc:"Goal of the task, in words."`
	Context  []string `json:"context,omitempty" maxItems:"512" doc:"Ids of the steps so far, oldest first."`
	MaxSteps int      `json:"max_steps,omitempty" minimum:"1" maximum:"25" doc:"Maximum number of tasks; default: the learned length."`
	Profile  string   `json:"profile,omitempty" enum:"learned,seed"`
	Allow    []string `json:"allow,omitempty" maxItems:"64" doc:"Patterns of ids that may be used."`
	Explain  *bool    `json:"explain,omitempty" doc:"Include terms and reasons. Default: true over HTTP, false in MCP."`

	CallableOnly bool `json:"callable_only,omitempty" doc:"Exclude tools of the host and tools that no catalog describes."`

	Vector   []float32   `json:"-"` // of the intent, from the embeddings endpoint; optional
	Withheld *Exclusions `json:"-"`
	Pinned   []Pin       `json:"-"`
}

// The slots of a task: a target serves the intent itself, a prerequisite provides input for another task.
const (
	SlotTarget       = "target"
	SlotPrerequisite = "prerequisite"
)

// Task is one node of a suggested DAG.
type Task struct {
	ID            string              `json:"id"`
	Tool          string              `json:"tool"`
	Kind          catalog.Kind        `json:"kind"`
	Host          bool                `json:"host,omitempty"` // a built-in tool of the host, which a run skips
	DependsOn     []string            `json:"depends_on"`
	Arguments     map[string]Argument `json:"arguments"`
	Wired         []Wired             `json:"wired,omitempty"`   // evidence for arguments with an observed source
	Missing       []string            `json:"missing,omitempty"` // required arguments without a source; a person is asked
	Slot          string              `json:"slot"`
	Confidence    float64             `json:"confidence"`
	ConfidenceLow float64             `json:"confidence_low,omitempty"`
	Formula       string              `json:"formula"`
	Reason        string              `json:"reason,omitempty"` // set if terms are included
	Terms         []Term              `json:"terms,omitempty"`
}

// Wired is the observed evidence for an argument: of the Of calls that had the argument after a result of the other
// tool, Count took its value from that result.
type Wired struct {
	Argument string `json:"argument"`
	From     string `json:"from"`
	Count    int    `json:"count"`
	Of       int    `json:"of"`
}

// Argument names the source of a value: "intent", "t1.issue_id" for an output of task t1, or
// "t1.result.items[0].id" for a part of its result.
type Argument struct {
	From string `json:"$from"`
}

// DAG is a plan without cycles. It includes the intent, to which its arguments may refer, so that it can be run
// without further input.
type DAG struct {
	Intent string `json:"intent,omitempty"`
	Tasks  []Task `json:"tasks"`
}

// Path is the path from one task to another in the learned graph.
type Path struct {
	From       string   `json:"from"`
	To         string   `json:"to"`
	Hops       int      `json:"hops"`
	Via        []string `json:"via"`
	Confidence float64  `json:"confidence"`
}

// Alternative is a tool that could replace a task, or be added.
type Alternative struct {
	ID    string  `json:"id"`
	For   string  `json:"for,omitempty"` // task id
	Score float64 `json:"score"`
}

// DAGAnswer is the answer of Plan.
type DAGAnswer struct {
	SuggestionID  string        `json:"suggestion_id"`
	DAG           DAG           `json:"dag"`
	Confidence    float64       `json:"confidence"`         // probability that the plan has all tools the intent needs
	Complete      float64       `json:"complete,omitempty"` // the same, given that any tool fits the intent
	ConfidenceLow float64       `json:"confidence_low,omitempty"`
	Mode          Mode          `json:"mode"`
	Paths         []Path        `json:"paths"`
	Alternatives  []Alternative `json:"alternatives"`
	Terms         []Term        `json:"terms,omitempty"`
	Rationale     string        `json:"rationale"`
	Warnings      []string      `json:"warnings"`
	UnknownIDs    []UnknownID   `json:"unknown_ids,omitempty"`
	Waiting       string        `json:"waiting,omitempty"` // in an empty or weak answer: note on the entries to approve
	Model         ModelInfo     `json:"model,omitzero"`
}

// ExplainRequest asks why an id is, or is not, suggested in a situation.
type ExplainRequest struct {
	ID      string   `json:"id" doc:"The tool or capability in question."`
	Context []string `json:"context,omitempty" maxItems:"512" doc:"Ids of the steps so far, oldest first."`
	Intent  string   `json:"intent,omitempty" maxLength:"8192"`
	Limit   int      `json:"limit,omitempty" minimum:"1" maximum:"100" doc:"Limit of the question: the id counts as suggested if its rank is at most this; default 5."`
	Profile string   `json:"profile,omitempty" mcp:"-" enum:"learned,seed"`
	Formula bool     `json:"formula,omitempty" doc:"Include the steps by which profile seed computes the score."`
	Allow   []string `json:"allow,omitempty" maxItems:"64"`

	Vector   []float32   `json:"-"` // of the intent, from the embeddings endpoint; optional
	Withheld *Exclusions `json:"-"`
}

// The reasons why an id is absent.
const (
	AbsentUnknown    = "unknown"
	AbsentNotAllowed = "not_allowed"
	AbsentExcluded   = "excluded_by_failures"
	AbsentBelowCut   = "below_cut"
	AbsentNoSignal   = "no_signal" // no formula gives it a score here
	AbsentExhausted  = "exhausted" // a capability whose tools are all in the context

	AbsentQuarantined = "quarantined" // its current contract is not approved
	AbsentUnavailable = "unavailable" // its server does not offer it now
	AbsentBanned      = "banned"      // by a rule of the operator
)

// Filter is one rule and whether the candidate passed it.
type Filter struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Detail string `json:"detail,omitempty"`
}

// ExplainAnswer is the answer of Explain. Rank is 0 when the id is not ranked at all.
type ExplainAnswer struct {
	SuggestionID string        `json:"suggestion_id"`
	ID           string        `json:"id"`
	Kind         catalog.Kind  `json:"kind,omitempty"`
	Suggested    bool          `json:"suggested"`
	Absent       string        `json:"absent_reason,omitempty"`
	Reason       string        `json:"reason"`
	Rank         int           `json:"rank"`
	Of           int           `json:"of"`
	Score        float64       `json:"score"`
	Confidence   float64       `json:"confidence"`
	Formula      string        `json:"formula,omitempty"`
	Terms        []Term        `json:"terms"`
	Filters      []Filter      `json:"filters"`
	Considered   []Considered  `json:"considered"`           // every formula that was tried
	Neighbours   []string      `json:"neighbours,omitempty"` // one step away in the hypergraph of tools and capabilities
	Evidence     Evidence      `json:"evidence"`
	Staleness    []string      `json:"behind,omitempty"` // changes of the id that the answer does not count yet
	Mode         Mode          `json:"mode"`
	Model        ModelInfo     `json:"model"`
	UnknownIDs   []UnknownID   `json:"unknown_ids,omitempty"`
	FormulaSteps []FormulaStep `json:"formula_steps,omitempty"` // how profile seed computes the score
}

// Considered is the score of an id by one formula. The best score of the formulas that apply is the score of the
// id; capability_score is shown for comparison only.
type Considered struct {
	Formula string  `json:"formula"`
	Score   float64 `json:"score"`
	Terms   []Term  `json:"terms"`
}

// ErrorKind selects the HTTP status of an error.
type ErrorKind uint8

const (
	Invalid  ErrorKind = iota + 1 // the request is wrong
	NotFound                      // the id is unknown
)

// RequestError is the reason why a request cannot be answered.
type RequestError struct {
	Kind   ErrorKind
	Field  string
	Detail string
}

func (e *RequestError) Error() string {
	if e.Field == "" {
		return e.Detail
	}
	return e.Field + ": " + e.Detail
}

// Export is the graph in a form for people and other programs.
type Export struct {
	Model ModelInfo    `json:"model"`
	Nodes []ExportNode `json:"nodes"`
	Edges []ExportEdge `json:"edges"`
	Uses  []ExportUse  `json:"uses"` // the incidence of tools and capabilities: which capability uses which tool
}

// ExportNode is a tool or capability with its measures.
type ExportNode struct {
	ID        string       `json:"id"`
	Kind      catalog.Kind `json:"kind"`
	Name      string       `json:"name,omitempty"`
	Known     bool         `json:"known"` // in the catalog; false: only seen in episodes
	PageRank  float64      `json:"pagerank"`
	Community int32        `json:"community"` // node number of the first member, stable between builds; -1: none
	Cluster   int32        `json:"cluster"`   // as for community
	Uses      uint64       `json:"uses"`
}

// ExportEdge is one learned transition.
type ExportEdge struct {
	From   string  `json:"from"`
	To     string  `json:"to"`
	Weight float64 `json:"weight"`
	Count  uint64  `json:"count"`
}

// ExportUse is one entry of the incidence.
type ExportUse struct {
	Tool       string  `json:"tool"`
	Capability string  `json:"capability"`
	Weight     float64 `json:"weight"`
}

// Stats summarises a model.
type Stats struct {
	Model           ModelInfo      `json:"model"`
	Tools           int            `json:"tools"`
	ObservedTools   int            `json:"observed_tools"` // in episodes but in no catalog
	Capabilities    int            `json:"capabilities"`
	Episodes        int            `json:"episodes"`
	Steps           int            `json:"steps"`
	Outcomes        map[string]int `json:"outcomes"` // episodes by outcome
	StepOutcomes    map[string]int `json:"step_outcomes"`
	Sources         map[string]int `json:"sources"`           // episodes by source
	Limited         map[string]int `json:"limited,omitempty"` // episodes by source with transitions beyond its limit
	Anomalies       []Anomaly      `json:"anomalies,omitempty"`
	Communities     int            `json:"communities"`
	Modularity      float64        `json:"modularity"`
	Clusters        int            `json:"clusters"`
	Eigengap        []float64      `json:"eigengap,omitempty"`
	PageRankSweeps  int            `json:"pagerank_sweeps"`
	EpisodesPending int            `json:"episodes_since_build"`
}
