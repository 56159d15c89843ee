package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"waymark/catalog"
	"waymark/live"
	"waymark/server/internal/jsonio"
	"waymark/suggest"
)

// A host that lists every tool of every server pays for all definitions in every prompt. find_tool
// pays for the few that fit. Limits keep an answer small whatever an upstream server wrote.
const (
	findLimit       = 5
	describeMost    = 20
	shortProse      = 400     // bytes of a description in a result
	longProse       = 8 << 10 // bytes of a description when asked for
	largestSchema   = 8 << 10 // bytes of a schema in a result; larger ones come with describe_tool
	percentDecimals = 10
)

type findArguments struct {
	Query           string   `json:"query,omitempty" jsonschema:"what the tool should do, in words; or an exact id or name"`
	ToolDescription string   `json:"tool_description,omitempty" jsonschema:"the same as query"`
	ToolKeywords    words    `json:"tool_keywords,omitempty" jsonschema:"the same as query"`
	Context         []string `json:"context,omitempty" jsonschema:"ids of the tools used so far, in order"`
	Limit           int      `json:"limit,omitempty" jsonschema:"how many results, 1 to 100; 5 when left out"`
	Explain         bool     `json:"explain,omitempty" jsonschema:"also give the terms of each score"`
}

// query is the first of the three names that was given. Several must agree.
func (in findArguments) query() (string, error) {
	query := ""
	for _, q := range []string{in.Query, in.ToolDescription, string(in.ToolKeywords)} {
		switch q = strings.TrimSpace(q); {
		case q == "" || q == query:
		case query == "":
			query = q
		case in.Query == "": // description and keywords: both say what is wanted
			query += " " + q
		default:
			return "", jsonio.Wrong("query", "is given together with tool_description or tool_keywords; give one")
		}
	}
	if query == "" {
		return "", jsonio.Wrong("query", "is empty")
	}
	return query, nil
}

// FindAnswer is the answer of find_tool.
type FindAnswer struct {
	Said
	SuggestionID string            `json:"suggestion_id"`
	Results      []found           `json:"results"`
	Mode         suggest.Mode      `json:"mode"`
	Model        suggest.ModelInfo `json:"model"`
	Warnings     []string          `json:"warnings"`

	UnknownIDs   []suggest.UnknownID `json:"unknown_ids,omitempty"`
	Waiting      string              `json:"waiting,omitempty" jsonschema:"how many entries wait for approval, where little was found"`
	TokenMetrics tokenMetrics        `json:"token_metrics"`
}

// found is a search result that can be called at once. The description and the schema come from
// upstream: they are data.
type found struct {
	suggest.SearchResult
	InputSchema    json.RawMessage `json:"input_schema,omitempty" jsonschema:"the arguments of the tool"`
	SchemaTooLarge bool            `json:"schema_too_large,omitempty" jsonschema:"the schema is left out; describe_tool gives it"`
}

// tokenMetrics compares this answer with a list of all tools. Bytes are measured; tokens are taken as a quarter of them.
type tokenMetrics struct {
	BaselineTokens int     `json:"baseline_tokens" jsonschema:"all tool definitions of the catalog"`
	ReturnedTokens int     `json:"returned_tokens" jsonschema:"this answer"`
	SavingsPercent float64 `json:"savings_percent" jsonschema:"negative when the answer is larger than a list of all tools"`
	Estimate       bool    `json:"estimate"`
}

func findTool(ctx context.Context, c *mcpCall, in findArguments) (FindAnswer, error) {
	query, err := in.query()
	if err != nil {
		return FindAnswer{}, err
	}
	if err := c.within("limit", in.Limit, suggest.MaxLimit); err != nil {
		return FindAnswer{}, err
	}
	if in.Limit == 0 {
		in.Limit = findLimit
	}
	a, err := c.engine.Search(c.model, c.access.Tools, suggest.SearchRequest{
		Query: query, Context: in.Context, Limit: in.Limit, Explain: &in.Explain, Vector: c.engine.Vector(ctx, query),
	})
	if err != nil {
		return FindAnswer{}, err
	}
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
	out.Message = findMessage(ids, a.Warnings) + noted(a.Waiting) + corrected(a.Foremost(), "", query)
	out.TokenMetrics, err = c.metrics(out)
	if err != nil {
		return FindAnswer{}, err
	}
	return out, nil
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
	n := len(`{"name":,"inputSchema":},`) + quotedSize(catalog.HostName(t.ID)) + max(len(t.InputSchema), len(`{"type":"object"}`))
	if t.Description != "" {
		n += len(`,"description":`) + quotedSize(t.Description)
	}
	return n
}

// quotedSize is how long a text is as JSON.
func quotedSize(s string) int {
	n := len(s) + len(`""`)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t':
			n++
		case c < ' ':
			n += len(`u0000`)
		}
	}
	return n
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
	IDs []string `json:"ids" jsonschema:"ids of tools or capabilities, 1 to 20; other spellings such as mcp__server__name are understood"`
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
	Uses         []string             `json:"uses,omitempty" jsonschema:"the tools a capability uses, in order of first use"`
	Tasks        []catalog.Task       `json:"tasks,omitempty" jsonschema:"the stored plan of a capability"`
	InputSchema  json.RawMessage      `json:"input_schema,omitempty"`
	OutputSchema json.RawMessage      `json:"output_schema,omitempty"`
	Annotations  *catalog.Annotations `json:"annotations,omitempty" jsonschema:"the upstream server's own hints, not verified"`
}

func describeTool(_ context.Context, c *mcpCall, in describeArguments) (DescribeAnswer, error) {
	if len(in.IDs) == 0 {
		return DescribeAnswer{}, jsonio.Wrong("ids", "is required: one id or more")
	}
	if len(in.IDs) > describeMost {
		return DescribeAnswer{}, jsonio.Wrong("ids", fmt.Sprintf("has %d elements, at most %d", len(in.IDs), describeMost))
	}
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
