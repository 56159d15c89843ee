package exchange

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
)

func capability(t testing.TB, text string) catalog.Capability {
	t.Helper()
	var c catalog.Capability
	require.NoError(t, json.Unmarshal([]byte(text), &c))
	require.NoError(t, c.Normalise())
	return c
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// plainCapability is what every format can say.
const plainCapability = `{"id":"show-first","description":"Find and show an issue.","input_schema":{"type":"object","properties":{"words":{"type":"string"},"limit":{"type":"integer","default":3}},"required":["words"]},
 "tasks":[{"id":"find","tool":"issue:find","arguments":{"query":{"$from":"params.words"},"limit":5,"labels":["a",{"b":1.5}]}},
  {"id":"show","tool":"issue:show","depends_on":["find"],"arguments":{"number":{"$from":"find.result.items[0].number"},"whole":{"$from":"find.result"}},"on_error":"continue","timeout_ms":90000}],
 "output":{"body":{"$from":"show.result.body"}}}`

// richCapability takes expressions, conditions and references that only we have.
const richCapability = `{"id":"weekly","name":"Weekly","description":"Reports.","intent":"report the week","version":4,"tags":["a","b"],"output_schema":{"type":"object"},
 "input_schema":{"type":"object","properties":{"repo":{"type":"string"}}},
 "tasks":[{"id":"b","tool":"mail:send","depends_on":["a"],"when":"len(tasks.a.result.items) > 0","arguments":{"text":{"$expr":"\"n: \" + string(len(tasks.a.result.items))"},"what":{"$from":"intent"},"odd":{"$from":"a.result[\"odd name\"]"},"deep":[{"$from":"params.repo"}],"price":"$5","all":{"$from":"params"}}},
  {"id":"a","tool":"issue:find","arguments":{"repo":{"$from":"params.repo"},"n":12345678901234567}}],
 "output":{"n":{"$expr":"len(tasks.a.result.items)"}}}`

func TestExportThenImportIsTheSame(t *testing.T) {
	for _, format := range Formats {
		c := capability(t, plainCapability)
		text, notes, err := Encode(format, c)
		require.NoError(t, err)
		assert.Empty(t, notes, format)
		for _, as := range []string{format, ""} {
			back, notes, err := Decode(as, text)
			require.NoError(t, err, "%s", text)
			assert.Empty(t, notes)
			require.Len(t, back, 1)
			assert.JSONEq(t, asJSON(t, c), asJSON(t, back[0]), "%s", text)
		}
	}
	for _, format := range []string{Waymark, Arazzo} {
		c := capability(t, richCapability)
		text, notes, err := Encode(format, c)
		require.NoError(t, err)
		assert.Empty(t, notes, format)
		back, _, err := Decode("", text)
		require.NoError(t, err, "%s", text)
		if format == Arazzo { // whose steps stand in the order in which they run
			assert.Equal(t, "a", back[0].Tasks[0].ID)
			back[0].Tasks[0], back[0].Tasks[1] = back[0].Tasks[1], back[0].Tasks[0]
		}
		assert.JSONEq(t, asJSON(t, c), asJSON(t, back[0]), "%s", text)
	}
}

func TestWhatToolHiveCannotSay(t *testing.T) {
	text, notes, err := Encode(ToolHive, capability(t, richCapability))
	require.NoError(t, err)
	all := strings.Join(notes, "\n")
	for _, want := range []string{"intent has no place", "tags has no place", "version has no place", `task "b", argument "text"`, `argument "what"`, `argument "deep"`, `the condition "len(`, "the output"} {
		assert.Contains(t, all, want)
	}
	assert.Contains(t, string(text), `{{.params.repo}}`)
	assert.Contains(t, string(text), `{{index .steps.a.output "odd name"}}`)
	for _, format := range []string{ToolHive, Arazzo} {
		_, _, err = Encode(format, catalog.Capability{ID: "s", Script: &catalog.Script{Language: "expr", Source: "1"}})
		require.ErrorContains(t, err, "has no tasks")
	}
}

// The shape of ToolHive's own examples.
const incident = `
apiVersion: toolhive.stacklok.dev/v1alpha1
kind: VirtualMCPCompositeToolDefinition
metadata: {name: investigate}
spec:
  description: Investigate an incident
  timeout: 10m
  parameters:
    type: object
    properties: {service: {type: string}, level: {type: integer}}
    required: [service]
  steps:
    - id: logs
      type: tool
      tool: loki.query
      arguments: {query: "{service={{.params.service}}}", limit: 100}
      timeout: 30s
    - id: metrics
      tool: prometheus.query
      arguments: {name: "{{.params.service}}", first: "{{index .params.list 0 \"x\"}}"}
      onError: {action: retry, retryCount: 3, retryDelay: 5s}
    - id: page
      tool: pager.call
      dependsOn: [logs, metrics]
      condition: '{{and (gt .steps.metrics.output.rate 0.5) (or (eq .params.level 1) (not .steps.logs.output.quiet)) (ne .params.service "test")}}'
      arguments: {text: "{{.steps.logs.output.lines}} of {{.params.service}}", count: "{{len .steps.logs.output.lines}}"}
      on_error: {action: continue}
`

func TestToolHive(t *testing.T) {
	all, notes, err := Decode("", []byte(incident))
	require.NoError(t, err)
	require.Len(t, all, 1)
	c := all[0]
	assert.Equal(t, "investigate", c.ID)
	assert.Equal(t, []string{"loki:query", "prometheus:query", "pager:call"}, c.Tools)
	assert.Equal(t, []string{`composite tool "investigate": timeout is not taken over`,
		`composite tool "investigate", step "metrics": how often to try again is not taken over: calls that may be repeated are tried three times`}, notes)
	assert.JSONEq(t, `{"query":{"$expr":"\"{service=\" + string(params.service) + \"}\""},"limit":100}`, asJSON(t, c.Tasks[0].Arguments))
	assert.Equal(t, int64(30000), c.Tasks[0].TimeoutMS)
	assert.JSONEq(t, `{"name":{"$from":"params.service"},"first":{"$from":"params.list[0].x"}}`, asJSON(t, c.Tasks[1].Arguments))
	assert.Equal(t, `((tasks.metrics.result.rate > 0.5) and ((params.level == 1) or not (tasks.logs.result.quiet)) and (params.service != "test"))`, c.Tasks[2].When)
	assert.JSONEq(t, `{"text":{"$expr":"string(tasks.logs.result.lines) + \" of \" + string(params.service)"},"count":{"$expr":"len(tasks.logs.result.lines)"}}`, asJSON(t, c.Tasks[2].Arguments))
	assert.Equal(t, "continue", c.Tasks[2].OnError)

	_, _, err = Decode(ToolHive, []byte(`
name: x
steps:
  - {id: ask, type: elicitation, message: "Go on?"}
  - {id: a, tool: t, arguments: {x: "{{.env.HOME}}", y: "{{if .params.a}}b{{end}}", z: "{{.steps.none.output}}"}, condition: "{{.params.a", timeout: soon, on_error: {action: explode}}
`))
	for _, want := range []string{`type "elicitation" cannot`, ".env.HOME is neither", `"if" is not understood`, "names no step", "condition", `timeout "soon"`, `on_error "explode"`} {
		assert.ErrorContains(t, err, want)
	}
}

func TestArazzo(t *testing.T) {
	all, notes, err := Decode("", []byte(`
arazzo: 1.0.0
info: {title: t, version: "1"}
sourceDescriptions: [{name: pets, url: ./pets.yaml, type: openapi}]
workflows:
  - workflowId: adopt
    summary: Adopt a pet
    inputs: {type: object, properties: {kind: {type: string}}}
    steps:
      - stepId: find
        operationId: $sourceDescriptions.pets.findPets
        parameters: [{name: kind, in: query, value: $inputs.kind}]
        successCriteria: [{condition: $statusCode == 200}]
        outputs: {first: "$response.body#/pets/0/id", all: $response.body}
      - stepId: take
        operationId: takePet
        requestBody: {contentType: application/json, payload: {id: $steps.find.outputs.first, note: "for {$inputs.kind}", all: [$steps.find.outputs.all]}}
    outputs: {pet: $steps.find.outputs.first}
`))
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, []string{`workflow "adopt", step "find": successCriteria is not taken over`}, notes)
	assert.JSONEq(t, `[{"id":"find","tool":"findPets","arguments":{"kind":{"$from":"params.kind"}}},
	 {"id":"take","tool":"takePet","depends_on":["find"],"arguments":{"id":{"$from":"find.result.pets[0].id"},"note":{"$expr":"\"for \" + string(params.kind)"},"all":[{"$from":"find.result"}]}}]`, asJSON(t, all[0].Tasks))
	assert.JSONEq(t, `{"pet":{"$from":"find.result.pets[0].id"}}`, string(all[0].Output))

	_, _, err = Decode(Arazzo, []byte(`{"arazzo":"1.0.1","workflows":[{"workflowId":"w","steps":[{"stepId":"a","operationPath":"x","parameters":[{"reference":"$c"},{"name":"b","value":"$statusCode"},{"name":"c","value":"$steps.a.outputs.z"}],"requestBody":{"payload":"text"}}]}]}`))
	for _, want := range []string{"names no operationId", "parameter without a name", `"$statusCode" is neither`, `declares no output "z"`, "no object of arguments"} {
		assert.ErrorContains(t, err, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "none of the formats",
		"a: [":                         "did not find",
		`{"id":"x"} {"id":"y"}`:        "data after the end",
		`{"id":"x","colour":1}`:        `unknown field "colour"`,
		`{"capabilities":[]}`:          "holds no capability",
		"arazzo: 2.0.0":                "no version that is read here",
		"1: a\nsteps: []":              "no string",
		"steps: []\nx: .nan":           "not finite",
		strings.Repeat("[", 200) + "1": "",
		`{"id":"x","tasks":[{"id":"a","tool":"t","depends_on":["z"]}]}`: "unknown task",
	} {
		_, _, err := Decode("", []byte(text))
		require.Error(t, err, text)
		assert.Contains(t, err.Error(), want, text)
	}
	_, _, err := Decode("bpmn", []byte("{}"))
	require.ErrorContains(t, err, "want one of waymark, toolhive, arazzo")
	_, _, err = Encode("bpmn", catalog.Capability{})
	require.Error(t, err)
}

func FuzzDecode(f *testing.F) {
	f.Add(plainCapability)
	f.Add(richCapability)
	f.Add(incident)
	for _, format := range Formats {
		text, _, err := Encode(format, capability(f, plainCapability))
		require.NoError(f, err)
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, _, err := Decode("", []byte(text))
		if err != nil {
			return
		}
		for _, c := range all {
			for _, format := range Formats {
				out, _, err := Encode(format, c)
				if err != nil {
					continue
				}
				back, _, err := Decode(format, out)
				if err == nil && format == Waymark && asJSON(t, back[0]) != asJSON(t, c) {
					t.Fatalf("%s\nbecomes\n%s", asJSON(t, c), asJSON(t, back[0]))
				}
			}
		}
	})
}
