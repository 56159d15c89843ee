package mcpserver

import (
	"encoding/json"
	"fmt"
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
