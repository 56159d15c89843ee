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

// Limits of one message.
const (
	maxText   = 256 << 10 // bytes; more than a model says at once
	maxDeltas = 1000
	maxBroken = 16 // objects of one block, each of which costs reading the rest once more
)

// A Dropped is a part of the message that should have been a delta but could not be read as one.
type Dropped struct {
	Line    int    `json:"line"`
	Reason  string `json:"reason"`
	Excerpt string `json:"excerpt"`

	rejected bool // it stood in a delta block, so the gate for invalid JSON has failed
}

// parse reads the deltas of a message. What looks like a delta and is none is in dropped, with the reason;
// a delta that was read but breaks the format is in deltas, with its errors.
func deltasOf(message string) (deltas []Delta, dropped []Dropped, err error) {
	deltas, dropped = []Delta{}, []Dropped{}
	for _, b := range blocks(message) {
		ds, drops := b.read()
		deltas, dropped = append(deltas, ds...), append(dropped, drops...)
		if len(deltas)+len(dropped) > maxDeltas {
			return nil, nil, score.Refuse("text", "it has more than %d deltas", maxDeltas)
		}
	}
	return deltas, dropped, nil
}

// A block is a fenced part of a message, or the prose between two of them.
type block struct {
	delta  bool // the fence says that a delta is inside
	json   bool // the fence is one whose tag delta was probably forgotten
	closed bool
	line   int // of the first line of the body, from 1
	body   string
}

// blocks splits a message. A fenced block lasts to a line of at least as many of the same signs and nothing else, so
// that a longer fence can quote a shorter one. A fence that opens a delta cannot be content of another of the same
// length: there the closing one was forgotten.
func blocks(message string) (found []block) {
	cur, start, mark := block{line: 1}, 0, "" // the signs of the open fence
	at, line := 0, 0
	for text := range strings.Lines(message) {
		line++
		begin := at
		at += len(text)
		m := pattern("fence").FindStringSubmatch(text)
		if m == nil {
			continue
		}
		signs, tag, beside := m[1], strings.ToLower(m[2]), m[3]
		delta := slices.Contains(strings.Fields(tag), "delta")
		closes := mark != "" && tag+beside == "" && strings.HasPrefix(signs, mark)
		opens := (signs[0] != ':' || delta) && (signs[0] != '`' || !strings.Contains(tag+beside, "`"))
		if closes || opens && (mark == "" || delta && signs == mark) {
			cur.body, cur.closed = message[start:begin], closes
			found = append(found, cur)
			cur, start, mark = block{line: line + 1}, at, ""
			if beside != "" {
				cur.line, start = line, begin+strings.Index(text, beside)
			}
			if !closes {
				cur.delta, mark = delta, signs
				cur.json = slices.Contains([]string{"", "json", "json5", "jsonc", "javascript", "js"}, tag)
			}
		}
	}
	cur.body = message[start:]
	return append(found, cur)
}

