package evidence

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/score"
)

const small = `"question":"Which?","hypotheses":[{"id":"a","text":"rain"},{"id":"b","text":"wind"}]`

func decode(data []byte) (Request, error) {
	var r Request
	if err := json.Unmarshal(data, &r, json.RejectUnknownMembers(true)); err != nil {
		return r, err
	}
	return r, r.check()
}

func TestCheckRefuses(t *testing.T) {
	long := strings.Repeat("x", 20001)
	many := func(n int) string {
		var s []string
		for i := range n {
			s = append(s, fmt.Sprintf(`{"id":"s%d","text":"x"}`, i))
		}
		return strings.Join(s, ",")
	}
	for _, tt := range []struct{ name, body, want string }{
		{"no question", `{"hypotheses":[{"id":"a","text":"b"}]}`, "question: is required"},
		{"empty question", `{"question":" "}`, "question: is required"},
		{"no word", `{"question":"???"}`, `question: "???" has no word`},
		{"rounds without hypotheses", `{"question":"x","rounds":[{"snippets":[]}]}`, "hypotheses: none is given"},
		{"hypotheses and documents", `{` + small + `,"documents":[{"text":"x"}]}`, "hypotheses: are given: their evidence comes in rounds"},
		{"search rounds", `{"question":"x","max_rounds":21}`, "max_rounds: 21 is not between 0 and 20"},
		{"results", `{"question":"x","per_query":-1}`, "per_query: -1 is not between 0 and 50"},
		{"one hypothesis", `{"question":"x","hypotheses":[{"id":"a","text":"b"}]}`, "hypotheses: one alone has nothing to be compared with"},
		{"eleven", `{"question":"x","hypotheses":[` + strings.Repeat(`{"id":"a","text":"b"},`, 10) + `{"id":"a","text":"b"}]}`, "hypotheses: 11 are more than 10"},
		{"no id", `{"question":"x","hypotheses":[{"id":"a","text":"b"},{"text":"c"}]}`, "hypotheses[1].id: is required"},
		{"invisible id", `{"question":"x","hypotheses":[{"id":"a\u200b","text":"b"},{"id":"c","text":"c"}]}`, "has an invisible character"},
		{"same id", `{"question":"x","hypotheses":[{"id":"a","text":"b"},{"id":"a","text":"c"}]}`, `hypotheses[1].id: "a" is also the id of hypotheses[0]`},
		{"reserved id", `{"question":"x","hypotheses":[{"id":"none_of_these","text":"b"},{"id":"a","text":"c"}]}`, `hypotheses[0].id: "none_of_these" has a meaning of its own`},
		{"no text", `{"question":"x","hypotheses":[{"id":"a","text":"b"},{"id":"c"}]}`, "hypotheses[1].text: is required"},
		{"long rationale", `{"question":"x","hypotheses":[{"id":"a","text":"b","rationale":"` + long + `"},{"id":"c","text":"d"}]}`, "hypotheses[0].rationale: 20001 bytes are more than 4000"},
		{"prior", `{"question":"x","hypotheses":[{"id":"a","text":"b","prior":1.5},{"id":"c","text":"d"}]}`, "hypotheses[0].prior: 1.5 is not between 0 and 1"},
		{"priors of 0", `{"question":"x","hypotheses":[{"id":"a","text":"b","prior":0},{"id":"c","text":"d","prior":0}]}`, "hypotheses: the priors add up to 0"},
		{"agreement", `{` + small + `,"agreement":-1}`, "agreement: -1 is not between 0 and 1"},
		{"threshold", `{` + small + `,"options":{"stop_share":2}}`, "options.stop_share: 2 is not between 0 and 1"},
		{"count", `{` + small + `,"options":{"max_forced":-1}}`, "options.max_forced: -1 is not between 0 and 50"},
		{"no snippet id", `{` + small + `,"rounds":[{"snippets":[{"text":"x"}]}]}`, "rounds[0].snippets[0].id: is required"},
		{"one id, two texts", `{` + small + `,"rounds":[{"snippets":[{"id":"s","text":"x"},{"id":"s","text":"y"}]}]}`, `rounds[0].snippets[1].id: "s" is already the id of snippets[0], which has another text`},
		{"long snippet", `{` + small + `,"rounds":[{"snippets":[]},{"snippets":[{"id":"s","text":"` + long + `"}]}]}`, "rounds[1].snippets[0].text: 20001 bytes are more than 20000"},
		{"new documents", `{` + small + `,"rounds":[{"snippets":[],"new_documents":-1}]}`, "rounds[0].new_documents: -1 is not between 0 and"},
		{"many snippets", `{` + small + `,"rounds":[{"snippets":[` + many(201) + `]}]}`, "rounds[0].snippets: 201 are more than 200"},
		{"many rounds", `{` + small + `,"rounds":[` + strings.Repeat(`{"snippets":[]},`, 50) + `{"snippets":[]}]}`, "rounds: 51 are more than 50"},
		{"many in all", `{` + small + `,"rounds":[` + strings.Repeat(`{"snippets":[`+many(200)+`]},`, 10) + `{"snippets":[{"id":"s","text":"x"}]}]}`, "rounds[10].snippets: more than 2000 in all rounds"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decode([]byte(tt.body))
			var refused *score.RequestError
			require.True(t, errors.As(err, &refused), "%v", err)
			assert.Contains(t, err.Error(), tt.want)
		})
	}
	_, err := Triangulate(t.Context(), Request{Question: "Which?", Hypotheses: []Hypothesis{{ID: "a", Text: "\xff x"}, {ID: "b", Text: "y"}}}, nil, nil)
	assert.EqualError(t, err, "hypotheses[0].text: is not valid UTF-8")
}

// What is accepted gives a result without any number that JSON cannot hold, the same one each time.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{` + small + `}`))
	f.Add([]byte(`{` + small + `,"none_of_these":true,"agreement":0.5,"rounds":[{"snippets":[{"id":"s","text":"no evidence that rain"}],"quality_gain":-1}]}`))
	f.Add([]byte(`{"question":"é?","hypotheses":[{"id":"a","text":"不明 5","prior":1e-300},{"id":"b","text":"not x","rationale":"because","key_fact":"n't"}],"options":{"stop_lead":0}}`))
	f.Add([]byte(`{` + small + `,"rounds":[{"snippets":[{"id":"1","text":"rain fails to"},{"id":"2","text":"no"}]},{"snippets":[{"id":"1","text":"rain"}],"new_documents":0}],"options":{"max_forced":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decode(data)
		if err != nil || len(r.Hypotheses) == 0 {
			return
		}
		res, err := json.Marshal(weigh(r).result(), json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(weigh(r).result(), json.Deterministic(true)); err != nil || string(again) != string(res) {
			t.Fatalf("%s\n%s %v", res, again, err)
		}
	})
}
