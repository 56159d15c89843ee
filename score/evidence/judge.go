package evidence

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"waymark/score"
)

// A Judge returns the model that the options of a request select; see [score.Scorer.Asker].
type Judge func(score.JudgeOptions) (score.Asker, error)

// A Generation holds the hypotheses that a judge proposed, and how they were obtained.
type Generation struct {
	// Exactly five, h1 the most plausible; none if skipped.
	Hypotheses []Hypothesis `json:"hypotheses"`
	Difficulty Difficulty   `json:"difficulty"`
	// Set if the question is easy and hypotheses were not forced.
	Skipped bool `json:"skipped"`
	// Set if no two hypotheses have the same claim.
	Distinct bool `json:"distinct"`
	// Groups of ids with the same claim; they will be merged.
	Alike [][]string `json:"alike"`
	// Mean of 1 - cosine over all pairs of texts: how different the answers are.
	MeanDistance float64          `json:"mean_distance"`
	Judgement    *score.Judgement `json:"judgement,omitempty"`
}

// generate asks a judge for five hypotheses. A reply with fewer, with a part missing, or with the same claim twice is
// returned once with the fault. Hypotheses that still have the same claim are merged later; nothing is ever filled in.
// An easy question is skipped unless the request sets EvenIfEasy.
func generate(ctx context.Context, r Request, judge Judge) (Generation, error) {
	g := Generation{Hypotheses: []Hypothesis{}, Difficulty: assess(r.Question), Alike: [][]string{}}
	if g.Skipped = g.Difficulty.Easy && !r.EvenIfEasy; g.Skipped {
		return g, nil
	}
	if judge == nil {
		return g, score.ErrNoJudge
	}
	asker, err := judge(r.Judge)
	if err != nil {
		return g, err
	}
	q := proposal(r.Question)
	var complete []Hypothesis
	q.Accept = func(object json.RawMessage) error {
		hs, err := parseHypotheses(object)
		if err == nil {
			complete = hs
			if same := alike(hs); len(same) > 0 {
				err = fmt.Errorf("%s say the same, but have to differ in what they claim", strings.Join(same[0], " and "))
			}
		}
		return err
	}
	j := asker.Ask(ctx, q)
	if complete == nil || j.Outcome != score.Answered && j.Outcome != score.Unparsable {
		return g, fmt.Errorf("%w: ask for hypotheses: %w", score.ErrJudge, &score.AskError{Judgement: j})
	}
	g.Hypotheses, g.Alike, g.Judgement = complete, alike(complete), &j
	g.Distinct, g.MeanDistance = len(g.Alike) == 0, distance(complete)
	return g, nil
}

func distance(hypotheses []Hypothesis) float64 {
	var distances []float64
	for i, a := range hypotheses {
		for _, b := range hypotheses[:i] {
			distances = append(distances, 1-cosine(terms(a.Text), terms(b.Text)))
		}
	}
	return mean(distances)
}

// A Difficulty is the estimate of whether a question needs hypotheses. A question with fewer than 3 named entities and
// fewer than 25 words is easy. Entities are listed once each, in order.
type Difficulty struct {
	Words    int      `json:"words"`
	Entities []string `json:"entities"`
	Easy     bool     `json:"easy"`
}

// namePattern matches runs of words that begin with a capital, or have a digit beside letters: Lake Baikal, p53. The first
// group matches if the run begins a sentence.
var namePattern = func() *regexp.Regexp {
	const in = `[\pL\p{Nd}'’/-]*`
	const name = `(?:\p{Lu}` + in + `|\pL+` + in + `\p{Nd}` + in + `|\p{Nd}` + in + `\pL` + in + `)`
	return regexp.MustCompile(`((?:^|[.!?:])[^\pL\p{Nd}]*)?(` + name + `(?:\s+` + name + `)*)`)
}()

// assess uses only the words of the question. A run of names is a named entity unless it is one word at the beginning
// of a sentence.
func assess(question string) Difficulty {
	d := Difficulty{Words: len(strings.Fields(question)), Entities: []string{}}
	for _, at := range namePattern.FindAllStringSubmatchIndex(question, -1) {
		name, begins := question[at[4]:at[5]], at[2] >= 0
		if (!begins || strings.Contains(name, " ")) && !slices.Contains(d.Entities, name) {
			d.Entities = append(d.Entities, name)
		}
	}
	d.Easy = len(d.Entities) < 3 && d.Words < 25
	return d
}

const generated = 5

// proposal asks for exactly five ranked candidate answers that differ in what they claim. A schema of texts and numbers
// is always valid JSON.
func proposal(question string) score.Question {
	text := map[string]any{"type": "string"}
	item := score.ObjectSchema(map[string]any{"text": text, "rationale": text, "key_fact": text})
	list := map[string]any{"type": "array", "minItems": generated, "maxItems": generated, "items": item}
	schema, _ := json.Marshal(score.ObjectSchema(map[string]any{"hypotheses": list}))
	task := tables.Texts["proposal"] + "\n\n" + score.Fence("question", question)
	rules := tables.Texts["rules"] + " " + score.DataRule
	return score.Question{ID: "hypotheses", Name: "hypotheses", Schema: schema, System: rules, User: task}
}

// parts are the parts of a proposed hypothesis, all of which are required.
type parts struct {
	Text      string `json:"text" is:"required,words" max:"4000"`
	Rationale string `json:"rationale" is:"required,words" max:"4000"`
	KeyFact   string `json:"key_fact" is:"required,words" max:"4000"`
}

// parseHypotheses parses the object that a judge returned; the error names its first fault. Names of fields may be in
// another spelling. Of more than five hypotheses the first five count. They get the ids h1 to h5 in their order.
func parseHypotheses(object json.RawMessage) (hs []Hypothesis, err error) {
	var reply struct{ Hypotheses []map[string]any }
	// An object of another form decodes to too few hypotheses.
	_ = json.Unmarshal(object, &reply)
	if n := len(reply.Hypotheses); n < generated {
		return nil, fmt.Errorf("it has %d hypotheses, not %d", n, generated)
	}
	for i, item := range reply.Hypotheses[:generated] {
		text := func(name string) string {
			v, _ := score.Member(item, name)
			text, _ := v.(string)
			return text
		}
		p := parts{text("text"), text("rationale"), text("key_fact")}
		if err := score.Check(p); err != nil {
			return nil, score.Within(fmt.Sprintf("hypotheses[%d]", i), err)
		}
		h := Hypothesis{ID: fmt.Sprintf("h%d", i+1), Text: p.Text, Rationale: p.Rationale, KeyFact: p.KeyFact}
		hs = append(hs, h)
	}
	return hs, nil
}
