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

// Finding is the result of a check. Detail never quotes the text, because a model may read it.
type Finding struct {
	Check  string
	Refuse bool // the entry is not stored; otherwise it is not suggested and its texts are hidden until a person approves it
	Detail string
}

// Entry is a tool or a capability as it was sent. A model that chooses a tool reads its description, so the
// author of a description can inject text into the prompt. Every entry passes the same checks, whether it comes
// over HTTP, from a file, or from a server of the gateway. The checks look for features that a legitimate entry
// does not need; they change and remove nothing.
type Entry struct {
	ID, Name, Server string
	Texts            []string          // title, description, intent
	Labels           []string          // other texts that are shown: domain, tags, ids of tasks and of other entries
	Data             []json.RawMessage // schemas, annotations: their names and texts are checked, too

	refs, ids []string // documents that schemas in Data refer to, and the ids of these schemas
}

// EntryOfTool returns the entry of a tool.
func EntryOfTool(t *Tool) *Entry {
	e := &Entry{ID: t.ID, Name: t.Name, Server: t.Server, Texts: []string{t.Description}, Data: []json.RawMessage{t.InputSchema, t.OutputSchema}, Labels: append([]string{t.Domain}, t.Requires...)}
	if t.Annotations != nil {
		e.Texts = append(e.Texts, t.Annotations.Title)
	}
	return e
}

// EntryOfCapability returns the entry of a capability. All of its names and texts are shown.
func EntryOfCapability(c *Capability) *Entry {
	e := &Entry{ID: c.ID, Name: c.Name, Texts: []string{c.Description, c.Intent}}
	e.Data = []json.RawMessage{c.InputSchema, c.OutputSchema, c.Output}
	all, _ := json.Marshal(c) // fails for invalid JSON only, which is not stored
	v, _ := Decode(all)
	e.read(v, &e.Labels)
	return e
}

// checks lists all checks of one entry, in the order of the findings.
var checks = []struct {
	name string
	find func(in *Inspector, e *Entry) string // returns the detail of a finding, "" for none
}{
	{"name", badName},                   // ids and names: at most 128 characters; ids: only those of real catalogs
	{"hidden", hiddenCharacter},         // no invisible characters and none that change the text direction
	{"instruction", instruction},        // no text addresses the model
	{"shadowing", (*Inspector).shadows}, // no text names a tool of another server
	{"lookalike", (*Inspector).alike},   // no id can be mistaken for another
	{"server", (*Inspector).foreign},    // no id names another server, a connected server, or this program
	{"reference", reference},            // no schema refers to another document
}

// Inspect runs the checks on an entry, against the known entries, and returns the findings.
func (in *Inspector) Inspect(e *Entry) (found []Finding) {
	for _, data := range e.Data {
		v, _ := Decode(data) // invalid JSON has no texts
		e.read(v, &e.Texts)
	}
	e.Data = nil
	for _, c := range checks {
		if detail := c.find(in, e); detail != "" {
			found = append(found, Finding{c.name, c.name == "name", detail})
		}
	}
	return found
}

// read adds the names and texts in a decoded value to a list, and collects references to documents and their ids.
func (e *Entry) read(v any, to *[]string) {
	switch v := v.(type) {
	case string:
		*to = append(*to, v)
	case []any:
		for _, inner := range v {
			e.read(inner, to)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			document, is := v[name].(string)
			document, _, _ = strings.Cut(document, "#")
			switch {
			case !is || document == "" || strings.Contains(document, "://json-schema.org/draft"):
			case name == "$ref", name == "$dynamicRef":
				e.refs = append(e.refs, document)
			case name == "$id", name == "id":
				e.ids = append(e.ids, document)
			}
			*to = append(*to, name)
			inner := v[name]
			if pattern, is := inner.(string); is && name == "pattern" { // the only text that may hold control characters
				inner = strings.Map(func(c rune) rune {
					if unicode.IsControl(c) {
						return ' '
					}
					return c
				}, pattern)
			}
			e.read(inner, to)
		}
	}
}

// badName checks the length of the name, and length and characters of the id only: names in data sets may be
// sentences.
func badName(_ *Inspector, e *Entry) string {
	if err := CheckToolID("id", e.ID, e.Server); err != nil {
		return err.Error()
	}
	if n := utf8.RuneCountInString(e.Name); n > MaxPart {
		return fmt.Sprintf("name is %d characters long, the limit is %d", n, MaxPart)
	}
	return ""
}

// foreign finds an id that begins with the name of another server, or a server name of this program or of a
// connected server, whose entries only the server itself may add.
func (in *Inspector) foreign(e *Entry) string {
	before, _, named := strings.Cut(FromHost(e.ID), ":")
	switch {
	case named && e.Server != "" && before != e.Server && !strings.HasPrefix(e.ID, e.Server+":"):
		return fmt.Sprintf("its id names the server %s, it is of another", ShownID(before))
	case named && in.taken[Skeleton(before)], in.taken[Skeleton(e.Server)]:
		return "its server has the name of this program, of its scorers, or of a connected server, which did not offer it"
	}
	return ""
}

// Reserved lists the server names in the ids of this program: of its tools, and of its scorers.
var Reserved = []string{"waymark", "scorer"}

// reference finds a schema with a reference to another document, which may change after the check. A reference to the
// own $id of a schema, whole or relative, is none.
func reference(_ *Inspector, e *Entry) string {
	for _, ref := range e.refs {
		own := func(id string) bool { return id == ref || strings.HasSuffix(id, "/"+strings.TrimPrefix(ref, "./")) }
		if !slices.ContainsFunc(e.ids, own) {
			return "its schema refers to another document"
		}
	}
	return ""
}

// hiddenCharacter checks all texts of an entry that may be shown, including its names.
func hiddenCharacter(_ *Inspector, e *Entry) string {
	for _, t := range slices.Concat(e.Texts, e.Labels, []string{e.Name, e.ID}) {
		if c, ok := Hidden(t); ok {
			return fmt.Sprintf("its texts hold the invisible character %U", c)
		}
	}
	return ""
}

// Hidden returns the first invisible character of a text: controls, zero-width, direction and tag characters.
// The zero-width joiner, variation selectors and the byte order mark count only after a letter of a script that
// does not need them.
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
