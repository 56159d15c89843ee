package contribution

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waymark/score"
)

// Limits of one message, in bytes and deltas.
const maxText, maxDeltas = 256 << 10, 1000

// A Dropped is a part of the message that seems to be meant as a delta and cannot be read as one.
type Dropped struct {
	Line    int    `json:"line"`
	Reason  string `json:"reason"`
	Excerpt string `json:"excerpt"`
	// rejected: it is in a delta block, so the gate for invalid JSON fails.
	rejected bool
}

// A block is a fenced part of a message, or the prose between two of them.
type block struct {
	line int // of the first line of the body
	body string

	delta, json, closed bool
}

// blocks splits a message. A fenced block ends at a line of at least as many of the same signs and nothing else, so
// that a longer fence can quote a shorter one. A fence of the same length that opens a delta ends it, too: the closing
// one was forgotten.
func blocks(message string) (found []block) {
	cur, mark := block{line: 1}, "" // the signs of the open fence
	start, at, line := 0, 0, 0
	for text := range strings.Lines(message) {
		begin := at
		at, line = at+len(text), line+1
		m := pattern("fence").FindStringSubmatch(text)
		if m == nil {
			continue
		}
		signs, tags := m[1], strings.Fields(strings.ToLower(m[2]))
		delta := slices.Contains(tags, "delta")
		closes := mark != "" && len(tags) == 0 && strings.HasPrefix(signs, mark)
		opens := mark == "" && (signs[0] != ':' || delta) || delta && signs == mark
		if !closes && !opens {
			continue
		}
		cur.body, cur.closed = message[start:begin], closes
		found = append(found, cur)
		cur, start, mark = block{line: line + 1}, at, ""
		if opens {
			cur.delta, cur.json, mark = delta, slices.Contains(tags, "json"), signs
		}
	}
	cur.body = message[start:]
	return append(found, cur)
}

// read reads the JSON objects of one block up to the first one that is malformed. [score.Mend] repairs the additions of
// language models and keeps offsets, so lines and excerpts are those of the message.
func (b block) read() (deltas []Delta, dropped []Dropped) {
	drop := func(at int, reason string, rejected bool) {
		dropped = append(dropped, Dropped{b.lineAt(at), reason, excerpt(b.body[at:], 160), rejected})
	}
	if !b.delta && !b.json {
		// Prose also quotes and discusses deltas, so one outside of a block is reported and not read.
		for _, m := range pattern("lookalike").FindAllStringIndex(b.body, -1) {
			const reason = "it stands outside of a delta block; put it between ```delta and ```"
			drop(m[0], reason, false)
		}
		return nil, dropped
	}
	var common []string // notes
	if !b.delta {
		common = append(common, "the block is not tagged delta")
	}
	if !b.closed {
		common = append(common, "the block is not closed")
	}
	text, repairs := score.Mend(b.body)
	at := 0
	for {
		skip := strings.IndexByte(text[at:], '{')
		if skip < 0 {
			break
		}
		start, notes := at+skip, slices.Clone(common)
		if beside(text[at:start]) != "" {
			if len(deltas) > 0 {
				break
			}
			notes = append(notes, "repaired: text before the JSON")
		}
		object, length, fault := decode(text[start:])
		at = start + length
		if fault != "" {
			fault = fmt.Sprintf("invalid JSON: line %d: %s", b.lineAt(at), fault)
			drop(start, fault, b.delta)
			return deltas, dropped
		}
		for ; len(repairs) > 0 && repairs[0].At < at; repairs = repairs[1:] {
			if note := "repaired: " + repairs[0].What; !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
		if !b.delta && (object["operation"] == nil || object["section"] == nil) {
			continue // some other JSON
		}
		d := read(object)
		d.Line, d.Notes = b.lineAt(start), append(notes, d.Notes...)
		deltas = append(deltas, d)
	}
	rest := beside(b.body[at:])
	switch {
	case b.delta && len(deltas) == 0:
		drop(0, "the delta block has no JSON object", true)
	case b.delta && b.closed && rest != "":
		deltas[len(deltas)-1].note("text after the JSON was not read: %s", quoted(rest))
	}
	return deltas, dropped
}

// beside returns text beside objects without the brackets and separators of a list.
func beside(text string) string { return strings.Trim(text, "[],; \t\r\n") }

func (b block) lineAt(at int) int { return b.line + strings.Count(b.body[:at], "\n") }

// decode reads the object at the start of text and returns its length, or the offset of a fault and its description.
func decode(text string) (object map[string]any, length int, fault string) {
	dec := jsontext.NewDecoder(strings.NewReader(text), jsontext.AllowInvalidUTF8(true))
	err := json.UnmarshalDecode(dec, &object)
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return object, int(dec.InputOffset()), ""
	}
	fault = syntax.Err.Error()
	if syntax.Err == jsontext.ErrDuplicateName {
		fault += " " + quoted(syntax.JSONPointer.LastToken())
	}
	return nil, int(syntax.ByteOffset), fault
}
