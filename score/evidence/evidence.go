// Package evidence weighs competing hypotheses by snippets of text and proposes the next queries.
//
// A triangulation starts with hypotheses and runs in rounds. A host, or package inquiry, retrieves snippets for the
// queries of this package:
//
//	hypotheses ─▶ queries ─▶ snippets ─▶ assignments ─▶ weights ─▶ gate ─▶ queries of the next round
//	               support      │                                   │
//	               discriminate │                                   └▶ stop: packs, confidence, abstain
//	               falsify      └ overlap · novelty · contradiction markers
//	               diversify
//
// With O the overlap of a snippet with the hypothesis it is assigned to and N its novelty,
//
//	support_i       = Σ O·N  over the snippets assigned to i without a contradiction marker
//	falsification_i = Σ O·N  over those with one
//	w_i             = prior_i·exp(support_i − falsification_i) / Σ_j prior_j·exp(support_j − falsification_j)
//
// and the entropy of w measures indecision. [Triangulate] runs all rounds at once, [Session] one after the other; both
// are pure functions of the [Request], which is the whole state. Results do not depend on the order of hypotheses or of
// the snippets of a round, and are bit-identical on every machine.
//
// Overlap is of words: a paraphrase counts only if it shares its words with another snippet that was
// assigned. Weights compare the given hypotheses with one another. They are not the probability that the
// best of them is true, which is why "none of these" may be one of them.
package evidence

// A Request is the complete input of a triangulation.
type Request struct {
	Question    string       `json:"question" doc:"Question that the hypotheses answer."`
	Hypotheses  []Hypothesis `json:"hypotheses" doc:"The competing answers, in any order."`
	NoneOfThese bool         `json:"none_of_these,omitempty" doc:"Add the hypothesis that none of the others is right."`
	Agreement   *float64     `json:"agreement,omitempty" doc:"Agreement of independent answers, 0 to 1; a term of the confidence. Default 0."`
	Rounds      []Round      `json:"rounds,omitempty" doc:"The rounds of retrieval so far."`
	Options     *Options     `json:"options,omitempty" doc:"Thresholds; absent ones have their defaults."`
}

// A Hypothesis is one answer to the question.
type Hypothesis struct {
	ID        string   `json:"id"`
	Text      string   `json:"text"`
	Rationale string   `json:"rationale,omitempty" doc:"Reason why the hypothesis may be true. Its words are matched together with those of text."`
	KeyFact   string   `json:"key_fact,omitempty" doc:"Fact that would confirm or refute the hypothesis. Used in queries, not in matching."`
	Prior     *float64 `json:"prior,omitempty" doc:"Prior weight, 0 to 1; default 1/k for k hypotheses. Priors are normalised to sum 1."`
}

// A Round holds the snippets of one round of retrieval.
type Round struct {
	Snippets     []Snippet `json:"snippets"`
	NewDocuments *int      `json:"new_documents,omitempty" doc:"Number of new documents; default the number of new snippets."`
	QualityGain  *float64  `json:"quality_gain,omitempty" doc:"Quality gain of the round; default the mean of overlap times novelty over its snippets."`
}

// A Snippet is a passage of a document. The same id and text again is the same snippet, and adds nothing.
type Snippet struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Source string `json:"source,omitempty" doc:"Source of the text: a URL, a domain or any name."`
}

// A Result is the state after the last round.
type Result struct {
	Priors           map[string]float64 `json:"priors"` // of the distinct hypotheses, before any evidence; they add up to 1
	Rounds           []RoundResult      `json:"rounds"`
	NextQueries      []Query            `json:"next_queries,omitempty"` // of the first round, only while there are no rounds
	Merged           [][]string         `json:"merged"`                 // ids that say the same; the first stands for all
	Ranking          []Standing         `json:"ranking"`
	Dominance        float64            `json:"dominance"`  // the weight of the leader
	Confidence       float64            `json:"confidence"` // in the leader, .05 to .95
	ConfidenceTerms  []Term             `json:"confidence_terms"`
	Abstain          bool               `json:"abstain"` // no hypothesis should be given as the answer
	AbstainReason    string             `json:"abstain_reason"`
	Packs            []Pack             `json:"packs"`
	SynthesisContext string             `json:"synthesis_context"` // for a model that writes the answer
	Warnings         []string           `json:"warnings"`
}

