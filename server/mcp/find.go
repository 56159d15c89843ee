package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"waymark/catalog"
	"waymark/live"
	"waymark/server/internal/jsonio"
	"waymark/suggest"
)

// A host that lists every tool of every server pays for all definitions in every prompt. find_tool
// pays for the few that fit. Limits keep an answer small whatever an upstream server wrote.
const (
	shortProse      = 400     // bytes of a description in a result
	longProse       = 8 << 10 // bytes of a description when asked for
	largestSchema   = 8 << 10 // bytes of a schema in a result; larger ones come with describe_tool
	percentDecimals = 10
)

// FindAnswer is the answer of find_tool.
type FindAnswer struct {
	Said
	SuggestionID string            `json:"suggestion_id"`
	Results      []found           `json:"results"`
	Mode         suggest.Mode      `json:"mode"`
	Model        suggest.ModelInfo `json:"model"`
	Warnings     []string          `json:"warnings"`

	UnknownIDs   []suggest.UnknownID `json:"unknown_ids,omitempty"`
	Waiting      string              `json:"waiting,omitempty" doc:"How many entries wait for approval, where little was found."`
	TokenMetrics tokenMetrics        `json:"token_metrics"`
}

// found is a search result that can be called at once. The description and the schema come from
// upstream: they are data.
type found struct {
	suggest.SearchResult
	InputSchema    json.RawMessage `json:"input_schema,omitempty" doc:"The arguments of the tool."`
	SchemaTooLarge bool            `json:"schema_too_large,omitempty" doc:"The schema is left out; describe_tool gives it."`
}

// tokenMetrics compares this answer with a list of all tools. Bytes are measured; tokens are taken as a quarter of them.
type tokenMetrics struct {
	BaselineTokens int     `json:"baseline_tokens" doc:"All tool definitions of the catalog."`
	ReturnedTokens int     `json:"returned_tokens" doc:"This answer."`
	SavingsPercent float64 `json:"savings_percent" doc:"Negative when the answer is larger than a list of all tools."`
	Estimate       bool    `json:"estimate"`
}

// findTool adds the schemas of the arguments to the answer of POST /v1/search.
func findTool(c *mcpCall, q question, a suggest.SearchAnswer) (FindAnswer, error) {
	out := FindAnswer{
		SuggestionID: a.SuggestionID, Results: make([]found, len(a.Results)), Mode: a.Mode, Model: a.Model, Warnings: a.Warnings,
		UnknownIDs: a.UnknownIDs, Waiting: a.Waiting,
	}
	ids := make([]string, len(a.Results))
	for i, r := range a.Results {
		r.Name, r.Description = catalog.Cut(r.Name, shortProse), catalog.Cut(r.Description, shortProse)
		f := found{SearchResult: r, InputSchema: c.inputSchema(r.ID, r.Kind)}
		if len(f.InputSchema) > largestSchema {
			f.InputSchema, f.SchemaTooLarge = nil, true
		}
		out.Results[i], ids[i] = f, r.ID
	}
	out.Message = findMessage(ids, a.Warnings) + noted(a.Waiting) + corrected(a.Foremost(), "", q.Query)
	var err error
	out.TokenMetrics, err = c.metrics(out)
	return out, err
}

func (c *mcpCall) inputSchema(id string, kind catalog.Kind) json.RawMessage {
	if kind == catalog.KindCapability {
		p, _ := c.model.Capability(id)
		return p.InputSchema
	}
	t, _ := c.model.Tool(id)
	return t.InputSchema
}

// baseline is the size of all tool definitions of one catalog, which the first tool's address and the
// number of tools identify: a model never changes the slice it was built with.
type baseline struct {
	first *catalog.Tool
	tools int
	bytes int
}

func (m *mcpTools) baselineOf(model *suggest.Model) int {
	tools := model.Tools()
	if len(tools) == 0 {
		return 0
	}
	if b := m.baseline.Load(); b != nil && b.first == &tools[0] && b.tools == len(tools) {
		return b.bytes
	}
	b := &baseline{first: &tools[0], tools: len(tools)}
	for i := range tools {
		b.bytes += definitionSize(&tools[i])
	}
	m.baseline.Store(b)
	return b.bytes
}

// definitionSize is what one tool takes in the prompt of a host, in bytes: name, description and input
// schema. Output schemas stay in the host.
func definitionSize(t *catalog.Tool) int {
	schema := t.InputSchema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	text, _ := jsonio.Encode(struct { // a stored schema is JSON
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}{catalog.HostName(t.ID), t.Description, schema})
	return len(text) + len(",")
}

