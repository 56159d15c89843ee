package contribution

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waymark/score/judge/reply"
	"waymark/score/rubric"
)

// Limits of one message.
const (
	maxText   = 256 << 10 // bytes; more than a model says at once
	maxDeltas = 1000
)

// maxResumed is how often a block is read on behind an object that is broken.
const maxResumed = 16

// A Dropped is a part of the message that should have been a delta but could not be read as one.
type Dropped struct {
	Line    int    `json:"line"`
	Reason  string `json:"reason"`
	Excerpt string `json:"excerpt"`

	rejected bool // it stood in a delta block, so the gate for invalid JSON has failed
}

// Parse reads the deltas of a message. What looks like a delta and is none is in dropped, with the reason;
// a delta that was read but breaks the format is in deltas, with its errors. It fails only for a message
// beyond the limits.
func Parse(message string) (deltas []Delta, dropped []Dropped, err error) {
	if err := rubric.CheckText("text", message, maxText); err != nil {
		return nil, nil, err
	}
	deltas, dropped = []Delta{}, []Dropped{}
	for _, b := range blocks(message) {
		ds, drops := b.read()
		deltas, dropped = append(deltas, ds...), append(dropped, drops...)
		if len(deltas)+len(dropped) > maxDeltas {
			return nil, nil, rubric.Refuse("text", "it has more than %d deltas", maxDeltas)
		}
	}
	return deltas, dropped, nil
}

// A scanner reads the JSON values of a block one after the other.
type scanner struct {
	body, mended string // of equal length
	repairs      []reply.Repair
	at           int
}

func newScanner(body string, at int) *scanner {
	s := &scanner{body: body, at: at}
	s.mend()
	return s
}

// mend repairs the rest of the body. It has to begin outside of a string.
func (s *scanner) mend() {
	mended, repairs := reply.Mend(s.body[s.at:])
	for i := range repairs {
		repairs[i].At += s.at
	}
	s.mended, s.repairs = s.body[:s.at]+mended, repairs
}

// next moves to an object or list and reports whether there is one. Prose is skipped before the first one only.
func (s *scanner) next(first bool) bool {
	rest := strings.TrimLeft(s.mended[s.at:], " \t\r\n,;")
	if rest != "" && (rest[0] == '{' || rest[0] == '[') {
		s.at = len(s.mended) - len(rest)
		return true
	}
	i := strings.IndexByte(s.body[s.at:], '{')
	if !first || i < 0 {
		return false
	}
	before := s.at
	s.at += i
	s.mend()
	s.repairs = slices.Insert(s.repairs, 0, reply.Repair{At: before, What: "text before the JSON"})
	return true
}

// value reads the value at the current position and moves behind it. The notes name the repairs since the value before.
func (s *scanner) value() (v any, notes []string, fault *syntaxError) {
	dec := jsontext.NewDecoder(strings.NewReader(s.mended[s.at:]), jsontext.AllowInvalidUTF8(true))
	if err := json.UnmarshalDecode(dec, &v); err != nil {
		fault := &syntaxError{s.at + int(dec.InputOffset()), "a value cannot be represented"}
		var syntactic *jsontext.SyntacticError
		if errors.As(err, &syntactic) {
			fault = &syntaxError{s.at + int(syntactic.ByteOffset), syntactic.Err.Error()}
			if errors.Is(err, jsontext.ErrDuplicateName) {
				fault.detail += " " + quoted(syntactic.JSONPointer.LastToken())
			}
		}
		return nil, nil, fault
	}
	s.at += int(dec.InputOffset())
	for len(s.repairs) > 0 && s.repairs[0].At < s.at {
		if note := "repaired: " + s.repairs[0].What; !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
		s.repairs = s.repairs[1:]
	}
	return v, notes, nil
}

// A syntaxError is where and why JSON is invalid.
type syntaxError struct {
	at     int
	detail string
}

