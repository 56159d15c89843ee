package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/ingest/hook"
	"waymark/internal/codec"
)

// holds reports whether one of the conditions, which semicolons separate, is true of a record: each of its words, of which
// "name" requires a value, "name=x|y*|*z" the text or literal x in any case, one that begins with y, or one that contains
// z; "!" before a word the contrary. "." is always true.
func holds(f *document, conditions string) bool {
	return slices.ContainsFunc(strings.Split(conditions, ";"), func(c string) bool {
		c = strings.TrimSpace(c)
		for word := range strings.FieldsSeq(c) {
			word, not := strings.CutPrefix(word, "!")
			name, want, compare := strings.Cut(word, "=")
			v := strings.Trim(string(f.value(name)), `"`)
			if is := v != ""; compare && matches(v, want) == not || !compare && is == not {
				return false
			}
		}
		return c != ""
	})
}

// matches reports whether a text is one of the alternatives.
func matches(v, alternatives string) bool {
	for want := range strings.SplitSeq(alternatives, "|") {
		inside, contains := strings.CutPrefix(want, "*")
		start, begins := strings.CutSuffix(want, "*")
		if strings.EqualFold(v, want) || contains && strings.Contains(v, inside) || begins && strings.HasPrefix(v, start) {
			return true
		}
	}
	return false
}

// outcome says where a record holds what became of a call.
type outcome struct {
	failed, worked string // conditions; failed is checked first, and if neither holds the outcome is unknown
	void           string // conditions under which the call did not happen
	says           bool   // the value may say itself that it is a failure
	failure, value string // fields of the error text and of the returned value
}

func (o *outcome) read(f *document) result {
	r := result{value: f.value(o.value), void: holds(f, o.void)}
	switch {
	case holds(f, o.failed):
		r.outcome, r.text = episodic.Failure, message(f.value(o.failure))
	case o.says:
		if r.outcome, r.text = hook.Said(r.value); r.outcome == "" && holds(f, o.worked) {
			r.outcome = episodic.Success
		}
	case holds(f, o.worked):
		r.outcome = episodic.Success
	}
	return r
}

// message is the text of a value, or the value as JSON if it holds none.
func message(v json.RawMessage) string { return cmp.Or(hook.Text(v), string(v)) }

// rule says what the records of some kinds mean: a call, or the result of one.
type rule struct {
	kinds                       string // alternatives; "": all
	when                        string // conditions; "": always
	id, tool, server, arguments string
	joined                      string // what joins server and tool in the one name
	fixed                       string // the tool, where no field names it
	at                          string // a time; else that of the record
	result                      *outcome
}

// apply reports whether a rule is for the record.
func (th *thread) apply(rules []rule, kind string, f *document, c call) (applies bool) {
	for _, r := range rules {
		if r.kinds != "" && !matches(kind, r.kinds) {
			continue
		}
		if r.when != "" && !holds(f, r.when) {
			continue
		}
		applies = true
		c.id, c.name, c.server = cmp.Or(f.text(r.id), c.id), cmp.Or(r.fixed, f.text(r.tool)), f.text(r.server)
		if server, tool, ok := strings.Cut(c.name, r.joined); ok && r.joined != "" {
			c.server, c.name = server, tool
		}
		if r.at != "" {
			c.at = moment(f, r.at)
		}
		if r.result != nil {
			res := r.result.read(f)
			res.at, res.tool = c.at, c.named()
			if c.id == "" { // it is that of the next call without an id
				c.id = nameless(th.answered)
				th.answered++
			}
			th.settle(c.id, res)
		} else if c.arguments = f.value(r.arguments); c.name != "" {
			if c.id == "" {
				c.id = nameless(th.asked)
				th.asked++
			}
			th.call(c)
		}
	}
	return applies
}

// nameless stands for the id of a call that has none.
func nameless(n int) string { return "#" + strconv.Itoa(n) }

// answered reads the answer of a tool, which may say in its own content that it failed.
func answered(content string) *outcome {
	return &outcome{failed: "is_error=true; status=error", worked: "is_error=false; status=success", says: true,
		failure: content, value: content}
}

// named is the id of the tool that a result names, "" if it names none, or a wrapper.
func (c call) named() string {
	if id, _ := hook.Unwrap(catalog.ID(c.server, c.name), nil); c.name != "" && !hook.IsWrapper(id) {
		return id
	}
	return ""
}

// moment reads a time: a text, or a number of seconds, milliseconds, microseconds or nanoseconds after 1970. One that
// cannot be read is unknown.
func moment(f *document, names string) time.Time {
	v := f.value(names)
	n, err := strconv.ParseInt(strings.Trim(string(v), `"`), 10, 64)
	switch {
	case err != nil:
	case n > 1e17:
		return time.Unix(0, n).UTC()
	case n > 1e14:
		return time.UnixMicro(n).UTC()
	case n > 1e11:
		return time.UnixMilli(n).UTC()
	case n > 1e8:
		return time.Unix(n, 0).UTC()
	}
	at, _ := readTime(hook.Text(v))
	return at
}

// document is a JSON value whose members are decoded when they are asked for.
type document struct {
	raw     json.RawMessage
	members map[string]*document
	problem *error // the first field of another type than a table expects; shared by all parts
}

