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

// holds reports whether a record meets one of the conditions, which semicolons separate. A condition is a list of words
// that must all be true. "name" requires a value. "name=x|y*|*z" requires the text or literal x in any case, a text
// that begins with y, or one that contains z. "!" negates a word. "." is always true.
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

// matches reports whether a text matches one of the alternatives.
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

// outcome defines how the result of a call is read from a record.
type outcome struct {
	failed, worked string // conditions; failed is checked first, and if neither holds the outcome is unknown
	void           string // conditions under which the call did not happen
	says           bool   // the value may itself state that the call failed
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

// message returns the text of a value, or the value as JSON if it contains no text.
func message(v json.RawMessage) string { return cmp.Or(hook.Text(v), string(v)) }

// rule maps records of some kinds to a call or to the result of a call.
type rule struct {
	kinds                       string // alternatives; "": all kinds
	when                        string // conditions; "": always
	id, tool, server, arguments string
	joined                      string // separator between server and tool, if both are in the tool name
	fixed                       string // name of the tool, if no field contains it
	at                          string // path of the time; "": the time of the record
	result                      *outcome
}

// apply applies the matching rules to a record as calls and results of the thread, and reports whether any rule
// matches.
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
			if c.id == "" { // the result belongs to the next open call without an id
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

// nameless returns the id that stands for the n-th call without an id.
func nameless(n int) string { return "#" + strconv.Itoa(n) }

// answered returns the outcome of a tool message, whose content may state that the call failed.
func answered(content string) *outcome {
	return &outcome{failed: "is_error=true; status=error", worked: "is_error=false; status=success", says: true,
		failure: content, value: content}
}

// named returns the id of the tool that a result names, "" if it names none or names a wrapper.
func (c call) named() string {
	if id, _ := hook.Unwrap(catalog.ID(c.server, c.name), nil); c.name != "" && !hook.IsWrapper(id) {
		return id
	}
	return ""
}

// moment reads a time: a text, or a number of seconds, milliseconds, microseconds or nanoseconds since 1970. It returns
// the zero time if the value cannot be read.
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

// document is a JSON value whose members are decoded on first access.
type document struct {
	raw     json.RawMessage
	members map[string]*document
	problem *error // error about the first field with a wrong type; shared by all parts
}

func newDocument(l line) (*document, error) {
	d := &document{raw: l.data, problem: new(error)}
	if l.problem != "" || codec.CheckFile(l.data) != nil || !d.decode(&d.members) {
		var object map[string]json.RawMessage
		return nil, cmp.Or(l.decode(&object), errors.New("is not a JSON object"))
	}
	return d, nil
}

// decode decodes the document into a map or a list of its parts; it returns false for any other value.
func (d *document) decode(parts any) bool {
	err := jsonv2.Unmarshal(d.raw, parts, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
		jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(func(dec *jsontext.Decoder, part *document) error {
			raw, err := dec.ReadValue()
			part.raw, part.problem = bytes.Clone(raw), d.problem
			return err
		})))
	return err == nil
}

// elements returns the elements of a list without nulls; false for any other value.
func (d *document) elements() (list []*document, ok bool) {
	ok = d.decode(&list)
	return slices.DeleteFunc(list, func(e *document) bool { return e == nil }), ok
}

// object returns the members of an object, which may also be JSON in a string; none for any other value.
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

// at returns the value at a path of members joined by dots, nil if it is absent or null. A member name may itself
// contain dots. The empty path is the value itself.
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

// text returns the first non-empty string among the given paths, which spaces separate.
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

// word returns a string, or a number or boolean as a string.
func (d *document) word(field string) string {
	switch d.raw[0] {
	case '{', '[':
		d.wrong(field, new(string))
	case '"':
		text, _ := jsontext.AppendUnquote(nil, d.raw) // the value is valid JSON, or empty
		return string(text)
	}
	return string(d.raw)
}

// words returns the elements of a list as strings.
func (d *document) words(name string) (all []string) {
	elements, _ := d.list(name)
	for _, e := range elements {
		all = append(all, e.word(name))
	}
	return all
}

// table merges the given objects into one map of strings; nil if there are none. The last of equal names is used.
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

// value returns the first value that is present among the given paths.
func (d *document) value(names string) json.RawMessage {
	for name := range strings.FieldsSeq(names) {
		if v := d.at(name); v != nil {
			return v.raw
		}
	}
	return nil
}

// list returns the elements of a list; ok is false if the field is absent.
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

// wrong records an error if the field does not have the wanted type, unless one is recorded already.
func (d *document) wrong(field string, wanted any) {
	if err := codec.UnmarshalForeign(d.raw, wanted); err != nil && *d.problem == nil {
		*d.problem = fmt.Errorf("field %q: %w", field, err)
	}
}

// blocks returns the content blocks of a message; a bare string is one text block.
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

// prose joins the texts of a message without those that the host added to the user's text.
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
