package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"waymark/catalog"
	"waymark/run"
)

// contract is a tool as its server lists it.
type contract struct {
	tool  catalog.Tool // as stored in a catalog: texts are cleaned and cut
	print catalog.Fingerprint
	parts map[string][]byte // input of the fingerprint, kept to report changes
	wrong string            // why it cannot be used; empty if it can

	entry   json.RawMessage // the original entry of the list
	members members

	compiled  sync.Once
	input     *run.Validator // nil: accepts any arguments
	output    *run.Validator
	outputErr error
}

// schemas compiles the validators of arguments and results once, before the first call.
func (c *contract) schemas() {
	c.compiled.Do(func() {
		c.input, _ = run.NewValidator(c.tool.InputSchema)
		c.output, c.outputErr = run.NewValidator(c.tool.OutputSchema)
	})
}

// mostEntry is the maximum size of an entry in bytes.
const mostEntry = 256 << 10

// members are the JSON members of an entry or a result that the gateway does not interpret: icons, _meta, and members
// of later revisions. They are passed on unchanged.
type members map[string]json.RawMessage

// mostMembers is the maximum size of members in bytes. Larger ones are dropped as a whole.
const mostMembers = 8 << 10

// membersOf returns the members of an object except the known ones and those that are null. It returns nil if there are
// none, or more than mostMembers bytes of them.
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

// listed is the wire form of a tool. Names of members are case-sensitive and must not occur twice, so that two parsers
// of one definition cannot read two different tools.
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

