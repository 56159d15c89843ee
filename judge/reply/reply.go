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
	"slices"
	"strings"

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
	for _, form := range []string{text[:end], relax(text[:end])} {
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

// relax leaves out comments, and commas before a closing bracket.
func relax(text string) string {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			n := max(quoted(text[i:]), 1)
			out = append(out, text[i:i+n]...)
			i += n - 1
		case c == '/' && comment(text[i:]) > 0:
			i += comment(text[i:]) - 1
		case c == '}' || c == ']':
			if trimmed := bytes.TrimRight(out, " \t\r\n"); bytes.HasSuffix(trimmed, []byte(",")) {
				out = trimmed[:len(trimmed)-1]
			}
			out = append(out, c)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// ErrNoObject is a text without any JSON object.
var ErrNoObject = errors.New("the reply has no JSON object")

// Read returns the last object of text that satisfies the schema, with numbers written as strings turned
// into numbers where the schema wants them. The last, because models think aloud and may quote the text
// that they judge before they answer. Without any, the error says what is wrong with the last object.
func Read(text string, schema json.RawMessage) (json.RawMessage, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("schema of the answer: %w", err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("schema of the answer: %w", err)
	}
	objects := Objects(text)
	if len(objects) == 0 {
		return nil, ErrNoObject
	}
	var last error
	for _, object := range slices.Backward(objects) {
		fitting, err := fit(object, &s, resolved)
		if err == nil {
			return fitting, nil
		}
		if last == nil {
			last = err
		}
	}
	return nil, last
}

func fit(object json.RawMessage, s *jsonschema.Schema, resolved *jsonschema.Resolved) (json.RawMessage, error) {
	var value any
	dec := json.NewDecoder(bytes.NewReader(object))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return nil, fmt.Errorf("the reply's JSON: %w", err)
	}
	fitting, err := json.Marshal(numbers(value, s))
	if err != nil {
		return nil, fmt.Errorf("the reply's JSON: %w", err)
	}
	var plain any
	if err := json.Unmarshal(fitting, &plain); err != nil {
		return nil, fmt.Errorf("the reply's JSON: %w", err)
	}
	if err := resolved.Validate(plain); err != nil {
		return nil, fmt.Errorf("the reply does not fit: %w", err)
	}
	return fitting, nil
}

// numbers turns strings into numbers where the schema wants numbers.
func numbers(value any, s *jsonschema.Schema) any {
	if s == nil {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			of := s.Properties[name]
			if of == nil {
				of = s.AdditionalProperties
			}
			v[name] = numbers(member, of)
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i], s.Items)
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
