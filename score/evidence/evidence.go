// Package evidence implements HAET, hypothesis-anchored evidence triangulation: it starts from competing answers to a
// question and looks for the evidence that distinguishes them.
//
//	hypotheses ─▶ queries ─▶ snippets ─▶ assignments ─▶ weights ─▶ gate ─▶ queries of the next round
//	               support      │                                   │
//	               discriminate │                                   └▶ stop: packs, confidence, abstain
//	               falsify      └ overlap · novelty · contradiction markers
//	               diversify
//
// With O the overlap of a snippet with the hypothesis it is assigned to and N its novelty,
//
//	support_i       = Σ O·N  over the snippets assigned to i that do not contradict it
//	falsification_i = Σ O·N  over those that contradict it
//	w_i             = prior_i·exp(support_i − falsification_i) / Σ_j prior_j·exp(support_j − falsification_j)
//
// and the entropy of w measures the indecision. For example, "Why is the greenhouse cold?" has the hypotheses "A vent
// stays open." and "The heater is broken.", each of prior 1/2. The snippet "The roof vent was found open." has 2 of the
// 3 words vent, stay, open of the first one and is new, so support_1 = 2/3·1 and w_1 = e^(2/3) / (e^(2/3) + 1) = 0.66.
//
// A caller retrieves the snippets of a round for the queries of the previous round. If the request has no hypotheses,
// [Triangulate] asks a judge model for five of them and searches by itself. The [Request] with its rounds is the whole
// state. Results do not depend on the order of hypotheses or of the snippets of a round, and are bit-identical on every
// machine.
//
// Overlap compares words, not meaning: a paraphrase counts only if it shares its words with another snippet that was
// assigned. Weights compare the given hypotheses with one another. They are not the probability that the best of them
// is true, so "none of these" may be added as a hypothesis.
package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"waymark/catalog"
	"waymark/run"
	"waymark/score"
)

// A Request is the complete state of a triangulation, or a question to be answered with a judge: then it has no
// hypotheses, and documents or a search tool to find evidence.
type Request struct {
	Question    string       `json:"question" is:"required,words" max:"4000" doc:"Question that the hypotheses answer."`
	Hypotheses  []Hypothesis `json:"hypotheses,omitempty" max:"10" unique:"ID" doc:"The hypotheses. If absent, a judge proposes five."`
	NoneOfThese bool         `mcp:"-" json:"none_of_these,omitempty" doc:"Add the hypothesis that none of the others is true."`
	Agreement   *float64     `mcp:"-" json:"agreement,omitempty" max:"1" doc:"Agreement of answers, 0 to 1; default 0."`
	Rounds      []Round      `json:"rounds,omitempty" max:"50" doc:"The rounds of retrieval so far."`
	Options     *Options     `mcp:"-" json:"options,omitempty" doc:"Thresholds; absent ones use the defaults."`

	// The rest is for a question without hypotheses.
	Documents []Document `mcp:"-" json:"documents,omitempty" maxItems:"10000" doc:"Texts to search for evidence."`
	// SearchTool replaces Documents.
	SearchTool     string             `mcp:"-" json:"search_tool,omitempty" doc:"Id of a search tool of a connected server."`
	SearchArgument string             `mcp:"-" json:"search_argument,omitempty" doc:"Its argument for the query; default query."`
	EvenIfEasy     bool               `mcp:"-" json:"even_if_easy,omitempty" doc:"Propose hypotheses even for an easy question."`
	Judge          score.JudgeOptions `mcp:"-" json:"judge,omitzero" doc:"The judge that proposes hypotheses."`
	MaxRounds      int                `mcp:"-" json:"max_rounds,omitempty" minimum:"0" maximum:"20" doc:"Default 6."`
	// PerQuery applies to each search.
	PerQuery int `mcp:"-" json:"per_query,omitempty" minimum:"0" maximum:"50" doc:"Number of results used per query; default 5."`
}

