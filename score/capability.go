package score

import (
	"encoding/json"

	"waymark/catalog"
	"waymark/score/judge"
)

// Ids of the scorers in a catalog.
const (
	HypothesisID   = "scorer:hypothesis"
	CouncilID      = "scorer:council"
	ContributionID = "scorer:contribution"
	SessionID      = "scorer:session"
	CustomID       = "scorer:custom"
	TriangulateID  = "scorer:triangulate"
)

// Capabilities returns the scorers as capabilities. They use no tools; episodes teach which tools precede them.
func Capabilities() []catalog.Capability {
	object := func(required ...string) json.RawMessage {
		properties := map[string]any{}
		for _, name := range required {
			properties[name] = map[string]any{"type": kinds[name]}
		}
		text, err := json.Marshal(map[string]any{"type": "object", "required": required, "properties": properties})
		if err != nil {
			panic(err)
		}
		return text
	}
	return []catalog.Capability{
		{ID: HypothesisID, Name: "score_hypothesis", Description: "Scores and ranks research hypotheses by specificity, novelty, connection validity, feasibility and grounding; pass, borderline or fail.",
			Intent: "score, judge and rank research hypotheses", InputSchema: object("hypotheses"), OutputSchema: object("results", "mismatches")},
		{ID: CouncilID, Name: "score_council", Description: "Ranks competing answers by the reviews of their peers: accuracy, relevance, completeness, conciseness, clarity, with a safety gate.",
			Intent: "rank competing answers of several models by peer review", InputSchema: object("question"), OutputSchema: object("ranking", "reviews")},
		{ID: ContributionID, Name: "score_contribution", Description: "Scores a contribution to a research session: the deltas in a message of a hypothesis generator, test designer or adversarial critic.",
			Intent: "score a contribution of a research role", InputSchema: object("role", "text"), OutputSchema: object("deltas", "warnings")},
		{ID: SessionID, Name: "score_session", Description: "Scores a whole research session: volume, quality, progression, convergence and coverage of operators.",
			Intent: "evaluate a research session", InputSchema: object("contributions"), OutputSchema: object("contributions", "warnings")},
		{ID: CustomID, Name: "score_custom", Description: "Scores and ranks items by a rubric of one's own: weighted dimensions, floors, ceilings, gates and verdicts.",
			Intent: "score items by a rubric", InputSchema: object("items"), OutputSchema: object("results")},
		{ID: TriangulateID, Name: "triangulate", Description: "Weighs competing hypotheses by evidence snippets, round by round: weights, entropy, queries for the next round, confidence, and when to abstain.",
			Intent: "weigh competing hypotheses by evidence", InputSchema: object("question"), OutputSchema: object("rounds", "packs")},
	}
}

// kinds maps the fields in the schemas to their JSON types.
var kinds = map[string]string{
	"hypotheses": "array", "results": "array", "mismatches": "array", "question": "string", "ranking": "array", "reviews": "array", "role": "string",
	"text": "string", "deltas": "array", "warnings": "array", "contributions": "array", "items": "array", "rounds": "array", "packs": "array",
}

// A Judged is an answer to which a judge may have contributed. JudgeOutcome returns Answered if every question was
// answered, else the first other outcome.
type Judged interface{ JudgeOutcome() judge.Outcome }

func (a HypothesisAnswer) JudgeOutcome() judge.Outcome { return firstTrouble(a.Unscored) }
func (a CustomAnswer) JudgeOutcome() judge.Outcome     { return firstTrouble(a.Unscored) }

func firstTrouble(unscored []Unscored) judge.Outcome {
	if len(unscored) == 0 {
		return judge.Answered
	}
	return unscored[0].Outcome
}

func (a CouncilAnswer) JudgeOutcome() judge.Outcome {
	for _, e := range a.Judgements {
		if e.Outcome != judge.Answered {
			return e.Outcome
		}
	}
	return judge.Answered
}
