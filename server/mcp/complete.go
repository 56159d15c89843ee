package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/suggest"
)

// mostCompletions is how many values the protocol allows in one answer.
const mostCompletions = 100

// complete completes the id in a resource template.
func (m *mcpTools) complete(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	ref, argument := req.Params.Ref, req.Params.Argument
	var ids func(*suggest.Model) []string
	switch {
	case ref.Type != "ref/resource":
		return nil, invalidCompletion("there are no prompts to complete")
	case ref.URI == uriTools+templateID:
		ids = toolIDs
	case ref.URI == uriCapabilities+templateID:
		ids = capabilityIDs
	default:
		return nil, invalidCompletion(fmt.Sprintf("unknown resource template %q: want %s or %s", ref.URI, uriTools+templateID, uriCapabilities+templateID))
	}
	if "{"+argument.Name+"}" != templateID {
		return nil, invalidCompletion(fmt.Sprintf("unknown argument %q of %s: want id", argument.Name, ref.URI))
	}
	engine, err := m.engineFor(ctx, req.Extra, "completion")
	if err != nil {
		return nil, err
	}
	shown := slices.DeleteFunc(ids(engine.Model()), func(id string) bool {
		_, held := engine.Withheld(id)
		return held || !engine.Model().Allows(requestAccess(ctx, req.Extra).Tools, id)
	})
	values := completions(shown, argument.Value)
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{
		Values: values[:min(len(values), mostCompletions)], Total: len(values), HasMore: len(values) > mostCompletions,
	}}, nil
}

func invalidCompletion(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "completion/complete: " + message}
}

func toolIDs(m *suggest.Model) (ids []string) {
	for _, t := range m.Tools() {
		ids = append(ids, t.ID)
	}
	return ids
}

func capabilityIDs(m *suggest.Model) (ids []string) {
	for _, c := range m.Capabilities() {
		ids = append(ids, c.ID)
	}
	return ids
}

// completions returns the ids that contain typed, in any case: first those that begin with it, each part sorted.
func completions(ids []string, typed string) []string {
	typed = strings.ToLower(typed)
	first, then := []string{}, []string{}
	for _, id := range slices.Sorted(slices.Values(ids)) {
		switch i := strings.Index(strings.ToLower(id), typed); {
		case i == 0:
			first = append(first, id)
		case i > 0:
			then = append(then, id)
		}
	}
	return append(first, then...)
}
