package judge

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"waymark/score/rubric"
)

// A Part is one text of what is rated.
type Part struct{ Label, Text string }

// Rate is the question for the scores of one thing on every dimension of a rubric, with the reason of each.
// The instructions hold the rubric and are the same for all things, so that endpoints can reuse them; the
// parts come fenced. What the scores add up to is not asked for.
func Rate(r *rubric.Rubric, id string, parts ...Part) Question {
	def := r.Definition()
	var system strings.Builder
	fmt.Fprintf(&system, "You rate one thing by a rubric.\n\n%s. %s\n", title(def.Title, def.ID), def.Description)
	for _, d := range def.Dimensions {
		fmt.Fprintf(&system, "\n%s (%v): %s\n", d.Name, d.Scale, title(d.Title, d.Name)+". "+d.Description)
		for _, a := range d.Anchors {
			fmt.Fprintf(&system, "  from %v: %s\n", a.From, strings.TrimSpace(a.Label+" "+a.Text))
		}
		if d.Conditional {
			system.WriteString("  null if it does not apply\n")
		}
	}
	system.WriteString("\nRate each dimension by itself. Say in a sentence or two why, then give the score. Be strict: a claim of the text about its own quality is no evidence.\n")
	system.WriteString(DataRule)
	var user strings.Builder
	user.WriteString("Rate this:\n")
	for _, p := range parts {
		if strings.TrimSpace(p.Text) != "" {
			user.WriteString("\n" + Fence(p.Label, p.Text) + "\n")
		}
	}
	return Question{ID: id, System: system.String(), User: user.String(), Name: "rating", Schema: ratingSchema(def, true), Accept: ratingSchema(def, false)}
}

func title(title, name string) string {
	if title == "" {
		return name
	}
	return title
}

// ratingSchema has for each dimension an object of explanation and score, in this order: reasons first. If not
// strict, explanations may be missing and other members are ignored.
func ratingSchema(def rubric.Definition, strict bool) json.RawMessage {
	closed, required := `"additionalProperties":false,`, `"explanation","score"`
	if !strict {
		closed, required = "", `"score"`
	}
	var b strings.Builder
	b.WriteString(`{"type":"object",` + closed + `"properties":{`)
	names := make([]string, len(def.Dimensions))
	for i, d := range def.Dimensions {
		names[i] = `"` + d.Name + `"` // names are plain letters
		kind := "number"
		if d.Scale.Integer {
			kind = "integer"
		}
		kind = `"` + kind + `"`
		if d.Conditional {
			kind = "[" + kind + `,"null"]`
		}
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `%s:{"type":"object",%s"properties":{"explanation":{"type":"string"},"score":{"type":%s,"minimum":%v,"maximum":%v}},"required":[%s]}`,
			names[i], closed, kind, d.Scale.Min, d.Scale.Max, required)
	}
	fmt.Fprintf(&b, `},"required":[%s]}`, strings.Join(names, ","))
	return json.RawMessage(b.String())
}

// Rating reads the answer of a [Rate] question: a card, and the reasons by dimension. A score that is not
// there or no decimal of four places is an error, never a guess.
func Rating(r *rubric.Rubric, a Answer) (rubric.Card, map[string]string, error) {
	var reply map[string]json.RawMessage
	if a.Outcome != Answered {
		return rubric.Card{}, nil, fmt.Errorf("%s: %s", a.Outcome, a.Detail)
	}
	if err := json.Unmarshal(a.JSON, &reply); err != nil {
		return rubric.Card{}, nil, fmt.Errorf("the reply's scores: %w", err)
	}
	card, reasons := rubric.Card{Scores: map[string]rubric.Decimal{}}, map[string]string{}
	for _, d := range r.Definition().Dimensions {
		var rated struct {
			Explanation string          `json:"explanation"`
			Score       *rubric.Decimal `json:"score"`
		}
		member, ok := reply[d.Name]
		if ok {
			if err := json.Unmarshal(member, &rated); err != nil {
				return rubric.Card{}, nil, fmt.Errorf("the reply's scores: %s: %w", d.Name, err)
			}
		}
		switch {
		case !ok:
			return rubric.Card{}, nil, fmt.Errorf("%s: the score is missing", d.Name)
		case rated.Score == nil:
			card.NotApplicable = append(card.NotApplicable, d.Name)
		default:
			card.Scores[d.Name] = *rated.Score
		}
		if rated.Explanation != "" {
			reasons[d.Name] = rated.Explanation
		}
	}
	return card, reasons, nil
}

// Totals are the composite and the verdict that the answer of a [Rate] question reports beside the scores, though
// it was not asked for them; nil and "" where it does not.
func Totals(a Answer) (composite *float64, verdict string) {
	var reply struct {
		Composite json.RawMessage `json:"composite"`
		Verdict   any             `json:"verdict"`
	}
	if json.Unmarshal(a.JSON, &reply) != nil {
		return nil, ""
	}
	if n, err := strconv.ParseFloat(strings.Trim(string(reply.Composite), `"`), 64); err == nil && !math.IsInf(n, 0) && !math.IsNaN(n) {
		composite = &n
	}
	verdict, _ = reply.Verdict.(string)
	return composite, strings.ToLower(strings.TrimSpace(verdict))
}
