package run

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/catalog"
)

// What a DAG is missing is one form, of all its tasks; what the form accepts makes the DAG sound.
func TestFormOfMissingValues(t *testing.T) {
	for _, tt := range []struct {
		name string
		q    Request
		form string // empty: a value solves nothing
		only bool
		give string
	}{
		{"every task", dag(task("a", "issues:search", ""), task("b", "issues:get", "")),
			`{"type":"object","required":["a","b"],"properties":{
			  "a":{"type":"object","title":"issues:search","required":["query"],"properties":{"query":{"type":"string","minLength":2}}},
			  "b":{"type":"object","title":"issues:get","required":["id"],"properties":{"id":{"type":"integer"}}}}}`, true,
			`{"a":{"query":"ab"},"b":{"id":7}}`},
		{"intent and parameters", Request{DAG: DAG{Tasks: []catalog.Task{task("a", "fs:echo", `{"x":{"$from":"intent"},"y":{"$from":"params.repo"},"z":{"$from":"params.repo"}}`)}}},
			`{"type":"object","required":["intent","params"],"properties":{
			  "intent":{"type":"string","description":"the purpose of the run"},
			  "params":{"type":"object","required":["repo"],"properties":{"repo":{}}}}}`, true,
			`{"intent":"why","params":{"repo":{"$from":"no reference"}}}`},
		{"parameters of a capability", Request{Capability: "first-issue"},
			`{"type":"object","required":["params"],"properties":{"params":{"type":"object","title":"first-issue","required":["words"],"properties":{"words":{"type":"string"}}}}}`, true,
			`{"params":{"words":"ab"}}`},
		{"beside what no value solves", dag(task("a", "issues:get", ""), task("b", "no:such", "")),
			`{"type":"object","required":["a"],"properties":{"a":{"type":"object","title":"issues:get","required":["id"],"properties":{"id":{"type":"integer"}}}}}`, false, ""},
		{"nothing is missing", dag(task("a", "issues:get", `{"id":"x"}`)), "", false, ""},
		{"what looks like a reference is a value", dag(task("a", "fs:echo", `{"x":{"$from":"params.o"}}`)),
			`{"type":"object","required":["params"],"properties":{"params":{"type":"object","required":["o"],"properties":{"o":{}}}}}`, true,
			`{"a":{"x":{"$from":"nobody.result"}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Check(tt.q, Rules{Catalog: office()})
			var wrong *CheckError
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, tt.only, wrong.OnlyOpen(), "%v", wrong.Problems)
			if tt.form == "" {
				require.Nil(t, wrong.Form())
				return
			}
			form, err := json.Marshal(wrong.Form())
			require.NoError(t, err)
			require.JSONEq(t, tt.form, string(form))
			if tt.give == "" {
				return
			}
			before, err := json.Marshal(tt.q)
			require.NoError(t, err)
			filled := tt.q
			var values map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(tt.give), &values))
			require.NoError(t, filled.Set(values))
			_, err = Check(filled, Rules{Catalog: office()})
			require.NoError(t, err)
			after, err := json.Marshal(tt.q)
			require.NoError(t, err)
			require.Equal(t, string(before), string(after), "the request that was filled in is a copy")
		})
	}
}

func TestSetRefusesByName(t *testing.T) {
	for values, want := range map[string]string{
		`{"b":{"x":1}}`: `values.b: there is no such task; there are a`,
		`{"a":3}`:       `values.a: is not an object of arguments`,
		`{"intent":3}`:  `values.intent: is not a string`,
	} {
		q := dag(task("a", "fs:echo", ""))
		var given map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(values), &given))
		require.EqualError(t, q.Set(given), want)
	}
}
