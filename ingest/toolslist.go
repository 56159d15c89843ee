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
	"waymark/internal/strictjson"
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
	file    string
	given   bool // the server is given and nothing in the file changes it
	emit    func(Item) bool
	stopped bool
}

func (t *toolsList) drop(number int, err error) {
	t.stopped = !t.emit(Item{File: t.file, Line: number, Dropped: err.Error()})
}

// value reads one value, which begins on a line.
func (t *toolsList) value(number int, v json.RawMessage, server string, depth int) {
	if depth > 4 || t.stopped {
		return
	}
	if v[0] == '[' {
		t.list(number, v, server, depth)
		return
	}
	d, err := newDocument(line{data: v})
	if err == nil && d.at("error") != nil {
		err = fmt.Errorf("the server answered with an error: %.200s", d.text("error.message"))
	}
	if err != nil {
		t.drop(number, err)
		return
	}
	if !t.given {
		server = cmp.Or(d.text("server"), d.text("serverInfo.name"), server)
	}
	for _, wrapping := range []string{"result={*", "tools=[*"} {
		if name, _, _ := strings.Cut(wrapping, "="); holds(d, wrapping) {
			inner := d.value(name)
			t.value(number+bytes.Count(v[:bytes.Index(v, inner)], []byte("\n")), inner, server, depth+1)
			return
		}
	}
	t.tool(number, v, server)
}

func (t *toolsList) list(line int, v json.RawMessage, server string, depth int) {
	d := json.NewDecoder(bytes.NewReader(v))
	if _, err := d.Token(); err != nil {
		return
	}
	for from := 0; d.More() && !t.stopped; {
		var e json.RawMessage
		if d.Decode(&e) != nil {
			return // cannot be: v was decoded before
		}
		at := int(d.InputOffset()) - len(e)
		line += bytes.Count(v[from:at], []byte("\n"))
		from = at
		t.value(line, e, server, depth+1)
	}
}

// listedTool is a tool as MCP lists it, with the spellings of model APIs beside.
type listedTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	InputSnake   json.RawMessage `json:"input_schema"`
	Parameters   json.RawMessage `json:"parameters"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  *struct {
		Title       string `json:"title"`
		ReadOnly    *bool  `json:"readOnlyHint"`
		Destructive *bool  `json:"destructiveHint"`
		Idempotent  *bool  `json:"idempotentHint"`
		OpenWorld   *bool  `json:"openWorldHint"`
	} `json:"annotations"`
	Function *listedTool `json:"function"`
}

func (t *toolsList) tool(line int, v json.RawMessage, server string) {
	it := Item{File: t.file, Line: line, Kind: KindTool}
	var l listedTool
	err := strictjson.UnmarshalForeign(v, &l)
	if l.Function != nil {
		l = *l.Function
	}
	if err == nil && l.Name == "" {
		err = errors.New("tool has no name")
	}
	it.ID = catalog.ID(server, l.Name)
	if err != nil {
		it.drop(err.Error())
		t.stopped = !t.emit(it)
		return
	}
	tool := &catalog.Tool{ID: it.ID, Name: l.Name, Description: l.Description, Server: server, OutputSchema: l.OutputSchema}
	for _, schema := range []json.RawMessage{l.InputSchema, l.InputSnake, l.Parameters} {
		if tool.InputSchema == nil {
			tool.InputSchema = schema
		}
	}
	if a := l.Annotations; a != nil {
		tool.Annotations = &catalog.Annotations{Title: a.Title, ReadOnly: a.ReadOnly, Destructive: a.Destructive, Idempotent: a.Idempotent, OpenWorld: a.OpenWorld}
	}
	if l.Title != "" {
		if tool.Annotations == nil {
			tool.Annotations = new(catalog.Annotations)
		}
		tool.Annotations.Title = l.Title
	}
	it.Tool = tool
	t.stopped = !t.emit(it)
}
