package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Finding is what a check found. Detail never quotes the text: a model may read it.
type Finding struct {
	Check  string
	Refuse bool // the entry is not stored; otherwise not suggested, and its texts not shown, until somebody approves it
	Detail string
}

// Entry is a tool or a capability as it was sent. A description is read by the model that chooses a tool, so whoever
// writes it writes into the prompt: every entry passes the same checks, over HTTP, from a file, from a server of the
// gateway. They look for what an honest entry does not need; nothing is changed or removed.
type Entry struct {
	ID, Name, Server string
	Texts            []string          // title, description, intent
	Labels           []string          // what else is shown of it: domain, tags, ids of tasks and of other entries
	Data             []json.RawMessage // schemas, annotations: their names and texts are read too

	refers bool // one of the data has a reference to another document
}

// EntryOfTool is the entry of a tool.
func EntryOfTool(t *Tool) *Entry {
	e := &Entry{ID: t.ID, Name: t.Name, Server: t.Server, Texts: []string{t.Description}, Data: []json.RawMessage{t.InputSchema, t.OutputSchema}, Labels: append([]string{t.Domain}, t.Requires...)}
	if t.Annotations != nil {
		e.Texts = append(e.Texts, t.Annotations.Title)
	}
	return e
}

// EntryOfCapability is the entry of a capability.
func EntryOfCapability(c *Capability) *Entry {
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

// checks are all checks of one entry, in the order of reports. Lists of keywords and copies of one description rank
// lower in searches instead: see [Stuffed] and [Copies].
var checks = []struct {
	name string
	find func(in *Inspector, e *Entry) string // what it found, or nothing
}{
	{"name", badName},                   // ids and names have at most 128 characters of those that real catalogs use
	{"hidden", hiddenCharacter},         // no text has characters that do not show, or change its direction
	{"instruction", instruction},        // no text addresses the model
	{"shadowing", (*Inspector).shadows}, // no text names a tool of another server
	{"lookalike", (*Inspector).alike},   // no id can be taken for another
	{"server", (*Inspector).foreign},    // no id names another server, a connected one, or this program
	{"reference", reference},            // no schema refers to another document
}

// Inspect returns what the checks find about an entry beside those that are known.
func (in *Inspector) Inspect(e *Entry) (found []Finding) {
	for _, data := range e.Data {
		texts, refers := textsIn(data)
		e.Texts, e.refers = append(e.Texts, texts...), e.refers || refers
	}
	e.Data = nil
	for _, c := range checks {
		if detail := c.find(in, e); detail != "" {
			found = append(found, Finding{c.name, c.name == "name", detail})
		}
	}
	return found
}

// textsIn lists the names and texts in a JSON value, sorted, and reports whether a schema refers to another document.
func textsIn(data json.RawMessage) (all []string, refers bool) {
	v, err := Decode(data)
	if err != nil {
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

// withoutControls lets regular expressions name control characters, which no other text may have.
func withoutControls(pattern string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return -1
		}
		return c
	}, pattern)
}

// badName applies to ids: names are shown, and data sets have sentences in them.
func badName(_ *Inspector, e *Entry) string {
	if err := CheckToolID("id", e.ID, e.Server); err != nil {
		return err.Error()
	}
	if n := utf8.RuneCountInString(e.Name); n > MaxPart {
		return fmt.Sprintf("name is %d characters long, the limit is %d", n, MaxPart)
	}
	return ""
}

// foreign finds an id that begins with the name of another server, and one that belongs to this program or to a
// server that is connected to it, whose entries others do not put.
func (in *Inspector) foreign(e *Entry) string {
	before, _, named := strings.Cut(e.ID, ":")
	if named && e.Server != "" && before != e.Server && !strings.HasPrefix(e.ID, e.Server+":") {
		return fmt.Sprintf("its id names the server %s, it is of another", ShownID(before))
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

// reference finds a schema that means more than the catalog holds: what it refers to may change after it was read.
func reference(_ *Inspector, e *Entry) string {
	if e.refers {
		return "its schema refers to another document"
	}
	return ""
}

// hiddenCharacter looks in all that may be shown of an entry, its names included.
func hiddenCharacter(_ *Inspector, e *Entry) string {
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
		case c >= ' ' && c <= '~', c == '\n', c == '\t', c == '\r', c == '\u2028', c == '\u2029':
		case c == '\u200d', c == '\ufeff', c >= '\uFE00' && c <= '\uFE0F':
			if unicode.In(before, unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian) {
				return c, true
			}
		case unicode.IsControl(c), invisible(c), c >= 0xE0100 && c <= 0xE01EF:
			return c, true
		}
		before = c
	}
	return 0, false
}
