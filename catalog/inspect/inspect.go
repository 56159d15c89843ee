// Package inspect holds the checks that every entry of a catalog passes, whichever way it enters: over HTTP, from a
// file, from a server of the gateway.
//
// A description is read by the model that chooses a tool, so whoever writes it writes into the prompt. The checks look
// for what an honest entry does not need. What a finding leads to is its severity; nothing is changed or removed.
package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"waymark/catalog"
)

// Severity says what a finding leads to.
type Severity uint8

const (
	Quarantine Severity = iota // the entry is not suggested, and its texts are not shown, until somebody approves it
	Refuse                     // the entry is not stored
)

// Finding is what a check found. Detail never quotes the text: a model may read it.
type Finding struct {
	Check    string
	Severity Severity
	Detail   string
}

// Entry is a tool or a capability as it was sent.
type Entry struct {
	ID, Name, Server string
	Texts            []string          // title, description, intent
	Labels           []string          // what else is shown of it: domain, tags, ids of tasks and of other entries
	Data             []json.RawMessage // schemas, annotations: their names and texts are read too

	refers bool // one of the data has a reference to another document
}

// OfTool is the entry of a tool.
func OfTool(t *catalog.Tool) *Entry {
	e := &Entry{ID: t.ID, Name: t.Name, Server: t.Server, Texts: []string{t.Description}, Data: []json.RawMessage{t.InputSchema, t.OutputSchema}, Labels: append([]string{t.Domain}, t.Requires...)}
	if t.Annotations != nil {
		e.Texts = append(e.Texts, t.Annotations.Title)
	}
	return e
}

// OfCapability is the entry of a capability.
func OfCapability(c *catalog.Capability) *Entry {
	e := &Entry{ID: c.ID, Name: c.Name, Texts: []string{c.Description, c.Intent}, Data: []json.RawMessage{c.InputSchema, c.OutputSchema, c.Output}, Labels: slices.Concat(c.Tags, c.Tools)}
	if c.Script != nil {
		e.Labels = append(e.Labels, c.Script.Source)
	}
	for _, t := range c.Tasks {
		e.Labels = append(e.Labels, t.ID, t.Tool, t.When)
		for _, name := range slices.Sorted(maps.Keys(t.Arguments)) {
			e.Labels = append(e.Labels, name)
			e.Data = append(e.Data, t.Arguments[name])
		}
	}
	return e
}

// check is one row of the table: find returns what it found, or nothing.
type check struct {
	Name     string
	Severity Severity
	find     func(e *Entry, in *Catalog) string
}

// checks are all checks of one entry, in the order of reports. Lists of keywords and copies of one description rank
// lower in searches instead: see [Stuffed] and [Copies].
var checks = []check{
	{"name", Refuse, badName},                // ids and names have at most 128 characters of those that real catalogs use
	{"hidden", Quarantine, hiddenCharacter},  // no text has characters that do not show, or change its direction
	{"instruction", Quarantine, instruction}, // no text addresses the model
	{"shadowing", Quarantine, shadowing},     // no text names a tool of another server
	{"lookalike", Quarantine, lookalike},     // no id can be taken for another
	{"server", Quarantine, otherServer},      // no id names another server than that of the entry, or one that is connected or of this program
	{"reference", Quarantine, reference},     // no schema refers to another document
}

// Entry returns what the checks find about an entry beside the catalog.
func (in *Catalog) Entry(e *Entry) (found []Finding) {
	e.read()
	for _, c := range checks {
		if detail := c.find(e, in); detail != "" {
			found = append(found, Finding{c.Name, c.Severity, detail})
		}
	}
	return found
}

// read collects the texts of the data, each once.
func (e *Entry) read() {
	for _, data := range e.Data {
		if len(data) > 0 {
			texts, refers := textsIn(data)
			e.Texts, e.refers = append(e.Texts, texts...), e.refers || refers
		}
	}
	e.Data = nil
}