func (c *mcpCall) metrics(a FindAnswer) (tokenMetrics, error) {
	a.TokenMetrics = tokenMetrics{Estimate: true}
	returned, err := jsonio.Encode(a)
	if err != nil {
		return tokenMetrics{}, err
	}
	m := tokenMetrics{
		BaselineTokens: tokens(c.baselineOf(c.model)), ReturnedTokens: tokens(len(returned)), Estimate: true,
	}
	if m.BaselineTokens > 0 {
		saved := 1 - float64(m.ReturnedTokens)/float64(m.BaselineTokens)
		m.SavingsPercent = math.Round(saved*100*percentDecimals) / percentDecimals
	}
	return m, nil
}

// tokens estimates how many tokens so many bytes are: a quarter, a common estimate for English and JSON.
func tokens(bytes int) int { return (bytes + 3) / 4 }

type describeArguments struct {
	IDs []string `json:"ids" minItems:"1" maxItems:"20" doc:"Ids of tools or capabilities; at most 20."`
}

// DescribeAnswer is the answer of describe_tool.
type DescribeAnswer struct {
	Said
	Tools []Described `json:"tools"`
}

// Described is everything the catalog knows about one id. Texts and schemas come from upstream.
type Described struct {
	ID           string               `json:"id"`
	Kind         catalog.Kind         `json:"kind"`
	Name         string               `json:"name"`
	Description  string               `json:"description"`
	Server       string               `json:"server,omitempty"`
	Domain       string               `json:"domain,omitempty"`
	Intent       string               `json:"intent,omitempty"`
	Uses         []string             `json:"uses,omitempty" doc:"The tools a capability uses, in order of first use."`
	Tasks        []catalog.Task       `json:"tasks,omitempty" doc:"The stored plan of a capability."`
	InputSchema  json.RawMessage      `json:"input_schema,omitempty"`
	OutputSchema json.RawMessage      `json:"output_schema,omitempty"`
	Annotations  *catalog.Annotations `json:"annotations,omitempty" doc:"The upstream server's own hints, not verified."`
}

func describeTool(_ context.Context, c *mcpCall, in describeArguments) (DescribeAnswer, error) {
	out := DescribeAnswer{Tools: make([]Described, 0, len(in.IDs))}
	var known []string
	var unknown []suggest.UnknownID
	for i, spelling := range in.IDs {
		d, ok, err := describe(c.engine, c.model, c.access.Tools, spelling)
		if err != nil {
			return DescribeAnswer{}, jsonio.Wrong(fmt.Sprintf("ids[%d]", i), err.Error())
		}
		if !ok {
			unknown = append(unknown, c.model.UnknownID(spelling, catalog.KindTool, c.access.Tools == nil && len(unknown) < suggest.MostNear))
			continue
		}
		out.Tools = append(out.Tools, d)
		known = append(known, d.ID)
	}
	if len(unknown) > 0 {
		return DescribeAnswer{}, jsonio.Wrong("ids", unknownMessage(unknown, known))
	}
	out.Message = "Described: " + shownIDs(known) + "."
	return out, nil
}

// heldError is why a tool or capability of the catalog is not shown.
type heldError struct {
	id, detail string
}

func (e *heldError) Error() string {
	return fmt.Sprintf("%s is quarantined (%s); whoever runs waymark can look at it with `waymark approve --list`", shownID(e.id), e.detail)
}

// describe looks a spelling up in the catalog. What is quarantined is not shown.
func describe(e *live.Engine, m *suggest.Model, set *suggest.ToolSet, spelling string) (d Described, ok bool, err error) {
	id, err := resolve(m, set, spelling)
	if err != nil {
		return Described{}, false, err
	}
	if held, is := e.Withheld(id); is && held.Absent == suggest.AbsentQuarantined {
		return Described{}, false, &heldError{id, held.Detail}
	}
	if t, ok := m.Tool(id); ok {
		return Described{
			ID: t.ID, Kind: catalog.KindTool, Name: t.Name, Description: catalog.Cut(t.Description, longProse), Server: t.Server,
			Domain: t.Domain, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Annotations: t.Annotations,
		}, true, nil
	}
	if p, ok := m.Capability(id); ok {
		return Described{
			ID: p.ID, Kind: catalog.KindCapability, Name: p.Name, Description: catalog.Cut(p.Description, longProse),
			Intent: catalog.Cut(p.Intent, longProse), Uses: p.Tools, Tasks: p.Tasks, InputSchema: p.InputSchema, OutputSchema: p.OutputSchema,
		}, true, nil
	}
	return Described{}, false, nil
}