// A Hypothesis is one answer to the question.
type Hypothesis struct {
	ID   string `json:"id" is:"required,name" max:"200"`
	Text string `json:"text" is:"required,words" max:"4000"`
	// Its words are matched together with those of the text.
	Rationale string `mcp:"-" json:"rationale,omitempty" max:"4000" doc:"Reason why it may be true; matched together with the text."`
	// KeyFact is used in queries, not in matching.
	KeyFact string   `mcp:"-" json:"key_fact,omitempty" max:"4000" doc:"Fact that confirms or refutes it; for queries."`
	Prior   *float64 `mcp:"-" json:"prior,omitempty" max:"1" doc:"Prior weight, 0 to 1; default 1/k. Normalised to sum 1."`
}

// A Round holds the snippets of one round of retrieval.
type Round struct {
	Snippets []Snippet `json:"snippets" max:"200"`
	// Default: the number of new snippets.
	NewDocuments *int `mcp:"-" json:"new_documents,omitempty" max:"1000000000" doc:"Default: the number of new snippets."`
	// Default: the mean over all snippets.
	QualityGain *float64 `mcp:"-" json:"quality_gain,omitempty" doc:"Default: the mean of overlap times novelty."`
}

// A Snippet is a passage of a document. A snippet with the id and text of an earlier one is the same, and adds nothing.
type Snippet struct {
	ID     string `json:"id" is:"required,name" max:"200"`
	Text   string `json:"text" max:"20000"`
	Source string `json:"source,omitempty" max:"2000" doc:"A URL, a domain or any name."`
}

// A Document is a text to search. Its default id is d1, d2, …, and its default source is its id.
type Document struct {
	ID     string `json:"id,omitempty" doc:"Default d1, d2, …"`
	Text   string `json:"text"`
	Source string `json:"source,omitempty" doc:"URL, domain or any name; default the id."`
}

// An Answer is the state after the last round, with a summary in one sentence.
type Answer struct {
	Message string `json:"message"`
	ID      string `json:"id" doc:"Id for adding more evidence; empty for an easy question."`
	Result
	Inquiry *Inquiry `json:"inquiry,omitempty" doc:"Method by which hypotheses and evidence were found."`
}

// A Result is the outcome of all rounds.
type Result struct {
	// Priors of the distinct hypotheses, before any evidence; they add up to 1.
	Priors map[string]float64 `json:"priors"`
	Rounds []RoundResult      `json:"rounds"`
	// Queries of the first round, only while there are no rounds.
	NextQueries []Query `json:"next_queries,omitempty"`
	// Groups of ids with the same claim; the first id represents the group.
	Merged  [][]string `json:"merged"`
	Ranking []Standing `json:"ranking"`
	// Weight of the leader.
	Dominance float64 `json:"dominance"`
	// Confidence in the leader, 0.05 to 0.95, with the terms that add up to it.
	Confidence      float64 `json:"confidence"`
	ConfidenceTerms []Term  `json:"confidence_terms"`
	// Set if no hypothesis should be given as the answer.
	Abstain       bool   `json:"abstain"`
	AbstainReason string `json:"abstain_reason"`
	Packs         []Pack `json:"packs"`
	// For a model that writes the answer.
	SynthesisContext string   `json:"synthesis_context"`
	Warnings         []string `json:"warnings"`
}

// A RoundResult is the trace of one round. Maps are by the ids of the distinct hypotheses.
type RoundResult struct {
	// Weights after the round; they add up to 1.
	Weights     map[string]float64 `json:"weights"`
	EntropyNats float64            `json:"entropy_nats"`
	// Entropy divided by ln k, 0 to 1.
	EntropyShare float64 `json:"entropy_share"`
	Lead         string  `json:"lead"`
	LeadWeight   float64 `json:"lead_weight"`
	// Sums since the first round.
	Support       map[string]float64 `json:"support"`
	Falsification map[string]float64 `json:"falsification"`
	// In order of snippet id.
	Assignments []Assignment `json:"assignments"`
	// As given in the request, or else counted and computed.
	NewDocuments int     `json:"new_documents"`
	QualityGain  float64 `json:"quality_gain"`
	Gate         Gate    `json:"gate"`
	// Number of forced rounds so far, including the one that this gate forces.
	ForcedRounds int `json:"forced_rounds"`
	// Empty if the gate is stop or exhausted.
	NextQueries []Query `json:"next_queries"`
}