// textsIn lists the names and texts in a JSON value, sorted, and reports whether a schema refers to another document. Regular
// expressions may name control characters.
func textsIn(data json.RawMessage) (all []string, refers bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, false
	}
	var refs, own []string
	var visit func(v any, expressions bool)
	visit = func(v any, expressions bool) { // expressions: the names of an object are such
		switch v := v.(type) {
		case string:
			all = append(all, v)
		case []any:
			for _, e := range v {
				visit(e, false)
			}
		case map[string]any:
			for name, e := range v {
				if text, ok := e.(string); ok && name == "pattern" {
					e = withoutControls(text)
				}
				if text, ok := e.(string); ok {
					document, _, _ := strings.Cut(text, "#")
					switch name {
					case "$ref", "$dynamicRef":
						refs = append(refs, document)
					case "$id", "id":
						own = append(own, document)
					}
				}
				inside := name == "patternProperties" && !expressions
				if expressions {
					name = withoutControls(name)
				}
				all = append(all, name)
				visit(e, inside)
			}
		}
	}
	visit(v, false)
	for _, r := range refs {
		standard := strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(r, "http://"), "https://"), "json-schema.org/draft")
		refers = refers || r != "" && !standard && !slices.ContainsFunc(own, func(id string) bool { return id == r || strings.HasSuffix(id, "/"+strings.TrimPrefix(r, "./")) })
	}
	slices.Sort(all)
	return slices.Compact(all), refers
}

func withoutControls(pattern string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return -1
		}
		return c
	}, pattern)
}

// badName applies to ids: names are shown, and data sets have sentences in them.
func badName(e *Entry, _ *Catalog) string {
	if err := catalog.CheckToolID("id", e.ID, e.Server); err != nil {
		return err.Error()
	}
	if n := utf8.RuneCountInString(e.Name); n > catalog.MaxPart {
		return fmt.Sprintf("name is %d characters long, the limit is %d", n, catalog.MaxPart)
	}
	return ""
}

// otherServer finds an id that begins with the name of another server, and one that belongs to this program or to a
// server that is connected to it, whose entries others do not put.
func otherServer(e *Entry, in *Catalog) string {
	before, _, named := strings.Cut(e.ID, ":")
	if named && e.Server != "" && before != e.Server && !strings.HasPrefix(e.ID, e.Server+":") {
		return fmt.Sprintf("its id names the server %s, it is of another", catalog.ShownID(before))
	}
	if rest, host := strings.CutPrefix(e.ID, "mcp__"); host { // as hosts spell it
		before, _, named = strings.Cut(rest, "__")
	}
	if !named {
		before = ""
	}
	for _, server := range []string{before, e.Server} {
		switch look := Skeleton(server); {
		case server == "":
		case slices.ContainsFunc(Reserved, func(r string) bool { return look == Skeleton(r) }):
			return "its server has the name of this program, or of its scorers"
		case slices.ContainsFunc(in.connected, func(c string) bool { return look == Skeleton(c) }):
			return "its server has the name of one that is connected here, which did not offer it"
		}
	}
	return ""
}

// Reserved are the servers that stand before the ids of this program: of its tools, and of its scorers.
var Reserved = []string{"waymark", "scorer"}

func reference(e *Entry, _ *Catalog) string {
	if e.refers {
		return "its schema refers to another document"
	}
	return ""
}

func hiddenCharacter(e *Entry, _ *Catalog) string {
	for _, t := range slices.Concat(e.Texts, e.Labels, []string{e.Name, e.ID}) {
		if c, ok := Hidden(t); ok {
			return fmt.Sprintf("its texts hold the invisible character %U", c)
		}
	}
	return ""
}

// Hidden is the first character of a text that nobody sees: controls, zero-width, direction and tag characters. The
// joiner and the selectors of emoji and the byte order mark are such only within words of scripts that need none.
func Hidden(s string) (rune, bool) {
	before := ' '
	for _, c := range s {
		switch {
		case c >= ' ' && c <= '~', c == '\n', c == '\t', c == '\r':
		case c == '\u200d', c == '\ufeff', c >= '\uFE00' && c <= '\uFE0F':
			if unicode.In(before, unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian) {
				return c, true
			}
		case unicode.IsControl(c), unicode.Is(unicode.Cf, c), c == '\u034F', c == '\u115F', c == '\u1160', c == '\u3164', c == '\uFFA0', c >= 0xE0100 && c <= 0xE01EF:
			return c, true
		}
		before = c
	}
	return 0, false
}
