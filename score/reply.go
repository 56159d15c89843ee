package score

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
)

// Language models wrap JSON in prose and fences, and leave commas, comments and line breaks in it. All of that is read:
//
//	"Sure! ```json\n{"score": 4,}\n``` Hope that helps."  ─▶  {"score":4}
//
// Missing, repeated and impossible values are not repaired.

// maxReads bounds the work on one text: Objects reads at most maxReads·len(text) bytes. A brace that begins no object
// costs the bytes up to where that shows, and without a bound a text of braces would cost the square of its length.
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
		left -= 2 * len(mended) // parsed, too
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

// Mend returns the object that a text begins with, up to the bracket that closes it. Additions to JSON become spaces, so
// that offsets stay: comments, commas before a closing bracket, and control characters such as line breaks in strings.
// closed is false if no bracket closes it.
func Mend(text string) (mended string, closed bool) {
	var out []byte
	depth, quoted := 0, false
	for i := 0; i < len(text) && depth <= maxNested; i = len(out) {
		n := 1
		switch c := text[i]; {
		case quoted && c == '\\':
			n = min(2, len(text)-i)
		case c == '"':
			quoted = !quoted
		case quoted:
			if c < ' ' {
				out = append(out, ' ')
				continue
			}
		case strings.HasPrefix(text[i:], "//"):
			line, _, _ := strings.Cut(text[i:], "\n")
			n = len(line)
		case strings.HasPrefix(text[i:], "/*"):
			n = max(1, strings.Index(text[i:], "*/")+2)
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
			closed = depth == 0
		}
		if out = append(out, text[i:i+n]...); closed {
			if standard, err := hujson.Standardize(out); err == nil {
				out = standard
			}
			break
		}
	}
	return string(out), closed
}

// read returns the last object of text that the question accepts. The last one, because models think aloud and may
// quote the text that they judge before they answer. If there is none, the error is that of the last object.
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

// decodeObject decodes an object without rounding its numbers.
func decodeObject(text json.RawMessage) (object map[string]any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err = dec.Decode(&object)
	return object, err
}

// Fold returns a name in lower case without word separators: connectionValidity, connection_validity and
// "Connection Validity" are equal.
func Fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// Cut shortens a text to at most n bytes of valid UTF-8.
func Cut(text string, n int) string { return strings.ToValidUTF8(text[:min(len(text), n)], "") }