// undifferentiated replaces the id of a hypothesis if a snippet is assigned to none.
const undifferentiated = "undifferentiated"

// NoneOfThese is the id of the hypothesis that no other is right.
const NoneOfThese = "none_of_these"

// An Assignment is the assignment of a snippet to a hypothesis.
type Assignment struct {
	Snippet string `json:"snippet"`
	// Id of the hypothesis, or undifferentiated.
	Hypothesis string `json:"hypothesis"`
	// Overlap with that hypothesis, or else the largest overlap; 0 to 1.
	Overlap float64 `json:"overlap"`
	// 1 - the largest Jaccard index with an earlier snippet.
	Novelty   float64 `json:"novelty"`
	Falsifies bool    `json:"falsifies"`
	// Name of the sign by which it falsifies.
	Marker string `json:"marker,omitempty"`
	// Id of the snippet whose hypothesis it takes, because its own words do not decide.
	Cluster  string `json:"cluster,omitempty"`
	Repeated bool   `json:"repeated,omitempty"`
}

// A Standing is the final weight of a hypothesis, with the numbers of its snippets.
type Standing struct {
	Hypothesis    string  `json:"hypothesis"`
	Text          string  `json:"text"`
	Weight        float64 `json:"weight"`
	Support       float64 `json:"support"`
	Falsification float64 `json:"falsification"`
	Supporting    int     `json:"supporting"`
	Falsifying    int     `json:"falsifying"`
}

// A Pack is the strongest evidence on one hypothesis, strongest first.
type Pack struct {
	Hypothesis string    `json:"hypothesis"`
	Weight     float64   `json:"weight"`
	Supporting []Exhibit `json:"supporting"`
	Falsifying []Exhibit `json:"falsifying"`
}

// An Exhibit is a snippet in a pack, with the round it was first seen in, from 1, and overlap times novelty.
type Exhibit struct {
	Snippet
	Round    int     `json:"round"`
	Strength float64 `json:"strength"`
}

// A Term is a named part of a number, which is the sum of the contributions, added in order.
type Term struct {
	Name         string  `json:"name"`
	Value        float64 `json:"value"`
	Weight       float64 `json:"weight"`
	Contribution float64 `json:"contribution"`
}

// Triangulate weighs the hypotheses of a request by its rounds. Without hypotheses it asks the judge for them, and
// searches the documents or calls the search tool. judge and caller may be nil. An error is a [score.RequestError],
// wraps [score.ErrJudge] or [ErrSearch], or is that of the context or of the judge.
func Triangulate(ctx context.Context, r Request, judge Judge, caller run.Caller) (Answer, error) {
	if err := r.check(); err != nil {
		return Answer{}, err
	}
	if len(r.Hypotheses) == 0 {
		return inquire(ctx, r, judge, caller)
	}
	return answer(r.id(), weigh(r)), nil
}

// AddEvidence adds a round to a triangulation whose state is the request with its previous rounds. It returns the new
// state and the answer.
func AddEvidence(id string, state Request, round Round) (Request, Answer, error) {
	state.Rounds = append(state.Rounds[:len(state.Rounds):len(state.Rounds)], round)
	if err := state.check(); err != nil {
		return Request{}, Answer{}, err
	}
	return state, answer(id, weigh(state)), nil
}

// id returns a hash of the request, the same for every interface. The numbers of a decoded request are finite, so it
// can be encoded.
func (r Request) id() string {
	text, _ := json.Marshal(r)
	sum := sha256.Sum256(text)
	return "tr_" + hex.EncodeToString(sum[:10])
}

func answer(id string, t *triangulation) Answer {
	res := t.result()
	text := fmt.Sprintf("%s leads with a weight of %.2f and a confidence of %.2f.",
		res.Ranking[0].Hypothesis, res.Dominance, res.Confidence)
	if res.Abstain {
		text = fmt.Sprintf("No answer should be given (%s): %s", res.AbstainReason, text)
	}
	if n := len(res.Rounds); n > 0 {
		text += fmt.Sprintf(" After %s the gate says %s.", catalog.Plural(n, "round"), res.Rounds[n-1].Gate)
	}
	return Answer{Message: text, ID: id, Result: res}
}
