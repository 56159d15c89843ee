package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
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
		server := cmp.Or(in.opts.Server, serverOfFile(name))
		t := toolsList{file: name, given: in.opts.Server != "", emit: emit}
		values := 0
		err = eachValue(f, true, func(l line) bool {
			values++
			if l.problem != "" || len(l.data) == 0 {
				t.drop(l.number, l.decode(nil))
			} else {
				t.value(l.number, l.data, server, 0)
			}
			return !t.stopped
		})
		if err == nil && values == 0 {
			err = errors.New("file is empty")
		}
		return !t.stopped, err
	})
}

// generalNames are file names that do not name a server.
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
	file    string
	given   bool // the server is given; the file cannot change it
	emit    func(Item) bool
	stopped bool
}

func (t *toolsList) drop(number int, err error) {
	t.stopped = !t.emit(Item{File: t.file, Line: number, Dropped: err.Error()})
}

// value reads one value, which begins at line number.
func (t *toolsList) value(number int, v json.RawMessage, server string, depth int) {
	if depth > 4 || t.stopped {
		return
	}
	d := &document{raw: v, problem: new(error)}
	inside, isList := d.elements()
	if !isList {
		var err error
		if d, err = newDocument(line{data: v}); err == nil && d.at("error") != nil {
			err = fmt.Errorf("the server answered with an error: %.200s", d.text("error.message"))
		}
		if err != nil {
			t.drop(number, err)
			return
		}
		if !t.given {
			server = cmp.Or(d.text("server"), d.text("serverInfo.name"), server)
		}
		switch {
		case holds(d, "result={*"):
			inside = []*document{d.at("result")}
		case holds(d, "tools=[*"):
			inside = []*document{d.at("tools")}
		default:
			t.tool(number, d, server)
		}
	}
	from := 0
	for _, e := range inside {
		at := from + bytes.Index(v[from:], e.raw)
		number += bytes.Count(v[from:at], []byte("\n"))
		from = at
		t.value(number, e.raw, server, depth+1)
	}
}

// tool reads one tool in the form of MCP or of model APIs.
func (t *toolsList) tool(line int, d *document, server string) {
	*d.problem = nil // ignore a server that is not a string
	if inner := d.at("function"); inner != nil {
		d = inner
	}
	name := d.text("name")
	it := Item{File: t.file, Line: line, Kind: KindTool, ID: catalog.ID(server, name)}
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
	t.stopped = !t.emit(it)
}
