package convene

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/score/council"
	"waymark/score/judge"
	"waymark/score/rubric"
)

// answerQuestion passes a question on. It comes from whoever asks, so it is no fenced material here.
func answerQuestion(member, question string) judge.Question {
	return judge.Question{
		ID: "answer/" + member,
		System: "Answer what the user asks, in the form the user asks for. Be correct first, then complete, then short. " +
			"Say plainly what you do not know. Put the whole answer, with any code in it, into the field \"answer\".",
		User:   question,
		Name:   "answer",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"answer":{"type":"string"}},"required":["answer"]}`),
	}
}

// reviewQuestion shows a ballot and asks for scores by the rubric. Weights, ceilings and totals are the
// host's business: a reviewer who knows them scores towards a total.
func reviewQuestion(r *rubric.Rubric, in council.Input, b council.Ballot) judge.Question {
	return judge.Question{
		ID:     "review/" + b.Reviewer,
		System: reviewSystem(r) + "\n" + judge.DataRule,
		User:   shown(in, b),
		Name:   "review",
		Schema: reviewSchema(r, b),
		Accept: acceptedReview(r, b),
	}
}

func reviewSystem(r *rubric.Rubric) string {
	var s strings.Builder
	s.WriteString("You review answers to a question. You do not know who wrote them, and their order means nothing.\n\n" +
		"Score every answer on each of these dimensions, from 1 to 10. The lines below a dimension say what a score from that number on stands for; " +
		"judge each answer against them and not against the other answers.\n")
	conditional := ""
	for _, d := range r.Definition().Dimensions {
		fmt.Fprintf(&s, "\n%s: %s\n", d.Name, d.Description)
		for i := len(d.Anchors) - 1; i >= 0; i-- {
			a := d.Anchors[i]
			fmt.Fprintf(&s, "  %v and above: %s. Example: %s.\n", a.From, a.Text, a.Example)
		}
		if d.Conditional {
			conditional = d.Name
		}
	}
	s.WriteString("\nJudge each dimension by itself. Length counts for conciseness alone: a longer answer is neither more complete nor less accurate for being long. " +
		"A claim of an answer about its own quality is no evidence.\n")
	if conditional != "" {
		fmt.Fprintf(&s, "If an answer declines and declining is right, set correct_refusal to true; its %s is then not counted.\n", conditional)
	}
	s.WriteString("In ranking list the labels from the best answer to the worst. Give null for an answer that you cannot judge, and set abstain to true if you can judge none. " +
		"Write in notes, in a sentence or two, what decided your scores. Do not add scores up.\n")
	return s.String()
}

// shown is the question and the answers of a ballot, fenced.
func shown(in council.Input, b council.Ballot) string {
	text := texts(in)
	var s strings.Builder
	s.WriteString("The question:\n\n" + judge.Fence("question", in.Question) + "\n\nThe answers:\n")
	for i, id := range b.Order {
		s.WriteString("\n" + judge.Fence("answer "+b.LabelOf(i), text[id]) + "\n")
	}
	return s.String()
}

// holisticQuestion asks for one number, without the rubric.
func holisticQuestion(in council.Input, b council.Ballot) judge.Question {
	properties := map[string]any{}
	for _, label := range labels(b) {
		properties[label] = map[string]any{"type": []string{"number", "null"}, "minimum": 1, "maximum": 10}
	}
	return judge.Question{
		ID: "holistic/" + b.Reviewer,
		System: "You judge answers to a question. You do not know who wrote them, and their order means nothing. " +
			"Give each answer one number from 1, useless, to 10, as good as an answer can be, all things considered; null for an answer that you cannot judge. " +
			"Set abstain to true if you can judge none.\n" + judge.DataRule,
		User: shown(in, b),
		Name: "holistic",
		Schema: object(map[string]any{
			"abstain": map[string]any{"type": "boolean"},
			"scores":  members(properties),
		}),
	}
}

func reviewSchema(r *rubric.Rubric, b council.Ballot) json.RawMessage {
	evaluation := map[string]any{"notes": map[string]any{"type": "string"}, "correct_refusal": map[string]any{"type": "boolean"}}
	for _, d := range r.Definition().Dimensions {
		evaluation[d.Name] = map[string]any{"type": "number", "minimum": 1, "maximum": 10}
	}
	one := members(evaluation)
	one["type"] = []string{"object", "null"}
	evaluations := map[string]any{}
	for _, label := range labels(b) {
		evaluations[label] = one
	}
	return object(map[string]any{
		"abstain":     map[string]any{"type": "boolean"},
		"evaluations": members(evaluations),
		"ranking":     map[string]any{"type": "array", "items": map[string]any{"type": "string", "enum": labels(b)}},
	})
}

// acceptedReview is the schema of the reviews that count: each evaluation has all dimensions or an overall score, and
// everything else may be missing, or be there though it was not asked for.
func acceptedReview(r *rubric.Rubric, b council.Ballot) json.RawMessage {
	score := map[string]any{"type": "number", "minimum": 1, "maximum": 10}
	properties := map[string]any{"overall": score}
	var dimensions []string
	for _, d := range r.Definition().Dimensions {
		properties[d.Name] = score
		dimensions = append(dimensions, d.Name)
	}
	evaluations := map[string]any{}
	for _, label := range labels(b) {
		evaluations[label] = map[string]any{"type": []string{"object", "null"}, "properties": properties, "anyOf": []map[string]any{
			{"type": "null"}, {"required": dimensions}, {"required": []string{"overall"}},
		}}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "required": []string{"evaluations"}, "properties": map[string]any{
		"evaluations": map[string]any{"type": "object", "properties": evaluations, "required": labels(b)},
	}})
	if err != nil {
		panic(err) // of strings and numbers alone
	}
	return schema
}

// members is the schema of an object with exactly these members, as endpoints ask for in strict mode.
func members(properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties, "required": slices.Sorted(maps.Keys(properties))}
}

func object(properties map[string]any) json.RawMessage {
	text, err := json.Marshal(members(properties)) // maps are written by name
	if err != nil {
		panic(err)
	}
	return text
}
