package main

import (
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
)

// parseCapabilities reads capabilities.txt: a line with id and name, then description, intent, in, do.
func parseCapabilities(fs fields) ([]catalog.Capability, error) {
	lines, err := readLines("capabilities.txt")
	if err != nil {
		return nil, err
	}
	var capabilities []catalog.Capability
	for head := range slices.Chunk(lines, 5) {
		l := head[0]
		if len(head) < 5 || l.indented || head[2].words[0] != "intent" || head[3].words[0] != "in" || head[4].words[0] != "do" {
			return nil, l.errorf("want a capability with description, intent, in and do")
		}
		c := catalog.Capability{
			ID:          l.words[0],
			Name:        l.after(1),
			Description: head[1].text,
			Intent:      head[2].after(1),
		}
		if c.InputSchema, err = fs.schema("cap", head[3].after(1), false); err != nil {
			return nil, head[3].errorf("%w", err)
		}
		p, err := parsePath(head[4].words[1:])
		if err != nil {
			return nil, head[4].errorf("%w", err)
		}
		if !p.fixed() {
			return nil, head[4].errorf("the path of %s leaves something open", c.ID)
		}
		for i, call := range p.plan(nil) {
			t := catalog.Task{ID: fmt.Sprintf("t%d", i+1), Tool: call.tool}
			for _, d := range call.after {
				t.DependsOn = append(t.DependsOn, fmt.Sprintf("t%d", d+1))
			}
			c.Tasks = append(c.Tasks, t)
			if !slices.Contains(c.Tools, call.tool) {
				c.Tools = append(c.Tools, call.tool)
			}
		}
		if !strings.HasPrefix(c.ID, "cap:") {
			return nil, l.errorf("the id %q does not begin with cap:", c.ID)
		}
		capabilities = append(capabilities, c)
	}
	return capabilities, nil
}
