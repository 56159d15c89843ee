package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"waymark/catalog"
)

// A saved answer to MCP tools/list comes in many wrappings. All of these are read, and any of them
// several times in a list or one after the other (the pages of a long list):
//
//	{"jsonrpc":"2.0","id":1,"result":{"tools":[…]}}
//	{"tools":[…]}     and {"server":"fs","tools":[…]}
//	[{"name":…,"inputSchema":…}, …]
//	{"name":…,"inputSchema":…}
//
// The server is the option, else what the file says, else the name of the file (github.json,
// github-tools.json) unless that is a general one such as tools.json.
func decodeToolsList(in *input) error {
	return in.eachFile("tools-list", func(name string, f io.Reader) error {
		t := toolsList{given: in.opts.Server != "", emit: in.emit}
		values := 0
		err := in.eachValue(f, true, func(l line) {
			values++
			t.value(l, cmp.Or(in.opts.Server, serverOfFile(name)))
		})
		if err == nil && values == 0 {
			err = errors.New("file is empty")
		}
		return err
	})
}

// generalNames of files say nothing about a server.
var generalNames = []string{"tools", "tools-list", "tools_list", "toolslist", "list", "result", "response", "output", "-", ""}

func serverOfFile(name string) string {
	name = path.Base(name)
	name = strings.TrimSuffix(name, path.Ext(name))
	for _, ending := range []string{"tools-list", "tools_list", "tools"} {
		for _, sep := range []string{".", "-", "_"} {
			name = strings.TrimSuffix(name, sep+ending)
		}
	}
	if slices.Contains(generalNames, strings.ToLower(name)) {
		return ""
	}
	return name
}

type toolsList struct {
	given bool // the server is given and nothing in the file changes it
	line  int  // on which all of it stands; 0: over several
	emit  func(Item)
}

// value reads one value, which begins on a line.
func (t *toolsList) value(l line, server string) {
	d, inside, err := parse(l)
	if err == nil && d.at("error") != nil {
		err = fmt.Errorf("the server answered with an error: %.200s", d.text("error.message"))
	}
	if err != nil {
		t.emit(Item{Line: l.number, Dropped: err.Error()})
		return
	}
	if !t.given {
		server = cmp.Or(d.text("server"), d.text("serverInfo.name"), server)
	}
	switch {
	case inside != nil:
	case holds(d, "result={*"):
		inside = []*document{d.at("result")}
	case holds(d, "tools=[*"):
		inside = []*document{d.at("tools")}
	default:
		t.tool(cmp.Or(t.line, l.number), d, server)
	}
	from := 0
	for _, e := range inside {
		at := from + bytes.Index(l.data[from:], e.raw)
		l.number += bytes.Count(l.data[from:at], []byte("\n"))
		from = at
		t.value(line{number: l.number, data: e.raw}, server)
	}
}

// tool reads one as MCP lists it, or in the spellings of model APIs.
func (t *toolsList) tool(line int, d *document, server string) {
	*d.problem = nil // a server that is no text is none
	if inner := d.at("function"); inner != nil {
		d = inner
	}
	name := d.text("name")
	it := Item{Line: line, Kind: KindTool, ID: catalog.ID(server, name)}
	it.Tool = &catalog.Tool{ID: it.ID, Name: name, Description: d.text("description"), Server: server,
		InputSchema: d.value("inputSchema input_schema parameters"), OutputSchema: d.value("outputSchema")}
	hint := func(name string) *bool {
		switch string(d.value("annotations." + name)) {
		case "true":
			return new(true)
		case "false":
			return new(false)
		}
		return nil
	}
	if title := cmp.Or(d.text("title"), d.text("annotations.title")); title != "" || d.at("annotations") != nil {
		it.Tool.Annotations = &catalog.Annotations{Title: title, ReadOnly: hint("readOnlyHint"), Destructive: hint("destructiveHint"),
			Idempotent: hint("idempotentHint"), OpenWorld: hint("openWorldHint")}
	}
	switch {
	case *d.problem != nil:
		it.drop((*d.problem).Error())
	case name == "":
		it.drop("tool has no name")
	}
	t.emit(it)
}
