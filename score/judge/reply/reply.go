// Package reply reads JSON out of what language models say. It is pure.
//
//	"Sure! ```json\n{"score": "4",}\n``` Hope that helps."  ─▶  {"score":4}
//
// Models wrap JSON in prose and fences, write strings for numbers, leave commas behind and comments in
// between. All of that is read; what is missing, repeated or out of range is not mended.
package reply

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// maxReads bounds how often a text is read over, in the mean: a brace that begins no object costs the way to
// where that shows, and a text of such braces alone would cost the square of its length. Where it is used up,
// in what no model says, what comes after is not looked at.
const maxReads = 128

// maxNested is how deep a reply may nest.
const maxNested = 64

// Objects returns the outermost JSON objects of a text, in order, compacted. An object with a repeated
// name is none: two readers would read two things.
func Objects(text string) []json.RawMessage {
	var objects []json.RawMessage
	for left := maxReads * len(text); left > 0; {
		begin := strings.IndexByte(text, '{')
		if begin < 0 {
			break
		}
		text = text[begin:]
		object, length, read := objectAt(text)
		left -= read
		if object != nil {
			objects = append(objects, object)
		}
		text = text[length:]
	}
	return objects
}

// objectAt reads the object that text begins with, and says how many bytes to go on after, past the object, or
// past the brace if it begins none, and how many were read.
func objectAt(text string) (object json.RawMessage, length, read int) {
	end, read := closing(text)
	if end == 0 {
		return nil, 1, read
	}
	read *= 3 // it is read as it is, and mended
	mended, _ := Mend(text[:end])
	for _, form := range []string{text[:end], mended} {
		object := jsontext.Value(form)
		err := object.Compact(jsontext.AllowDuplicateNames(false))
		switch {
		case err == nil:
			return json.RawMessage(object), end, read
		case errors.Is(err, jsontext.ErrDuplicateName):
			return nil, end, read // and its inner objects are not it
		}
	}
	return nil, 1, read
}

// closing is the length of text up to the brace that closes the first one, 0 if none does, and how much was
// read to know that.
func closing(text string) (end, read int) {
	depth, i := 0, 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			if depth++; depth > maxNested {
				return 0, i
			}
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, i + 1
			}
		case '"':
			n := quoted(text[i:])
			if n == 0 {
				return 0, len(text)
			}
			i += n - 1
		case '/':
			i += max(comment(text[i:])-1, 0)
		}
	}
	return 0, i
}

// quoted is the length of the string that text begins with, 0 if it does not end.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// comment is the length of the comment that text begins with, 0 if it begins with none.
func comment(text string) int {
	switch {
	case strings.HasPrefix(text, "//"):
		if n := strings.IndexByte(text, '\n'); n >= 0 {
			return n
		}
		return len(text)
	case strings.HasPrefix(text, "/*"):
		if n := strings.Index(text, "*/"); n >= 0 {
			return n + 2
		}
	}
	return 0
}

// A Repair is one thing that [Mend] replaced.
type Repair struct {
	At   int // byte offset
	What string
}

// Mend replaces what language models add to JSON by spaces, so that offsets stay what they are: comments, commas before
// a closing bracket, invisible characters outside of strings, and control characters such as line breaks inside of
// them. The repairs are in the order of the text.
func Mend(text string) (string, []Repair) {
	out := []byte(text)
	var repairs []Repair
	blank := func(from, n int, what string) {
		for i := range n {
			if out[from+i] != '\n' || what == "line breaks inside a text" {
				out[from+i] = ' '
			}
		}
		repairs = append(repairs, Repair{from, what})
	}
	comma := -1 // offset of a comma that nothing followed so far
	for i := 0; i < len(text); {
		c, n := rune(text[i]), 1
		if c >= utf8.RuneSelf {
			c, n = utf8.DecodeRuneInString(text[i:])
		}
		switch {
		case c == ' ', c == '\t', c == '\r', c == '\n':
		case c == '"':
			n = max(quoted(text[i:]), 1)
			for j := i; j < i+n; j++ {
				if text[j] < ' ' {
					blank(j, 1, "line breaks inside a text")
				}
			}
			comma = -1
		case c == '/' && comment(text[i:]) > 0:
			n = comment(text[i:])
			blank(i, n, "comments")
		case strings.ContainsRune("\ufeff\u00a0\u200b\u2028\u2029", c):
			blank(i, n, "invisible characters")
		case c == ',':
			comma = i
		default:
			if (c == '}' || c == ']') && comma >= 0 {
				blank(comma, 1, "a comma too many")
			}
			comma = -1
		}
		i += n
	}
	return string(out), repairs
}

// ErrNoObject is a text without any JSON object.
var ErrNoObject = errors.New("the reply has no JSON object")

// A form is a schema that replies are compared with.
type form struct {
	schema   jsonschema.Schema
	resolved *jsonschema.Resolved
}

func newForm(schema json.RawMessage) (*form, error) {
	var f form
	if err := json.Unmarshal(schema, &f.schema); err != nil {
		return nil, fmt.Errorf("schema of the answer: %w", err)
	}
	var err error
	if f.resolved, err = f.schema.Resolve(nil); err != nil {
		return nil, fmt.Errorf("schema of the answer: %w", err)
	}
	return &f, nil
}