// Reasons to abstain.
const (
	entropyTooHigh  = "hypothesis_entropy_too_high" // the leader weighs less than Options.AbstainLead
	noneOfTheseLead = "none_of_these_leads"
)

// Warnings.
const (
	agreementNotGiven = "agreement_not_given" // it counts 0
	noEvidence        = "no_evidence"         // no snippet was assigned: the weights are the priors
	oneHypothesis     = "one_hypothesis"      // after merging there is nothing to compare with
)

// A RoundResult is the trace of one round. Maps are by the ids of the distinct hypotheses.
type RoundResult struct {
	Weights       map[string]float64 `json:"weights"` // after the round; they add up to 1
	EntropyNats   float64            `json:"entropy_nats"`
	EntropyShare  float64            `json:"entropy_share"` // of ln k, 0 to 1
	Lead          string             `json:"lead"`
	LeadWeight    float64            `json:"lead_weight"`
	Support       map[string]float64 `json:"support"`       // since the first round
	Falsification map[string]float64 `json:"falsification"` // since the first round
	Assignments   []Assignment       `json:"assignments"`   // in order of snippet id
	NewDocuments  int                `json:"new_documents"` // as given, or counted
	QualityGain   float64            `json:"quality_gain"`  // as given, or computed
	Gate          Gate               `json:"gate"`
	ForcedRounds  int                `json:"forced_rounds"` // rounds forced so far, with this one
	NextQueries   []Query            `json:"next_queries"`  // none where the gate says stop or exhausted
}

// undifferentiated stands in place of a hypothesis where a snippet is assigned to none.
const undifferentiated = "undifferentiated"

// NoneOfThese is the id of the hypothesis that no other is right.
const NoneOfThese = "none_of_these"

// An Assignment is the hypothesis that a snippet counts for.
type Assignment struct {
	Snippet    string  `json:"snippet"`
	Hypothesis string  `json:"hypothesis"` // or Undifferentiated
	Overlap    float64 `json:"overlap"`    // with that hypothesis, else the best; 0 to 1
	Novelty    float64 `json:"novelty"`    // 1 - the largest Jaccard index with an earlier snippet
	Falsifies  bool    `json:"falsifies"`
	Marker     string  `json:"marker,omitempty"`  // the words that make it falsify
	Cluster    string  `json:"cluster,omitempty"` // the snippet whose hypothesis it follows, since its own words say nothing
	Repeated   bool    `json:"repeated,omitempty"`
}

// A Standing is the final weight of a hypothesis.
type Standing struct {
	Hypothesis    string  `json:"hypothesis"`
	Text          string  `json:"text"`
	Weight        float64 `json:"weight"`
	Support       float64 `json:"support"`
	Falsification float64 `json:"falsification"`
	Supporting    int     `json:"supporting"` // snippets
	Falsifying    int     `json:"falsifying"`
}

// A Pack is the strongest evidence on one hypothesis, strongest first.
type Pack struct {
	Hypothesis string    `json:"hypothesis"`
	Weight     float64   `json:"weight"`
	Supporting []Exhibit `json:"supporting"`
	Falsifying []Exhibit `json:"falsifying"`
}

// An Exhibit is a snippet in a pack.
type Exhibit struct {
	ID       string  `json:"id"`
	Text     string  `json:"text"`
	Source   string  `json:"source,omitempty"`
	Round    int     `json:"round"`    // it was first seen in, from 1
	Strength float64 `json:"strength"` // overlap times novelty
}

// A Term is a named part of a number; contributions add up to it, from the first to the last.
type Term struct {
	Name         string  `json:"name"`
	Value        float64 `json:"value"`
	Weight       float64 `json:"weight"`
	Contribution float64 `json:"contribution"`
}

// Triangulate runs all rounds of a request. An error is a [rubric.RequestError].
func Triangulate(r Request) (Result, error) {
	s, err := New(r)
	if err != nil {
		return Result{}, err
	}
	return s.Result(), nil
}
