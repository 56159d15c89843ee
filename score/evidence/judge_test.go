package evidence

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/score"
)

const fiveItems = `{"text":"Rain","rationale":"It rained.","key_fact":"A wet gauge."},
{"text":"Wind","rationale":"It blew.","key_fact":"A torn flag."},
{"text":"Ice","rationale":"It froze.","key_fact":"A cracked pipe."},
{"text":"Heat","rationale":"It was hot.","key_fact":"A dry field."},
{"text":"Mice","rationale":"They gnaw.","key_fact":"A chewed cable."}`

// hypothesesIn reads a reply as a client does.
func hypothesesIn(reply string) (hs []Hypothesis, problem string) {
	q := score.Question{Accept: func(object json.RawMessage) (err error) {
		hs, err = parseHypotheses(object)
		return err
	}}
	return hs, q.Read(reply).Detail
}

// Origins of the seed documents, 4.1: 49 of 50 replies were thrown away because of prose in front or a fence.
func TestParseHypotheses(t *testing.T) {
	want := []string{"Rain", "Wind", "Ice", "Heat", "Mice"}
	object := `{"hypotheses":[` + fiveItems + `]}`
	list := func(items string) string { return `{"hypotheses":[` + items + `]}` }
	for _, tt := range []struct{ name, reply, problem string }{
		{"bare object", object, ""},
		{"prose in front", "Sure! Here are {five} candidates [ranked]:\n\n" + object + "\nHope this helps.", ""},
		{"fence", "```json\n" + object + "\n```", ""},
		{"other spellings", strings.NewReplacer("hypotheses", "Hypotheses", "text", "Text", "key_fact", "keyFact").Replace(object), ""},
		{"another member", `{"thoughts":["hm"],"hypotheses":[` + fiveItems + `]}`, ""},
		{"a sixth one", `{"hypotheses":[` + fiveItems + `,{"text":"Fire","rationale":"r","key_fact":"k"}]}`, ""},
		{"trailing commas and comments", `{"hypotheses":[` + strings.Replace(fiveItems, `"A wet gauge."`, "\"A wet gauge.\", // or dry\n", 1) + `,]}`, ""},
		{"an example before the answer", `{"hypotheses":[{"text":"…","rationale":"…","key_fact":"…"}]} ` + object, ""},

		{"no list", `{"answers":[` + fiveItems + `]}`, "it has 0 hypotheses, not 5"},
		{"four", list(fiveItems[:strings.LastIndex(fiveItems, ",\n")]), "it has 4 hypotheses, not 5"},
		{"plain strings", `{"hypotheses":["a","b","c","d","e"]}`, "hypotheses[0].text: is required"},
		{"no rationale", list(strings.Replace(fiveItems, `"rationale":"It froze."`, `"rationale":null`, 1)), "hypotheses[2].rationale: is required"},
		{"empty key fact", list(strings.Replace(fiveItems, `"key_fact":"A torn flag."`, `"key_fact":" "`, 1)), "hypotheses[1].key_fact: is required"},
		{"the seed's names", list(strings.ReplaceAll(fiveItems, "text", "hypothesis_text")), "hypotheses[0].text: is required"},
		{"deep", strings.Repeat("[", 20000), "no JSON object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hs, problem := hypothesesIn(tt.reply)
			if tt.problem != "" {
				assert.Contains(t, problem, tt.problem)
				return
			}
			require.Empty(t, problem)
			var texts, ids []string
			for _, h := range hs {
				texts, ids = append(texts, h.Text), append(ids, h.ID)
				assert.NotEmpty(t, h.Rationale)
				assert.NotEmpty(t, h.KeyFact)
			}
			assert.Equal(t, want, texts)
			assert.Equal(t, []string{"h1", "h2", "h3", "h4", "h5"}, ids)
		})
	}
}

func FuzzParseHypotheses(f *testing.F) {
	f.Add(`{"hypotheses":[` + fiveItems + `]}`)
	f.Add(`{"a":[{"text":1}],"b":{"hypotheses":[]}} [[{"rank":"x"}]]`)
	f.Add(`{"hypotheses":[{"text":"\ud800","rationale":"\u0000"}`)
	f.Fuzz(func(t *testing.T, reply string) {
		hs, problem := hypothesesIn(reply)
		if problem != "" {
			return
		}
		if len(hs) != 5 {
			t.Fatalf("%d hypotheses", len(hs))
		}
		if err := (Request{Question: "Why?", Hypotheses: hs}).check(); err != nil {
			t.Fatalf("accepted, but no session: %v", err)
		}
	})
}
