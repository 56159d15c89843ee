package score

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/run"
	"waymark/score/evidence"
)

// A toolSearch finds snippets by a tool of another server.
//
//	query ─▶ call ─▶ structured content, else text ─▶ the first list of objects with a text ─▶ snippets
//	                                              └─ none: each block of text is a snippet
type toolSearch struct {
	caller   run.Caller
	tool     string
	argument string
	question string
	session  string
}

func newToolSearch(c run.Caller, in InquiryRequest) *toolSearch {
	t := &toolSearch{caller: c, tool: in.SearchTool, argument: in.SearchArgument, question: in.Question, session: "inquiry"}
	if t.argument == "" {
		t.argument = "query"
	}
	return t
}

// Search implements the search of package inquiry.
func (t *toolSearch) Search(ctx context.Context, q evidence.Query) ([]evidence.Snippet, error) {
	arguments, err := json.Marshal(map[string]string{t.argument: q.Text})
	if err != nil {
		return nil, err
	}
	r, err := t.caller.Call(ctx, run.Call{Tool: t.tool, Arguments: arguments, Session: t.session, Intent: t.question})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", t.tool, err)
	case r.Failure != "":
		return nil, fmt.Errorf("%s failed (%s): %s", t.tool, r.Failure, r.Message)
	case r.NeedsInput != nil:
		return nil, fmt.Errorf("%s asks for something first", t.tool)
	}
	return foundIn(r), nil
}

// foundIn reads the snippets in the result of a search tool.
func foundIn(r run.Result) []evidence.Snippet {
	if found := listed(r.Structured); len(found) > 0 {
		return found
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(r.Content, &blocks) != nil {
		return nil
	}
	var found []evidence.Snippet
	for _, b := range blocks {
		if b.Type != "text" || strings.TrimSpace(b.Text) == "" {
			continue
		}
		if inside := listed([]byte(b.Text)); len(inside) > 0 {
			found = append(found, inside...)
		} else {
			found = append(found, evidence.Snippet{Text: b.Text})
		}
	}
	return found[:min(len(found), mostFound)]
}

// The names under which search tools give what a snippet has, the most telling first.
var (
	textNames   = []string{"text", "snippet", "content", "passage", "abstract", "description", "summary", "body"}
	sourceNames = []string{"url", "link", "source", "href", "uri", "domain"}
	idNames     = []string{"id", "doi"}
)

// listed are the snippets of the first list, from the outside in and in order of names, whose objects have a
// text.
func listed(data []byte) []evidence.Snippet {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return nil
	}
	for level := []any{v}; len(level) > 0; {
		var next []any
		for _, v := range level {
			switch v := v.(type) {
			case []any:
				if found := snippets(v); len(found) > 0 {
					return found
				}
				next = append(next, v...)
			case map[string]any:
				for _, name := range slices.Sorted(maps.Keys(v)) {
					next = append(next, v[name])
				}
			}
		}
		level = next
	}
	return nil
}

// snippets are the objects of a list that have a text; a title stands before it.
func snippets(list []any) []evidence.Snippet {
	var found []evidence.Snippet
	for _, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		s := evidence.Snippet{ID: firstText(fields, idNames), Text: firstText(fields, textNames), Source: firstText(fields, sourceNames)}
		if title := firstText(fields, []string{"title"}); title != "" {
			s.Text = strings.TrimSpace(title + ". " + s.Text)
		}
		if s.Text != "" {
			found = append(found, s)
		}
		if len(found) == mostFound {
			break
		}
	}
	return found
}

func firstText(fields map[string]any, names []string) string {
	for _, name := range names {
		if text, ok := fields[name].(string); ok && strings.TrimSpace(text) != "" {
			return strings.TrimSpace(text)
		}
	}
	return ""
}
