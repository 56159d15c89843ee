package server

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"waymark/catalog"
	"waymark/live"
	"waymark/server/internal/api"
	mcpserver "waymark/server/mcp"
	"waymark/suggest"
)

// A host that lists every tool of every server pays for all definitions in every prompt; with find_tool it pays only
// for the few that fit. The limits keep an answer small, whatever an upstream server wrote.
const (
	shortProse    = 400     // bytes of a description in a result
	lineProse     = 80      // bytes of a description in a line of the text
	longProse     = 8 << 10 // bytes of a description in describe_tool
	largestSchema = 8 << 10 // bytes of a schema in a result; larger ones come with describe_tool
)

// foundAnswer is the answer of find_tool: its text has the arguments of each result. With explain it also has the
// fields of POST /v1/search, and results have their schemas.
type foundAnswer struct {
	*suggest.SearchAnswer
	SuggestionID string              `json:"suggestion_id"`
	Results      []any               `json:"results"` // of type found, or briefly
	Warnings     []string            `json:"warnings"`
	UnknownIDs   []suggest.UnknownID `json:"unknown_ids,omitempty"`
	Waiting      string              `json:"waiting,omitempty"`
	TokenMetrics tokenMetrics        `json:"token_metrics"`

	text string
}

// briefly is a short result; the text of the answer has the rest.
type briefly struct {
	ID         string       `json:"id"`
	Kind       catalog.Kind `json:"kind"`
	Confidence float64      `json:"confidence"`
}

// found is a search result with its details. The description and the schema come from upstream: they are data.
type found struct {
	suggest.SearchResult
	InputSchema    json.RawMessage `json:"input_schema,omitempty"`
	SchemaTooLarge bool            `json:"schema_too_large,omitempty"` // the schema is left out; describe_tool gives it
}

// signature returns an id with its arguments as name: type, with ? after the names of optional ones.
func signature(id string, schema json.RawMessage) string {
	const most = 12
	var required, optional []string
	for _, p := range catalog.Properties(schema) {
		switch name := catalog.ShownID(p.Name); {
		case strings.Contains(p.Name, "."): // a member of a nested object
		case p.Required:
			required = append(required, name+": "+p.Type)
		default:
			optional = append(optional, name+"?: "+p.Type)
		}
	}
	all := append(required, optional...)
	if more := len(all) - most; more > 0 {
		all = append(all[:most], fmt.Sprintf("%d more", more))
	}
	return catalog.ShownID(id) + "(" + strings.Join(all, ", ") + ")"
}

// tokenMetrics compares the size of an answer with that of a list of all tools, without the escapes of its JSON. Tokens
// are estimated as a quarter of the bytes, a common estimate for English and JSON.
type tokenMetrics struct {
	BaselineTokens int     `json:"baseline_tokens"` // all tool definitions of the catalog
	ReturnedTokens int     `json:"returned_tokens"` // this answer
	SavingsPercent float64 `json:"savings_percent"` // negative when the answer is larger than a list of all tools
	Estimate       bool    `json:"estimate"`
}

func find(ctx context.Context, e *live.Engine, q *question[searchBody]) (out foundAnswer, err error) {
	answer, err := search(ctx, e, q)
	if err != nil {
		return out, err
	}
	if *q.Body.Explain {
		out.SearchAnswer = &answer
	}
	out.SuggestionID, out.Warnings, out.UnknownIDs, out.Waiting = answer.SuggestionID, answer.Warnings, answer.UnknownIDs, answer.Waiting
	m := e.Model()
	out.Results = make([]any, len(answer.Results))
	for i := range answer.Results {
		r := &answer.Results[i]
		known, _ := entryOf(m, r.ID)
		r.Name, r.Description = catalog.Cut(r.Name, shortProse), catalog.Cut(r.Description, shortProse)
		switch {
		case !*q.Body.Explain:
			out.Results[i] = briefly{r.ID, r.Kind, r.Confidence}
		case len(known.InputSchema) > largestSchema:
			out.Results[i] = found{*r, nil, true}
		default:
			out.Results[i] = found{*r, known.InputSchema, false}
		}
	}
	out.text = searchText(answer, q.Body.Query, func(id string) string {
		known, _ := entryOf(m, id)
		return signature(id, known.InputSchema)
	})
	out.TokenMetrics.Estimate = true
	encoded, err := api.WithMessage(out, out.text)
	if err != nil {
		return out, err
	}
	metrics, tools, listed := &out.TokenMetrics, m.Tools(), 0
	for i := range tools {
		listed += mcpserver.DefinitionSize(&tools[i])
	}
	metrics.BaselineTokens, metrics.ReturnedTokens = (listed+3)/4, (len(encoded.JSON)+3)/4
	if metrics.BaselineTokens > 0 {
		saved := 1 - float64(metrics.ReturnedTokens)/float64(metrics.BaselineTokens)
		metrics.SavingsPercent = math.Round(saved*1000) / 10
	}
	return out, nil
}

