package main

import (
	"slices"
	"strings"

	"waymark/catalog"
)

// parseTools reads tools.txt: a server line, then four lines a tool.
func parseTools(fs fields) ([]catalog.Tool, error) {
	lines, err := readLines("tools.txt")
	if err != nil {
		return nil, err
	}
	var tools []catalog.Tool
	var server, domain string
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if l.words[0] == "server" && !l.indented && len(l.words) >= 3 && !isAccess(l.words[1]) {
			server, domain = l.words[1], l.after(2)
			continue
		}
		if l.indented || len(l.words) < 2 || i+3 >= len(lines) {
			return nil, l.errorf("want a tool with description, in and out")
		}
		description, in, out := lines[i+1], lines[i+2], lines[i+3]
		i += 3
		if in.words[0] != "in" || out.words[0] != "out" {
			return nil, in.errorf("want in and out of %s", l.words[0])
		}
		t := catalog.Tool{
			ID:          server + ":" + l.words[0],
			Name:        l.words[0],
			Description: description.text,
			Server:      server,
			Domain:      domain,
		}
		if t.Annotations, err = annotations(l); err != nil {
			return nil, err
		}
		if t.InputSchema, err = fs.schema(server, in.after(1), false); err != nil {
			return nil, in.errorf("%w", err)
		}
		if t.OutputSchema, err = fs.schema(server, out.after(1), true); err != nil {
			return nil, out.errorf("%w", err)
		}
		tools = append(tools, t)
	}
	return tools, nil
}

func isAccess(s string) bool { return s == "read" || s == "write" || s == "destructive" }

// annotations reads the words behind the name of a tool. Reading twice changes nothing, so a tool that
// only reads is idempotent.
func annotations(l line) (*catalog.Annotations, error) {
	access, more := l.words[1], l.words[2:]
	if !isAccess(access) {
		return nil, l.errorf("%q is not read, write or destructive", access)
	}
	for _, w := range more {
		if w != "once" && w != "open" {
			return nil, l.errorf("unknown word %q", w)
		}
	}
	readOnly := access == "read"
	destructive := access == "destructive"
	idempotent := readOnly || slices.Contains(more, "once")
	openWorld := slices.Contains(more, "open")
	title := strings.ReplaceAll(l.words[0], "_", " ")
	return &catalog.Annotations{
		Title:       strings.ToUpper(title[:1]) + title[1:],
		ReadOnly:    &readOnly,
		Destructive: &destructive,
		Idempotent:  &idempotent,
		OpenWorld:   &openWorld,
	}, nil
}