// Read returns the last object of text that satisfies the schema, with numbers written as strings turned
// into numbers where the schema wants them. The last, because models think aloud and may quote the text
// that they judge before they answer. Without any, the error says what is wrong with the last object.
//
// Where accept is given, an object that satisfies that schema counts too, also if its members differ in case or
// word separators from those of the schema, if a score stands without the object around it, or if the members
// stand in an envelope such as {"scores": {…}}, whose other members are kept beside them.
func Read(text string, schema, accept json.RawMessage) (json.RawMessage, error) {
	exact, err := newForm(schema)
	if err != nil {
		return nil, err
	}
	var loose *form
	if accept != nil {
		if loose, err = newForm(accept); err != nil {
			return nil, err
		}
	}
	objects := Objects(text)
	if len(objects) == 0 {
		return nil, ErrNoObject
	}
	var last error
	for _, object := range slices.Backward(objects) {
		fitting, err := exact.fit(object, false)
		if err == nil {
			return fitting, nil
		}
		if loose != nil {
			for _, o := range append([]json.RawMessage{object}, opened(object)...) {
				if fitting, err := loose.fit(o, true); err == nil {
					return fitting, nil
				}
			}
		}
		if last == nil {
			last = err
		}
	}
	return nil, last
}

// opened returns the object once for each member that is an object, with the members of that one beside its own.
func opened(object json.RawMessage) []json.RawMessage {
	var outer map[string]json.RawMessage
	if json.Unmarshal(object, &outer) != nil {
		return nil
	}
	var all []json.RawMessage
	for _, name := range slices.Sorted(maps.Keys(outer)) {
		var inner map[string]json.RawMessage
		if json.Unmarshal(outer[name], &inner) != nil || len(inner) == 0 {
			continue
		}
		merged := maps.Clone(outer)
		delete(merged, name)
		maps.Copy(merged, inner)
		if text, err := json.Marshal(merged); err == nil {
			all = append(all, text)
		}
	}
	return all
}

func (f *form) fit(object json.RawMessage, loose bool) (json.RawMessage, error) {
	var value any
	dec := json.NewDecoder(bytes.NewReader(object))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return nil, fmt.Errorf("the reply's JSON: %w", err)
	}
	fitting, err := json.Marshal(numbers(value, &f.schema, loose))
	if err != nil {
		return nil, fmt.Errorf("the reply's JSON: %w", err)
	}
	var plain any
	if err := json.Unmarshal(fitting, &plain); err != nil {
		return nil, fmt.Errorf("the reply's JSON: %w", err)
	}
	if err := f.resolved.Validate(plain); err != nil {
		return nil, fmt.Errorf("the reply does not fit: %w", err)
	}
	return fitting, nil
}

// numbers turns strings into numbers where the schema wants numbers. If loose, it also gives members the names
// that the schema has, and puts a score that stands alone into an object.
func numbers(value any, s *jsonschema.Schema, loose bool) any {
	if s == nil {
		return value
	}
	if _, isObject := value.(map[string]any); loose && !isObject && value != nil && s.Properties["score"] != nil {
		value = map[string]any{"score": value}
	}
	switch v := value.(type) {
	case map[string]any:
		if loose {
			rename(v, s)
		}
		for name, member := range v {
			of := s.Properties[name]
			if of == nil {
				of = s.AdditionalProperties
			}
			v[name] = numbers(member, of, loose)
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i], s.Items, loose)
		}
	case string:
		if wants := append(s.Types, s.Type); slices.Contains(wants, "number") || slices.Contains(wants, "integer") {
			text := strings.TrimSpace(v)
			if n := jsontext.Value(text); n.Kind() == '0' && n.IsValid() {
				return json.Number(text)
			}
		}
	}
	return value
}

// rename gives members the names of the schema that they differ from in case and word separators only. Of two
// that mean the same, neither is renamed, and the name stays missing.
func rename(object map[string]any, s *jsonschema.Schema) {
	meant := map[string][]string{}
	for name := range object {
		meant[Fold(name)] = append(meant[Fold(name)], name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		names := meant[Fold(name)]
		switch {
		case len(names) > 1:
			delete(object, name)
		case len(names) == 1 && names[0] != name:
			object[name] = object[names[0]]
			delete(object, names[0])
		}
	}
}

// Fold returns a name in lower case without word separators.
func Fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// refusals begin the ways in which models say no. They count only in a reply without a fitting object.
var refusals = []string{"i can't", "i cannot", "i can not", "i won't", "i will not", "i'm unable", "i am unable", "i'm not able",
	"i am not able", "i'm sorry", "i am sorry", "i must decline", "i have to decline", "i decline", "sorry, but"}

// IsRefusal reports whether a reply without JSON says no in its first sentences.
func IsRefusal(text string) bool {
	head := strings.ToLower(strings.ReplaceAll(text, "’", "'"))
	if len(head) > 300 {
		head = head[:300]
	}
	return slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(head, r) })
}
