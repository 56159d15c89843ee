package score

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"waymark/internal/plural"
	"waymark/score/evidence"
)

// A TriangulateAnswer is the result for competing hypotheses. ID is a hash of the initial request, the same on every
// surface.
type TriangulateAnswer struct {
	Message string `json:"message" doc:"Summary of the answer in one sentence."`
	ID      string `json:"id" doc:"Id of the triangulation, for adding more evidence."`
	evidence.Result
}

// Triangulate weighs hypotheses by the snippets of all rounds.
func (s *Scorer) Triangulate(_ context.Context, in evidence.Request) (TriangulateAnswer, error) {
	res, err := evidence.Triangulate(in)
	if err != nil {
		return TriangulateAnswer{}, err
	}
	id, err := triangulationID(in)
	return TriangulateAnswer{evidenceMessage(res), id, res}, err
}

func triangulationID(in evidence.Request) (string, error) {
	text, err := json.Marshal(in)
	sum := sha256.Sum256(text)
	return "tr_" + hex.EncodeToString(sum[:10]), err
}

// AddEvidence adds a round to a triangulation whose state is the request with its previous rounds. It returns the new
// state and the answer.
func (s *Scorer) AddEvidence(id string, state evidence.Request, round evidence.Round) (evidence.Request, TriangulateAnswer, error) {
	session, err := evidence.New(state)
	if err != nil {
		return evidence.Request{}, TriangulateAnswer{}, err
	}
	if _, err := session.Add(round); err != nil {
		return evidence.Request{}, TriangulateAnswer{}, err
	}
	res := session.Result()
	return session.Request(), TriangulateAnswer{evidenceMessage(res), id, res}, nil
}

func evidenceMessage(res evidence.Result) string {
	if len(res.Ranking) == 0 {
		return "There is nothing to weigh."
	}
	lead := res.Ranking[0]
	text := fmt.Sprintf("%s leads with a weight of %.2f and a confidence of %.2f.", lead.Hypothesis, lead.Weight, res.Confidence)
	if res.Abstain {
		text = fmt.Sprintf("No answer should be given (%s): %s", res.AbstainReason, text)
	}
	if n := len(res.Rounds); n > 0 {
		text += fmt.Sprintf(" After %s the gate says %s.", plural.Of(n, "round"), res.Rounds[n-1].Gate)
	}
	return text
}