// read finds the deltas of one block: objects one after the other, with separators or in lists. What language models
// add to JSON is repaired and noted; since repairs keep offsets, lines and excerpts are those of the message. An object
// that is no JSON is dropped alone.
func (b block) read() (deltas []Delta, dropped []Dropped) {
	if !b.delta && !b.json {
		return nil, b.lookalikes(0, "it stands outside of a delta block; put it between ```delta and ```")
	}
	drop := func(at int, reason string) {
		dropped = append(dropped, Dropped{b.lineAt(at), reason, excerpt(b.body[at:], 160), true})
	}
	var common []string // notes
	if !b.delta {
		common = append(common, "the block is not tagged delta")
	}
	if !b.closed {
		common = append(common, "the block is not closed")
	}
	text, repairs := mendFrom(b.body, 0)
	if i := strings.IndexByte(b.body, '{'); i >= 0 && nextValue(text, 0) < 0 {
		text, repairs = mendFrom(b.body, i)
		repairs = slices.Insert(repairs, 0, score.Repair{What: "text before the JSON"})
	}
	at := 0
	for start := nextValue(text, at); start >= 0; start = nextValue(text, at) {
		v, length, fault := decode(text[start:])
		at = start + length
		if fault != "" {
			fault = fmt.Sprintf("invalid JSON: line %d: %s", b.lineAt(at), fault)
			if !b.closed {
				fault += ", in a block that is not closed"
			}
			if !b.delta {
				return deltas, b.lookalikes(start, "it stands in a block that is not tagged delta and is no JSON: "+fault)
			}
			drop(start, fault)
			// The next object may begin a line behind the fault.
			behind := min(max(at-1, start+1), len(b.body))
			next := strings.Index(b.body[behind:], "\n{")
			if next < 0 || len(dropped) > maxBroken {
				return deltas, dropped
			}
			at = behind + next + 1
			text, repairs = mendFrom(b.body, at)
			continue
		}
		notes := slices.Clone(common)
		for ; len(repairs) > 0 && repairs[0].At < at; repairs = repairs[1:] {
			if note := "repaired: " + repairs[0].What; !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, e := range list {
			object, ok := e.(map[string]any)
			switch {
			case !b.delta && (object["operation"] == nil || object["section"] == nil): // some other JSON
			case !ok:
				drop(start, "a delta is a JSON object, and this is none")
			default:
				d := read(object)
				d.Line, d.Notes = b.lineAt(start), slices.Concat(notes, d.Notes)
				deltas = append(deltas, d)
			}
		}
	}
	rest := strings.TrimSpace(strings.Trim(b.body[at:], ",;"))
	switch read := len(deltas) + len(dropped); {
	case b.delta && read == 0 && rest == "":
		drop(0, "the delta block is empty")
	case b.delta && read == 0:
		drop(0, "the delta block has no JSON object")
	case b.delta && rest != "" && b.closed && len(deltas) > 0:
		deltas[len(deltas)-1].note("text after the JSON was not read: %s", quoted(rest))
	}
	return deltas, dropped
}

func (b block) lineAt(at int) int { return b.line + strings.Count(b.body[:min(at, len(b.body))], "\n") }

// mendFrom repairs the JSON of a text from a place outside of strings on, and keeps all offsets.
func mendFrom(body string, at int) (string, []score.Repair) {
	return score.Mend(strings.Repeat(" ", at) + body[at:])
}

// nextValue is where the next object or list of a text begins, behind separators alone; -1 if there is none.
func nextValue(text string, at int) int {
	rest := strings.TrimLeft(text[at:], " \t\r\n,;")
	if rest == "" || rest[0] != '{' && rest[0] != '[' {
		return -1
	}
	return len(text) - len(rest)
}

// decode reads the value that a text begins with, and returns its length; or the place of a fault and what it is.
func decode(text string) (v any, length int, fault string) {
	dec := jsontext.NewDecoder(strings.NewReader(text), jsontext.AllowInvalidUTF8(true))
	err := json.UnmarshalDecode(dec, &v)
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil:
		return v, int(dec.InputOffset()), ""
	case !errors.As(err, &syntax):
		return nil, int(dec.InputOffset()), "a value cannot be represented"
	case errors.Is(err, jsontext.ErrDuplicateName):
		return nil, int(syntax.ByteOffset), syntax.Err.Error() + " " + quoted(syntax.JSONPointer.LastToken())
	}
	return nil, int(syntax.ByteOffset), syntax.Err.Error()
}

// lookalikes are not read as deltas, since prose also quotes and discusses them, but reported, so that nothing is lost
// silently: they are the places, from one on, where someone seems to have meant a delta.
func (b block) lookalikes(from int, reason string) (dropped []Dropped) {
	for _, m := range pattern("lookalike").FindAllStringIndex(b.body[from:], maxDeltas+1) {
		at := from + m[0]
		dropped = append(dropped, Dropped{b.lineAt(at), reason, excerpt(b.body[at:], 160), false})
	}
	return dropped
}
