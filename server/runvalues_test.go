package server

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/run"
)

// openDAG is missing two arguments, as the answers of suggest_dag mostly are.
const openDAG = `{"intent":"close it","tasks":[{"id":"a","tool":"issue:find"},{"id":"b","tool":"issue:show","depends_on":["a"]}]}`

const openForm = `{"type":"object","required":["a","b"],"properties":{
 "a":{"type":"object","title":"issue:find","required":["query"],"properties":{"query":{"type":"string"}}},
 "b":{"type":"object","title":"issue:show","required":["issue_number"],"properties":{"issue_number":{"type":"integer"}}}}}`

// The refusal of a DAG without values has one form for all of them, and a request with what the form accepts runs.
func TestMissingValuesOverHTTP(t *testing.T) {
	w, d := newBench(t)
	p := requireProblem(t, 422, "without values for a.query, b.issue_number", w.ask("POST", "/v1/runs", `{"dag":`+openDAG+`}`))
	last := p.Errors[len(p.Errors)-1]
	require.Equal(t, "body.values", last.Location)
	form, err := json.Marshal(last.Value)
	require.NoError(t, err)
	require.JSONEq(t, openForm, string(form))

	const values = `{"a":{"query":"leaks"},"b":{"issue_number":9}}`
	begun := parse[run.Status](t, 202, w.ask("POST", "/v1/runs", `{"values":`+values+`,"dag":`+openDAG+`}`))
	require.Equal(t, run.Done, w.ended(begun.ID).State)
	require.Len(t, d.calls, 2)
	require.JSONEq(t, `{"query":"leaks"}`, string(d.calls[0].Arguments))
	require.JSONEq(t, `{"issue_number":9}`, string(d.calls[1].Arguments))

	requireProblem(t, 422, "there is no such task; there are a, b", w.ask("POST", "/v1/runs", `{"values":{"t1":{"query":"x"}},"dag":`+openDAG+`}`))

	p = requireProblem(t, 422, "without values for params.words", w.ask("POST", "/v1/runs", `{"capability":"show-first"}`))
	require.Equal(t, "body.values", p.Errors[len(p.Errors)-1].Location)
	parse[run.Status](t, 202, w.ask("POST", "/v1/runs", `{"capability":"show-first","values":{"params":{"words":"leaks"}}}`))
}