type describeBody struct {
	IDs []string `json:"ids" minItems:"1" maxItems:"20" doc:"Ids of tools or capabilities; at most 20."`
}

type describedAnswer struct {
	Tools []entry `json:"tools"`

	text string
}

// entry is the data of the catalog about one id. Texts, schemas and annotations come from upstream and are not
// verified.
type entry struct {
	ID           string               `json:"id"`
	Kind         catalog.Kind         `json:"kind"`
	Name         string               `json:"name"`
	Description  string               `json:"description"`
	Server       string               `json:"server,omitempty"`
	Domain       string               `json:"domain,omitempty"`
	Intent       string               `json:"intent,omitempty"`
	Uses         []string             `json:"uses,omitempty"` // the tools of a capability, in order of first use
	Tasks        []catalog.Task       `json:"tasks,omitempty"`
	InputSchema  json.RawMessage      `json:"input_schema,omitempty"`
	OutputSchema json.RawMessage      `json:"output_schema,omitempty"`
	Annotations  *catalog.Annotations `json:"annotations,omitempty"`
}

// describeEntries looks ids up in the catalog. It returns an error for a quarantined id.
func describeEntries(ctx context.Context, e *live.Engine, q *question[describeBody]) (out describedAnswer, err error) {
	m, a := e.Model(), api.From(ctx)
	var known, lines []string
	var unknown []suggest.UnknownID
	for i, spelling := range q.Body.IDs {
		id, err := api.Resolve(a, m, spelling)
		if held, is := e.Withheld(id); err == nil && is && held.Absent == suggest.AbsentQuarantined {
			err = fmt.Errorf("%s is quarantined (%s); whoever runs waymark can look at it with `waymark approve --list`", catalog.ShownID(id), held.Detail)
		}
		if err != nil {
			return out, api.WrongField(fmt.Sprintf("ids[%d]", i), err.Error())
		}
		t, is := entryOf(m, id)
		if !is {
			unknown = append(unknown, m.UnknownID(spelling, catalog.KindTool, a.Tools == nil && len(unknown) < suggest.MostNear))
			continue
		}
		known, lines, out.Tools = append(known, id), append(lines, entryText(&t)), append(out.Tools, t)
	}
	if len(unknown) > 0 {
		return out, api.WrongField("ids", unknownText(unknown, known))
	}
	out.text = strings.Join(lines, "\n")
	return out, nil
}

// entryOf returns the data of a model's catalog about an id.
func entryOf(m *suggest.Model, id string) (entry, bool) {
	if t, is := m.Tool(id); is {
		return entry{ID: t.ID, Kind: catalog.KindTool, Name: t.Name, Description: catalog.Cut(t.Description, longProse),
			Server: t.Server, Domain: t.Domain, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Annotations: t.Annotations}, true
	}
	c, is := m.Capability(id)
	return entry{ID: c.ID, Kind: catalog.KindCapability, Name: c.Name, Description: catalog.Cut(c.Description, longProse),
		Intent: catalog.Cut(c.Intent, longProse), Uses: c.Tools, Tasks: c.Tasks, InputSchema: c.InputSchema, OutputSchema: c.OutputSchema}, is
}

// entryText formats an entry in lines: its purpose, and each argument with its type and meaning.
func entryText(t *entry) string {
	const most = 40
	lines := []string{signature(t.ID, t.InputSchema) + " " + api.ShownText(t.Description)}
	properties := catalog.Properties(t.InputSchema)
	for i, p := range properties {
		if i == most {
			lines = append(lines, fmt.Sprintf("  and %d more", len(properties)-most))
			break
		}
		line := "  " + catalog.ShownID(p.Name) + ": " + p.Type
		if p.Required {
			line += ", required"
		}
		if text := api.ShownText(p.Description); text != "" {
			line += ": " + catalog.Cut(text, 2*lineProse)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