func newDocument(l line) (*document, error) {
	d := &document{raw: l.data, problem: new(error)}
	if l.problem != "" || codec.CheckFile(l.data) != nil || !d.decode(&d.members) {
		var object map[string]json.RawMessage
		return nil, cmp.Or(l.decode(&object), errors.New("is not a JSON object"))
	}
	return d, nil
}

// decode reads the document into a map or a list of its parts; false for anything else.
func (d *document) decode(parts any) bool {
	err := jsonv2.Unmarshal(d.raw, parts, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
		jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(func(dec *jsontext.Decoder, part *document) error {
			raw, err := dec.ReadValue()
			part.raw, part.problem = bytes.Clone(raw), d.problem
			return err
		})))
	return err == nil
}

// elements of a list, without those that are null; false for anything but a list.
func (d *document) elements() (list []*document, ok bool) {
	ok = d.decode(&list)
	return slices.DeleteFunc(list, func(e *document) bool { return e == nil }), ok
}

// object is the members of an object, which may stand as JSON in a text; none for anything else.
func (d *document) object() map[string]*document {
	if d != nil && d.members == nil {
		if opened := (&document{raw: hook.Unquoted(d.raw), problem: d.problem}); !opened.decode(&d.members) {
			d.members = map[string]*document{}
		}
	}
	if d == nil {
		return nil
	}
	return d.members
}

// at is the value at a path of members joined by dots, nil if it is absent or null. A name may hold dots. The empty path is
// the value itself.
func (d *document) at(path string) *document {
	if path == "" || path == "." {
		return d
	}
	v, known := d.object()[path]
	if name, rest, nested := strings.Cut(path, "."); !known && nested && d.object()[name] != nil {
		v = d.members[name].at(rest)
	}
	if v == nil || string(v.raw) == "null" {
		return nil
	}
	return v
}

// text is the first of some texts, named by paths between spaces, that is there and not empty.
func (d *document) text(names string) string {
	for name := range strings.FieldsSeq(names) {
		v := d.at(name)
		if v == nil {
			continue
		}
		if v.raw[0] != '"' {
			v.wrong(name, new(string))
		} else if text := v.word(name); text != "" {
			return text
		}
	}
	return ""
}

// word is a text, or a number or truth value as one.
func (d *document) word(field string) string {
	switch d.raw[0] {
	case '{', '[':
		d.wrong(field, new(string))
	case '"':
		text, _ := jsontext.AppendUnquote(nil, d.raw) // it is JSON, or empty
		return string(text)
	}
	return string(d.raw)
}

// words of a list.
func (d *document) words(name string) (all []string) {
	elements, _ := d.list(name)
	for _, e := range elements {
		all = append(all, e.word(name))
	}
	return all
}

// table is the words of some objects by their names, nil for none; of two of one name the later counts.
func (d *document) table(names string) (all map[string]string) {
	for field := range strings.FieldsSeq(names) {
		v := d.at(field)
		if v != nil {
			v.wrong(field, new(map[string]json.RawMessage))
		}
		for name, e := range v.object() {
			if all == nil {
				all = map[string]string{}
			}
			if e != nil {
				all[name] = e.word(field)
			}
		}
	}
	return all
}

// value is the first of some values that is there.
func (d *document) value(names string) json.RawMessage {
	for name := range strings.FieldsSeq(names) {
		if v := d.at(name); v != nil {
			return v.raw
		}
	}
	return nil
}

// list is the elements of a list; not ok if the field is absent.
func (d *document) list(name string) (elements []*document, ok bool) {
	v := d.at(name)
	if name == "" || v == nil {
		return nil, false
	}
	elements, isList := v.elements()
	if !isList {
		v.wrong(name, new([]json.RawMessage))
	}
	return elements, true
}

// wrong notes the first field of another type than is wanted.
func (d *document) wrong(field string, wanted any) {
	if err := codec.UnmarshalForeign(d.raw, wanted); err != nil && *d.problem == nil {
		*d.problem = fmt.Errorf("field %q: %w", field, err)
	}
}

// blocks of a message; a text alone is one block.
func (d *document) blocks(names string) (blocks []*document, err error) {
	content := d.value(names)
	if len(content) == 0 {
		return nil, nil
	}
	if content[0] == '"' {
		text := encode(map[string]json.RawMessage{"type": json.RawMessage(`"text"`), "text": content})
		return []*document{{raw: text, problem: d.problem}}, nil
	}
	blocks, ok := (&document{raw: content, problem: d.problem}).elements()
	if !ok {
		return nil, codec.UnmarshalForeign(content, &[]json.RawMessage{})
	}
	return blocks, nil
}

// prose joins the texts of a message, but for those that a host put beside what the user wrote.
func (d *document) prose(names string) (string, error) {
	blocks, err := d.blocks(names)
	var all []string
	for _, b := range blocks {
		if text := b.text("text"); text != "" && !strings.HasPrefix(text, "<system-reminder>") && !holds(b, "synthetic=true") {
			all = append(all, text)
		}
	}
	return strings.TrimSpace(strings.Join(all, "\n")), err
}