// resume moves behind a fault, to the next object that begins a line.
func (s *scanner) resume(fault int) bool {
	fault = min(max(fault-1, s.at+1), len(s.body))
	i := strings.Index(s.body[fault:], "\n{")
	if i < 0 {
		return false
	}
	s.at = fault + i + 1
	s.mend()
	return true
}

// read finds the deltas of one block.
func (b block) read() (deltas []Delta, dropped []Dropped) {
	if !b.delta() && !b.mayHold() {
		return nil, b.lookalikes("it stands outside of a delta block; put it between ```delta and ```")
	}
	if b.delta() && strings.TrimSpace(b.body) == "" {
		return nil, []Dropped{{b.line, "the delta block is empty", "", true}}
	}
	s := newScanner(b.body, 0)
	line, counted, resumed := b.line, 0, 0
	for first := true; s.next(first); first = false {
		start := s.at
		line += strings.Count(b.body[counted:start], "\n")
		counted = start
		v, notes, fault := s.value()
		if fault != nil {
			if !b.delta() {
				rest := block{line: line, body: b.body[start:]}
				return deltas, append(dropped, rest.lookalikes("it stands in a block that is not tagged delta and is no JSON: "+b.why(fault))...)
			}
			dropped = append(dropped, Dropped{line, b.why(fault), excerpt(b.body[start:], 160), true})
			if resumed++; resumed > maxResumed || !s.resume(fault.at) {
				return deltas, dropped
			}
			continue
		}
		for _, e := range elements(v) {
			m, ok := e.(map[string]any)
			switch {
			case !b.delta() && !(ok && m["operation"] != nil && m["section"] != nil):
				continue // some other JSON
			case !ok:
				dropped = append(dropped, Dropped{line, "a delta is a JSON object, and this is none", excerpt(b.body[start:s.at], 160), true})
				continue
			}
			d := read(m)
			d.Line = line
			d.Notes = slices.Concat(b.notes(), notes, d.Notes)
			deltas = append(deltas, d)
		}
	}
	rest := strings.TrimSpace(strings.Trim(b.body[s.at:], ",;"))
	switch {
	case !b.delta() || rest == "":
	case len(deltas)+len(dropped) == 0:
		dropped = append(dropped, Dropped{b.line, "the delta block has no JSON object", excerpt(rest, 160), true})
	case len(deltas) > 0 && b.closed:
		last := &deltas[len(deltas)-1]
		last.Notes = append(last.Notes, "text after the JSON was not read: "+quoted(rest))
	}
	return deltas, dropped
}

func (b block) notes() []string {
	notes := []string{}
	if !b.delta() {
		notes = append(notes, "the block is not tagged delta")
	}
	if !b.closed {
		notes = append(notes, "the block is not closed")
	}
	return notes
}

// why is the reason for dropping an object, with the line of the fault in the message.
func (b block) why(fault *syntaxError) string {
	text := fmt.Sprintf("invalid JSON: line %d: %s", b.line+strings.Count(b.body[:min(fault.at, len(b.body))], "\n"), fault.detail)
	if !b.closed {
		text += ", in a block that is not closed"
	}
	return text
}

// elements are the deltas of a value: of a list its elements.
func elements(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

var lookalike = regexp.MustCompile(`(?im)["'“]?\boperation["'”]?\s*:\s*["'“]?(add|edit|kill)\b|^#+\s*delta\s*:\s*(add|edit|kill)\b`)

// lookalikes are the places where someone seems to have meant a delta.
func (b block) lookalikes(reason string) []Dropped {
	var dropped []Dropped
	from, counted, line := 0, 0, b.line
	for _, m := range lookalike.FindAllStringIndex(b.body, maxDeltas+1) {
		start := m[0]
		if i := strings.LastIndexByte(b.body[from:start], '{'); i >= 0 {
			start = from + i
		}
		line += strings.Count(b.body[counted:start], "\n")
		counted = start
		dropped = append(dropped, Dropped{line, reason, excerpt(b.body[start:], 160), false})
		from = m[1]
	}
	return dropped
}