// toolName matches the names that the protocol allows for a tool.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// read parses one entry of a tools/list. Checks of texts that need the other servers come later.
func read(server string, entry json.RawMessage) *contract {
	var l listed
	var h hints
	o := &contract{entry: entry, members: membersOf(entry, partNames...)}
	if err := jsonv2.Unmarshal(entry, &l); err != nil {
		o.wrong = "its definition cannot be read: " + catalog.Cut(err.Error(), 200)
		_ = json.Unmarshal(entry, &struct{ Name *string }{&l.Name}) // so that it can be reported by name
	} else if len(l.Annotations) > 0 {
		if err := jsonv2.Unmarshal(l.Annotations, &h); err != nil {
			o.wrong = "its annotations cannot be read: " + catalog.Cut(err.Error(), 200)
		}
	}
	if len(entry) > mostEntry {
		o.wrong = fmt.Sprintf("its definition is longer than %d bytes", mostEntry)
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

// fingerprint hashes the parts of a contract. Each part is preceded by its length, so that no text can move from one
// part to the next.
func fingerprint(parts map[string][]byte) catalog.Fingerprint {
	var b bytes.Buffer
	for _, name := range partNames {
		fmt.Fprintf(&b, "%s %d\n%s\n", name, len(parts[name]), parts[name])
	}
	return sha256.Sum256(b.Bytes())
}

var partNames = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"}

// look returns the reasons why a tool is suspicious, compared with the other tools of its server and with those of
// other servers. A person has to review such a tool before it is used.
func (c *contract) look(known *catalog.Inspector) (flags []string) {
	if c.wrong != "" {
		return nil
	}
	e := catalog.Entry{ID: c.tool.ID, Name: c.tool.Name, Server: c.tool.Server,
		Texts: []string{string(c.parts["description"]), string(c.parts["title"])}}
	for _, part := range []string{"inputSchema", "outputSchema", "annotations"} {
		e.Data = append(e.Data, c.parts[part])
	}
	for _, f := range known.Inspect(&e) {
		if !f.Refuse {
			flags = append(flags, f.Detail)
		}
	}
	if n := len(c.parts["description"]); n > catalog.MaxDescription {
		flags = append(flags, fmt.Sprintf("its description has %d bytes and is cut at %d", n, catalog.MaxDescription))
	}
	slices.Sort(flags)
	return flags
}

// Limits of one list.
const mostPages, mostTools = 64, 512

// list reads all tools and passes them to u.fresh, together with the prompts and resources.
func (u *upstream) list(ctx context.Context, l *link) error {
	ctx, cancel := context.WithTimeout(ctx, u.opts.ListTimeout)
	defer cancel()
	entries, err := l.pages(ctx, "tools", func(n, _ int) bool { return n <= mostTools })
	said, ok := errors.AsType[*jsonrpc.Error](err)
	if none := ok && said.Code == jsonrpc.CodeMethodNotFound; err != nil && !none { // a server may have no tools
		return err
	}
	tools := map[string]*contract{}
	for _, entry := range entries {
		c := read(u.def.ID, entry)
		if tools[c.tool.ID] != nil { // kept under a separate name, as unusable
			c.wrong = c.tool.Name + " is listed twice; the first counts"
			c.tool.Name = fmt.Sprintf("listed-again-%x", sha256.Sum256([]byte(c.tool.Name)))[:25]
			c.tool.ID = catalog.ID(c.tool.Server, c.tool.Name)
		}
		if tools[c.tool.ID] == nil {
			tools[c.tool.ID] = c
		}
	}
	return u.onList(ctx, u, tools, u.offers(ctx, l))
}

// errEndless means that a list was not read to its end: it is too long or repeats a page.
var errEndless = errors.New("the list does not end")

// pages reads a list of a server page by page, as long as room returns true for the number of items and their bytes.
// With an error it also returns the items read before.
func (l *link) pages(ctx context.Context, list string, room func(items, bytes int) bool) (all []json.RawMessage, err error) {
	size := 0
	for cursor, n := "", 0; n < mostPages; n++ {
		raw, err := l.page(ctx, list, cursor)
		if err != nil {
			return all, err
		}
		var answer map[string]json.RawMessage
		var items []json.RawMessage
		if json.Unmarshal(raw, &answer) != nil || answer == nil || answer[list] != nil && json.Unmarshal(answer[list], &items) != nil {
			return all, fmt.Errorf("its %s/list is not a list of %s", list, list)
		}
		for _, item := range items {
			if isNull(item) {
				continue
			}
			if size += len(item); !room(len(all)+1, size) {
				return all, fmt.Errorf("%w: more than %d %s or %d bytes", errEndless, len(all), list, size-len(item))
			}
			all = append(all, item)
		}
		next := ""
		_ = json.Unmarshal(answer["nextCursor"], &next) // a cursor that is not a string counts as none
		switch next {
		case "":
			return all, nil
		case cursor:
			return all, fmt.Errorf("%w: a page leads to itself", errEndless)
		}
		cursor = next
	}
	return all, fmt.Errorf("%w: more than %d pages", errEndless, mostPages)
}

// PartChange is the difference in one part of a contract, with some of the text around it. The texts are quoted so that
// no character in them is hidden.
type PartChange struct {
	Part string `json:"part"`
	Was  string `json:"was"`
	Now  string `json:"now"`
}

// changes returns the differences between the parts of two contracts.
func changes(was, now map[string][]byte) (all []PartChange) {
	for _, part := range partNames {
		if a, b := string(was[part]), string(now[part]); a != b {
			c := PartChange{Part: part}
			c.Was, c.Now = difference(a, b)
			all = append(all, c)
		}
	}
	return all
}

// Changes returns the differences between two contracts.
func Changes(was, now *catalog.Tool) []PartChange { return changes(partsOf(was), partsOf(now)) }

func partsOf(t *catalog.Tool) map[string][]byte {
	a := t.Annotations
	if a == nil {
		a = &catalog.Annotations{}
	}
	annotations, _ := json.Marshal(hints{ReadOnly: a.ReadOnly, Destructive: a.Destructive, Idempotent: a.Idempotent, OpenWorld: a.OpenWorld}) // bools: cannot fail
	return map[string][]byte{
		"name": []byte(t.Name), "title": []byte(a.Title), "description": []byte(t.Description), "annotations": catalog.Canonical(annotations),
		"inputSchema": catalog.Canonical(t.InputSchema), "outputSchema": catalog.Canonical(t.OutputSchema),
	}
}

// Limits of a shown difference in bytes: the text on each side of it, and its length including that text.
const aroundChange, ofChange = 40, 600

// difference returns the parts in which two texts differ, quoted. If the texts look alike, all non-ASCII characters are
// escaped, which makes the difference visible.
func difference(was, now string) (string, string) {
	head := 0
	for head < min(len(was), len(now)) && was[head] == now[head] {
		head++
	}
	tail := 0
	for tail < min(len(was), len(now))-head && was[len(was)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	bare := func(s string) string { return strings.Join(strings.Fields(catalog.Skeleton(s)), "") }
	alike := bare(was) == bare(now)
	cut := func(s string) string {
		from, to := max(0, head-aroundChange), min(len(s), len(s)-tail+aroundChange)
		before, after := "", ""
		if from > 0 {
			before = "…"
		}
		if to < len(s) {
			after = "…"
		}
		if to-from > ofChange {
			after = fmt.Sprintf("… (%d bytes)", to-from)
			to = from + ofChange
		}
		shown := strings.ToValidUTF8(s[from:to], "") // drops a character that was cut
		switch {
		case alike:
			shown = strconv.QuoteToASCII(shown)
		case strings.Contains(shown, "`") || strings.ContainsFunc(shown, func(r rune) bool { return !unicode.IsPrint(r) }):
			shown = strconv.Quote(shown)
		default:
			shown = "`" + shown + "`"
		}
		return before + shown + after
	}
	return cut(was), cut(now)
}
