package score

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
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
		mended, closed, _ := mend(text, false)
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

// token returns the length of the string or comment that text begins with, 1 for any other byte, also for a string or
// comment without an end.
func token(text string) int {
	switch {
	case text[0] == '"':
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
	case strings.HasPrefix(text, "//"):
		line, _, _ := strings.Cut(text, "\n")
		return len(line)
	case strings.HasPrefix(text, "/*"):
		if n := strings.Index(text, "*/"); n > 1 {
			return n + 2
		}
	}
	return 1
}

// A Repair is one replacement by [Mend].
type Repair struct {
	At   int // byte offset
	What string
}

// Mend replaces additions to JSON by spaces, so that offsets stay: comments, commas before a closing bracket, invisible
// characters outside of strings, and control characters such as line breaks in strings. Repairs are in the order found.
func Mend(text string) (string, []Repair) {
	mended, _, repairs := mend(text, true)
	return mended, repairs
}

// mend mends the whole text, or what it has up to the bracket that closes the first one. closed is false if there is none.
func mend(text string, whole bool) (mended string, closed bool, repairs []Repair) {
	var out []byte
	blank := func(from, n int, what string) {
		for i := from; i < from+n; i++ {
			if out[i] != '\n' || what == "line breaks inside a text" {
				out[i] = ' '
			}
		}
		repairs = append(repairs, Repair{from, what})
	}
	comma, depth := -1, 0 // offset of a comma without a value after it
	for i := 0; i < len(text) && (whole || !closed); i = len(out) {
		c, width := utf8.DecodeRuneInString(text[i:])
		n := max(token(text[i:]), width)
		out = append(out, text[i:i+n]...)
		switch {
		case strings.ContainsRune(" \t\r\n", c):
		case c == '"':
			for j := i; j < i+n; j++ {
				if text[j] < ' ' {
					blank(j, 1, "line breaks inside a text")
				}
			}
			comma = -1
		case c == '/' && n > 1:
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
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			closed = depth == 0
		}
		if !whole && (depth > maxNested || c == '"' && n == 1) { // a string without an end
			break
		}
	}
	return string(out), closed, repairs
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

// refusals begin the ways in which models decline. They count only in a reply without a JSON object that fits.
var refusals = []string{"i can't", "i cannot", "i can not", "i won't", "i will not", "i'm unable", "i am unable", "i'm not able",
	"i am not able", "i'm sorry", "i am sorry", "i must decline", "i have to decline", "i decline", "sorry, but"}

// isRefusal reports whether a reply declines in its first 300 bytes.
func isRefusal(text string) bool {
	head := Cut(strings.ToLower(strings.ReplaceAll(text, "’", "'")), 300)
	return slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(head, r) })
}

// Cut shortens a text to at most n bytes of valid UTF-8.
func Cut(text string, n int) string { return strings.ToValidUTF8(text[:min(len(text), n)], "") }
