package mcpserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"waymark/server/internal/jsonio"
)

// words is a string, or several that are read as one.
type words string

// UnmarshalJSON takes both forms.
func (w *words) UnmarshalJSON(data []byte) error {
	var many []string
	if json.Unmarshal(data, &many) == nil {
		*w = words(strings.Join(many, " "))
		return nil
	}
	return json.Unmarshal(data, (*string)(w))
}

// within checks a number against its bounds. A 0 is fine only where the argument was left out.
func (c *mcpCall) within(field string, n, most int) error {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(c.req.Params.Arguments, &given) // they were decoded before
	if value, ok := given[field]; n < 0 || n > most || n == 0 && ok && string(value) != "null" {
		return jsonio.Wrong(field, fmt.Sprintf("is %d, must be 1 to %d", n, most))
	}
	return nil
}

// otherNames are what the command line and other servers call arguments of ours, by tool: theirs, ours. None of them
// belongs to a tool that may change something: what is asked of those is said exactly.
var otherNames = map[string][][2]string{
	toolFind:     {{"after", "context"}, {"intent", "query"}, {"q", "query"}, {"text", "query"}},
	toolDescribe: {{"id", "ids"}, {"tool", "ids"}, {"tools", "ids"}},
	toolNext:     {{"after", "context"}, {"query", "intent"}},
	toolDAG:      {{"after", "context"}, {"query", "intent"}},
}

// ownNames gives arguments the names that the schema of a tool has. One id stands for a
// list of one. What is given twice, by both names, stays and is refused.
func ownNames(tool string, arguments json.RawMessage) json.RawMessage {
	names := otherNames[tool]
	given, err := jsonio.Decode[map[string]json.RawMessage](arguments)
	if err != nil || names == nil {
		return arguments // what is wrong with it is said when it is decoded for the tool
	}
	changed := false
	for _, name := range names { // in order: of two other names for one argument the second is refused
		value, ok := given[name[0]]
		if _, both := given[name[1]]; ok && !both {
			given[name[1]], changed = value, true
			delete(given, name[0])
		}
	}
	for _, list := range []string{"ids", "context"} {
		if id := given[list]; len(id) > 0 && id[0] == '"' {
			given[list], changed = slices.Concat(json.RawMessage("["), id, json.RawMessage("]")), true
		}
	}
	if !changed {
		return arguments
	}
	renamed, err := json.Marshal(given)
	if err != nil {
		return arguments
	}
	return renamed
}
