package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
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

// rule maps a record to a call or to the result of a call.
type rule struct {
	when                        string // conditions
	id, tool, server, arguments string
	joined                      string // separator between server and tool, if both are in the tool name
	at                          string // path of the time; "": the time of the record
	result                      *outcome
}

// apply applies the matching rules to a record as calls and results of the thread, and reports whether any rule
// matches.
func (th *thread) apply(rules []rule, f *document, c call) (applies bool) {
	for _, r := range rules {
		if !holds(f, r.when) {
			continue
		}
		applies = true
		c.id, c.name, c.server = cmp.Or(f.text(r.id), c.id), f.text(r.tool), f.text(r.server)
		if server, tool, ok := strings.Cut(c.name, r.joined); ok && r.joined != "" {
			c.server, c.name = server, tool
		}
		if r.at != "" {
			c.at = moment(f, r.at)
		}
		if r.result != nil {
			res := r.result.read(f)
			res.at, res.tool = c.at, c.named()
			th.settle(numbered(c.id, &th.answered), res)
		} else if c.arguments = f.value(r.arguments); c.name != "" {
			c.id = numbered(c.id, &th.asked)
			th.call(c)
		}
	}
	return applies
}

// numbered returns an id, or the one that stands for the next call, or the next result, without an id.
func numbered(id string, n *int) string {
	if id == "" {
		*n++
		id = "#" + strconv.Itoa(*n)
	}
	return id
}

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

// document is a JSON value whose members are decoded on first access. A field with a value of another type than the
// one that is asked for counts as absent.
type document struct {
	raw     json.RawMessage
	members map[string]*document
	file    string // in which references are relative
}

// newDocument reads a line that holds an object, or a list.
func newDocument(l line) (*document, error) {
	d := &document{raw: l.data}
	if l.problem == nil && bytes.HasPrefix(l.data, []byte("[")) && jsontext.Value(l.data).IsValid(lenient) {
		return d, nil // its elements may be damaged
	}
	if l.problem == nil && codec.CheckFile(l.data) == nil && d.decode(&d.members) {
		return d, nil
	}
	return nil, l.decode(&map[string]jsontext.Value{})
}

var lenient = jsontext.AllowDuplicateNames(true)

// decode decodes the document into a map or a list of its parts; it returns false for any other value.
func (d *document) decode(parts any) bool {
	err := jsonv2.Unmarshal(d.raw, parts, lenient, jsontext.AllowInvalidUTF8(true),
		jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(func(dec *jsontext.Decoder, part *document) error {
			raw, err := dec.ReadValue()
			part.raw, part.file = bytes.Clone(raw), d.file
			return err
		})))
	return err == nil
}

// elements returns the elements of a list without nulls; false for any other value.
func (d *document) elements() (list []*document, ok bool) {
	if d == nil || len(d.raw) == 0 || d.raw[0] != '[' {
		return nil, false
	}
	ok = d.decode(&list)
	return slices.DeleteFunc(list, func(e *document) bool { return e == nil }), ok
}

// object returns the members of an object, which may also be JSON in a string; none for any other value.
func (d *document) object() map[string]*document {
	if d == nil {
		return nil
	}
	if d.members == nil {
		if opened := (&document{raw: hook.Unquoted(d.raw), file: d.file}); !opened.decode(&d.members) {
			d.members = map[string]*document{}
		}
	}
	return d.members
}

// names returns the names of the members, sorted.
func (d *document) names() []string { return slices.Sorted(maps.Keys(d.object())) }

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
		if v := d.at(name); v != nil && v.raw[0] == '"' && len(v.raw) > 2 {
			text, _ := jsontext.AppendUnquote(nil, v.raw) // the value is valid JSON
			return string(text)
		}
	}
	return ""
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

// blocks returns the content blocks of a message: the elements of a list, or the value itself. A bare string is one
// text block.
func (d *document) blocks(names string) []*document {
	content := &document{raw: d.value(names)}
	list, ok := content.elements()
	switch {
	case ok:
		return list
	case len(content.raw) > 0 && content.raw[0] == '"':
		return []*document{{members: map[string]*document{"type": {raw: json.RawMessage(`"text"`)}, "text": content}}}
	case len(content.raw) > 0:
		return []*document{content}
	}
	return nil
}

// prose joins the texts of a message without those that the host added to the user's text.
func (d *document) prose(names string) string {
	var all []string
	for _, b := range d.blocks(names) {
		text := b.text("text")
		if text == "" && holds(b, "type=text") {
			text = b.text("content")
		}
		if text != "" && !strings.HasPrefix(text, "<system-reminder>") && !holds(b, "synthetic=true") {
			all = append(all, text)
		}
	}
	return strings.TrimSpace(strings.Join(all, "\n"))
}
