package score

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
)

// Language models wrap JSON in prose and fences, and leave commas, comments and line breaks in it. This file accepts
// all of that:
//
//	"Sure! ```json\n{"score": 4,}\n``` Hope that helps."  ─▶  {"score":4}
//
// Missing, repeated and impossible values are not repaired.

// maxReads bounds the work on one text: Objects reads at most maxReads·len(text) bytes. A brace that begins no object
// costs all bytes up to the point where parsing fails, so without a bound a text of braces would take quadratic time.
const maxReads = 128

// maxNested is the maximum depth of a reply.
const maxNested = 64

// Objects returns the outermost JSON objects of a text in order, compacted. An object with a repeated name is skipped
// with everything in it.
func Objects(text string) []json.RawMessage {
	var objects []json.RawMessage
	for left := maxReads * len(text); left > 0; {
		begin := strings.IndexByte(text, '{')
		if begin < 0 {
			break
		}
		text = text[begin:]
		mended, closed := Mend(text)
		left -= 2 * len(mended) // read by Mend and by Compact
		end := 1                // an inner object may be valid
		if closed {
			object := jsontext.Value(mended)
			err := object.Compact(jsontext.AllowDuplicateNames(false))
			if err == nil {
				objects = append(objects, json.RawMessage(object))
			}
			if err == nil || errors.Is(err, jsontext.ErrDuplicateName) {
				end = len(mended)
			}
		}
		text = text[end:]
	}
	return objects
}

// Mend returns the object that a text begins with, up to the bracket that closes it. It replaces additions to JSON by
// spaces, so that offsets stay: comments, commas before a closing bracket, and control characters such as line breaks
// in strings. closed is false if no bracket closes the object.
func Mend(text string) (mended string, closed bool) {
	var controls []int // in strings
	depth, i := 0, 0
	for ; i < len(text) && depth <= maxNested && !closed; i++ {
		switch rest := text[i:]; {
		case rest[0] == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				} else if text[i] < ' ' {
					controls = append(controls, i)
				}
			}
		case strings.HasPrefix(rest, "//"):
			line, _, _ := strings.Cut(rest, "\n")
			i += len(line) - 1
		case strings.HasPrefix(rest, "/*"):
			i += max(0, strings.Index(rest, "*/")+1)
		case rest[0] == '{' || rest[0] == '[':
			depth++
		case rest[0] == '}' || rest[0] == ']':
			depth--
			closed = depth == 0
		}
	}
	out := []byte(text[:min(i, len(text))])
	for _, c := range controls {
		out[c] = ' '
	}
	if standard, err := hujson.Standardize(out); closed && err == nil {
		out = standard
	}
	return string(out), closed
}

// read returns the last object of text that the question accepts. It starts from the end, because models reason aloud
// and may quote the judged text before they answer. If no object is accepted, the error is that of the last object.
func (q Question) read(text string) (json.RawMessage, error) {
	var first error
	for _, object := range slices.Backward(Objects(text)) {
		err := q.Accept(object)
		if err == nil {
			return object, nil
		}
		first = cmp.Or(first, fmt.Errorf("the reply does not fit: %w", err))
	}
	return nil, cmp.Or(first, errors.New("the reply has no JSON object"))
}

type object = map[string]any

// decodeObject decodes an object without rounding its numbers.
func decodeObject(text json.RawMessage) (object map[string]any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err = dec.Decode(&object)
	return object, err
}

// envelopes returns the object itself, then for each object in it a copy of the whole with that member replaced by its
// own members, because models wrap the requested members in another object.
func envelopes(o object) []object {
	all := []object{o}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if inner, ok := o[name].(object); ok {
			opened := maps.Clone(o)
			delete(opened, name)
			maps.Copy(opened, inner)
			all = append(all, opened)
		}
	}
	return all
}

var errNoScore = errors.New("the score is missing")

// Member returns the member of an object whose name is equal if case and word separators are ignored. It is an error if
// there is no such member, or more than one.
func Member(o object, name string) (any, error) {
	var found []any
	for given, v := range o {
		if fold(given) == fold(name) {
			found = append(found, v)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%s: %w", name, errNoScore)
	}
	return found[0], nil
}

// readScore reads a score in the forms that models write: 8, "8", "8.5", "8/10" on a scale up to 10, or an object with
// a score and an explanation. It rounds to four decimal places and returns nil for null.
func readScore(v any, scale Scale) (d *Decimal, why string, err error) {
	if o, ok := v.(object); ok {
		explanation, _ := Member(o, "explanation")
		why, _ = explanation.(string)
		v, err = Member(o, "score")
	}
	if v == nil || err != nil {
		return nil, why, err
	}
	text := strings.TrimSpace(fmt.Sprint(v))
	if score, of, ok := strings.Cut(text, "/"); ok && strings.TrimSpace(of) == scale.Max.String() {
		text = strings.TrimSpace(score)
	}
	if !isDecimal(text) {
		return nil, "", fmt.Errorf("%s is not a decimal number", quoted(text))
	}
	x, _ := new(big.Rat).SetString(text)
	d = new(Round(x, places))
	if !scale.OnScale(*d) {
		return nil, "", fmt.Errorf("%v is off the scale of %v", d, scale)
	}
	return d, why, nil
}

// fold returns a name in lower case without word separators: connectionValidity, connection_validity and
// "Connection Validity" are equal.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// Cut shortens a text to at most n bytes of valid UTF-8.
func Cut(text string, n int) string { return strings.ToValidUTF8(text[:min(len(text), n)], "") }
