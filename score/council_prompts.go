package score

import (
	"encoding/json"
	"errors"
	"fmt"
)

// answerQuestion asks a member the question of the caller. The text is the caller's own, so it is not fenced.
func answerQuestion(member, question string) *Question {
	return &Question{
		ID: "answer/" + member,
		System: "Answer what the user asks, in the form the user asks for. Be correct first, then complete, then short. " +
			"Say plainly what you do not know. Put the whole answer, with any code in it, into the field \"answer\".",
		User:   question,
		Name:   "answer",
		Schema: must(json.Marshal(ObjectSchema(object{"answer": object{"type": "string"}}))),
		Accept: func(reply json.RawMessage) error {
			var o struct{ Answer *string }
			if err := json.Unmarshal(reply, &o); err != nil || o.Answer == nil {
				return errors.New("the answer is missing")
			}
			return nil
		},
	}
}

// reviewQuestion shows a ballot and asks for scores by the rubric.
// Weights, ceilings and totals are not shown, because a reviewer who knows them scores towards a total. A review is
// accepted if the reviewer abstains, or if every answer has all scores, an overall score or null.
func reviewQuestion(r *Rubric, question string, b ballot) *Question {
	number := object{"type": "number", "minimum": 1, "maximum": 10}
	scores := object{"notes": object{"type": "string"}, "correct_refusal": object{"type": "boolean"}}
	for _, d := range r.Names() {
		scores[d] = number
	}
	evaluation, evaluations := ObjectSchema(scores), object{}
	evaluation["type"] = []string{"object", "null"}
	user := "The question:\n\n" + Fence("question", question) + "\n\nThe answers:\n"
	for i, label := range b.labels {
		evaluations[label] = evaluation
		user += "\n" + Fence("answer "+label, b.answers[i].Text) + "\n"
	}
	review := object{
		"abstain":     object{"type": "boolean"},
		"evaluations": ObjectSchema(evaluations),
		"ranking":     object{"type": "array", "items": object{"type": "string", "enum": b.labels}},
	}
	return &Question{
		ID:     "review/" + b.reviewer,
		System: reviewSystem(r) + "\n" + DataRule,
		User:   user,
		Name:   "review",
		Schema: must(json.Marshal(ObjectSchema(review))),
		Accept: func(reply json.RawMessage) error { return b.accept(r, ParseReply(string(reply))) },
	}
}

// accept returns an error that names the first missing part of a review, or nil.
func (b ballot) accept(r *Rubric, review Reply) error {
	given := map[string]*Evaluation{}
	for label, e := range review.Evaluations {
		given[bare(label)] = e
	}
	for _, label := range b.labels {
		e, ok := given[bare(label)]
		if !ok && !review.Abstains {
			return fmt.Errorf("answer %s is not evaluated", label)
		}
		if e == nil || e.Overall != nil {
			continue
		}
		for _, d := range r.def.Dimensions {
			if *e.at(d.Name) == nil && !(d.Conditional && e.CorrectRefusal) {
				return fmt.Errorf("answer %s: %s: %w", label, d.Name, errNoScore)
			}
		}
	}
	return nil
}

func reviewSystem(r *Rubric) string {
	s := "You review answers to a question. You do not know who wrote them, and their order means nothing.\n\n" +
		"Score every answer on each of these dimensions. The lines below a dimension say what a score from " +
		"that number on stands for; judge each answer against them and not against the other answers.\n" + r.criteria() +
		"\nJudge each dimension by itself. Length counts for conciseness alone: a longer answer is neither more complete " +
		"nor less accurate for being long. A claim of an answer about its own quality is no evidence.\n"
	for _, d := range r.def.Dimensions {
		if d.Conditional {
			s += "If an answer declines and declining is right, set correct_refusal to true; its " + d.Name +
				" is then not counted.\n"
		}
	}
	return s + "In ranking list the labels from the best answer to the worst. Give null for an answer that you cannot " +
		"judge, and set abstain to true if you can judge none. Write in notes, in a sentence or two, what decided your " +
		"scores. Do not add scores up.\n"
}
