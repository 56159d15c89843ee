package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"

	"waymark/catalog"
)

// decodeToolsList reads a saved answer to MCP tools/list in all of these forms, each also several times
// in a list or in sequence (the pages of a long list):
//
//	{"jsonrpc":"2.0","id":1,"result":{"tools":[…]}}
//	{"tools":[…]}     and {"server":"fs","tools":[…]}
//	[{"name":…,"inputSchema":…}, …]
//	{"name":…,"inputSchema":…}
//
// The server is the option, else the server in the file, else the name of the file (github.json,
// github-tools.json) unless that is a general name such as tools.json.
func decodeToolsList(in *input, emit func(Item) bool) error {
	return in.eachFile("tools-list", func(name string) (more bool, err error) {
		f, err := in.open(name)
		if err != nil {
			return false, err
		}
		defer f.Close()
		t := toolsList{given: in.opts.Server != "", emit: func(it Item) bool {
			it.File = name
			return emit(it)
		}}
		values := 0
		err = eachValue(f, func(l line) bool {
			values++
			t.value(l, cmp.Or(in.opts.Server, serverOfFile(name)), 0)
			return !t.stopped
		})
		if err == nil && values == 0 {
			err = errEmpty
		}
		return !t.stopped, err
	})
}

// serverOfFile returns the part of a file name before "tools", which may be empty.
func serverOfFile(name string) string {
	name = path.Base(name)
	name, _, _ = strings.Cut(strings.TrimSuffix(name, path.Ext(name)), "tools")
	return strings.TrimRight(name, ".-_")
}

type toolsList struct {
	given   bool // the server is given; the file cannot change it
	emit    func(Item) bool
	stopped bool
}

// value reads a tool, or the tools inside a value.
func (t *toolsList) value(l line, server string, depth int) {
	if depth > 4 || t.stopped {
		return
	}
	d, err := newDocument(l)
	if err == nil && d.at("error") != nil {
		err = fmt.Errorf("the server answered with an error: %.200s", d.text("error.message"))
	}
	if err != nil {
		t.stopped = !t.emit(Item{Line: l.number, Dropped: err.Error()})
		return
	}
	if !t.given {
		server = cmp.Or(d.text("server"), d.text("serverInfo.name"), server)
	}
	inside, isList := d.elements()
	switch {
	case isList:
	case holds(d, "result={*"):
		inside = []*document{d.at("result")}
	case holds(d, "tools=[*"):
		inside = []*document{d.at("tools")}
	default:
		it := Item{Line: l.number}
		if it.Tool, err = toolOf(d, server); err != nil {
			it.drop(err.Error())
		}
		it.Kind, it.ID = KindTool, catalog.ID(server, d.text("name"))
		t.stopped = !t.emit(it)
	}
	from := 0
	for _, e := range inside {
		at := from + bytes.Index(l.data[from:], e.raw)
		l.number += bytes.Count(l.data[from:at], []byte("\n"))
		from = at
		t.value(line{number: l.number, data: e.raw}, server, depth+1)
	}
}

// toolOf reads one tool in the form of MCP.
func toolOf(d *document, server string) (*catalog.Tool, error) {
	name, title := d.text("name"), cmp.Or(d.text("title"), d.text("annotations.title"))
	if name == "" {
		return nil, errors.New("tool has no name")
	}
	t := &catalog.Tool{ID: catalog.ID(server, name), Name: name, Description: d.text("description"), Server: server,
		InputSchema: d.value("inputSchema"), OutputSchema: d.value("outputSchema")}
	hint := func(name string) *bool {
		v := string(d.value("annotations." + name))
		if v != "true" && v != "false" {
			return nil
		}
		return new(v == "true")
	}
	if title != "" || d.at("annotations") != nil {
		t.Annotations = &catalog.Annotations{Title: title, ReadOnly: hint("readOnlyHint"), Destructive: hint("destructiveHint"),
			Idempotent: hint("idempotentHint"), OpenWorld: hint("openWorldHint")}
	}
	return t, nil
}
