package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waymark/catalog"
	"waymark/catalog/inspect"
)

// offered is a tool as its server lists it now.
type offered struct {
	tool  catalog.Tool // as it enters a catalog: texts cleaned and cut
	print catalog.Fingerprint
	parts map[string][]byte // of the fingerprint, for "what changed"
	flags []string          // what a person should look at before it is used
	wrong string            // why it cannot be used at all

	members members
}

// members are what else an entry or a result has: icons, _meta, and what a later revision may bring. They pass through.
type members map[string]json.RawMessage

// mostMembers is how many bytes of members are passed on.
const mostMembers = 8 << 10

// membersOf are the members of an object but for those that are known.
func membersOf(object json.RawMessage, known ...string) (m members) {
	if json.Unmarshal(object, &m) != nil {
		return nil
	}
	size := 0
	for name, value := range m {
		if size += len(name) + len(value); slices.Contains(known, name) || isNull(value) {
			delete(m, name)
			size -= len(name) + len(value)
		}
	}
	if size > mostMembers || len(m) == 0 {
		return nil
	}
	return m
}

// listed is the wire form. Names are read with their case, and none twice, so that no two readers of one
// definition can see two tools in it.
type listed struct {
	Name         string         `json:"name"`
	Title        string         `json:"title"`
	Description  string         `json:"description"`
	InputSchema  jsontext.Value `json:"inputSchema"`
	OutputSchema jsontext.Value `json:"outputSchema"`
	Annotations  jsontext.Value `json:"annotations"`
}

type hints struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    *bool  `json:"readOnlyHint,omitempty"`
	Destructive *bool  `json:"destructiveHint,omitempty"`
	Idempotent  *bool  `json:"idempotentHint,omitempty"`
	OpenWorld   *bool  `json:"openWorldHint,omitempty"`
}

// toolName is what the protocol allows a tool to be called.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// read takes one entry of a tools/list. Text checks that need the other servers come later.
func read(server string, entry json.RawMessage) offered {
	var l listed
	var h hints
	o := offered{members: membersOf(entry, partNames...)}
	if err := jsonv2.Unmarshal(entry, &l); err != nil {
		o.wrong = "its definition cannot be read: " + catalog.Cut(err.Error(), 200)
		_ = json.Unmarshal(entry, &struct{ Name *string }{&l.Name}) // to call it something
	} else if len(l.Annotations) > 0 {
		if err := jsonv2.Unmarshal(l.Annotations, &h); err != nil {
			o.wrong = "its annotations cannot be read: " + catalog.Cut(err.Error(), 200)
		}
	}
	if !toolName.MatchString(l.Name) {
		o.wrong = fmt.Sprintf("its name %q is not 1 to 128 of A-Z a-z 0-9 . _ -", catalog.Cut(l.Name, 80))
		l.Name = fmt.Sprintf("unnamed-%x", sha256.Sum256(entry))[:20]
	}
	o.parts = map[string][]byte{
		"name": []byte(l.Name), "title": []byte(l.Title), "description": []byte(l.Description),
		"inputSchema": catalog.Canonical(json.RawMessage(l.InputSchema)), "outputSchema": catalog.Canonical(json.RawMessage(l.OutputSchema)),
		"annotations": catalog.Canonical(json.RawMessage(l.Annotations)),
	}
	o.print = fingerprint(o.parts)
	o.tool = catalog.Tool{
		ID: catalog.ID(server, l.Name), Name: l.Name, Server: server, Description: catalog.Cut(l.Description, catalog.MaxDescription),
		InputSchema: json.RawMessage(l.InputSchema), OutputSchema: json.RawMessage(l.OutputSchema),
		Annotations: &catalog.Annotations{Title: catalog.Cut(l.Title, catalog.MaxName), ReadOnly: h.ReadOnly, Destructive: h.Destructive, Idempotent: h.Idempotent, OpenWorld: h.OpenWorld},
	}
	if l.Title == "" {
		o.tool.Annotations.Title = catalog.Cut(h.Title, catalog.MaxName)
	}
	if *o.tool.Annotations == (catalog.Annotations{}) {
		o.tool.Annotations = nil
	}
	if o.wrong == "" {
		if err := o.tool.Normalise(); err != nil {
			o.wrong = catalog.Cut(err.Error(), 300)
		}
	}
	return o
}

// again is a tool whose name was listed before, under a name of its own: it cannot be used.
func again(o offered) offered {
	o.wrong = o.tool.Name + " is listed twice; the first counts"
	o.tool.Name = fmt.Sprintf("listed-again-%x", sha256.Sum256([]byte(o.tool.Name)))[:25]
	o.tool.ID = catalog.ID(o.tool.Server, o.tool.Name)
	return o
}

// fingerprint digests the parts of a contract. Lengths keep neighbouring parts from running together.
func fingerprint(parts map[string][]byte) catalog.Fingerprint {
	var b bytes.Buffer
	for _, name := range partNames {
		fmt.Fprintf(&b, "%s %d\n%s\n", name, len(parts[name]), parts[name])
	}
	return sha256.Sum256(b.Bytes())
}

var partNames = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"}

// digests of the parts are kept with a pin, to say later which part changed.
func (o *offered) digests() map[string]string {
	d := make(map[string]string, len(partNames))
	for _, name := range partNames {
		d[name] = fmt.Sprintf("%x", sha256.Sum256(o.parts[name]))[:16]
	}
	return d
}

// look adds what is suspicious about a tool beside the tools it came with and those of other servers.
func (o *offered) look(known *inspect.Catalog) {
	if o.wrong != "" {
		return
	}
	e := inspect.Entry{ID: o.tool.ID, Name: o.tool.Name, Server: o.tool.Server, Texts: []string{string(o.parts["description"]), string(o.parts["title"])}}
	for _, part := range []string{"inputSchema", "outputSchema", "annotations"} {
		e.Data = append(e.Data, o.parts[part])
	}
	for _, f := range known.Entry(&e) {
		if f.Severity == inspect.Quarantine {
			o.flags = append(o.flags, f.Detail)
		}
	}
	if len(o.parts["description"]) > catalog.MaxDescription {
		o.flags = append(o.flags, fmt.Sprintf("its description has %d bytes and is cut at %d", len(o.parts["description"]), catalog.MaxDescription))
	}
	slices.Sort(o.flags)
}
