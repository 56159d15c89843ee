package contribution

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"waymark/score/rubric"
)

// Limits of one message.
const (
	MaxText   = 256 << 10 // bytes; more than a model says at once
	MaxDeltas = 1000
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
	if len(message) > MaxText {
		return nil, nil, rubric.Refuse("text", "%d bytes are more than %d", len(message), MaxText)
	}
	if !utf8.ValidString(message) {
		return nil, nil, rubric.Refuse("text", "it is not valid UTF-8")
	}
	deltas, dropped = []Delta{}, []Dropped{}
	for _, b := range blocks(message) {
		ds, drops := b.read()
		deltas, dropped = append(deltas, ds...), append(dropped, drops...)
		if len(deltas)+len(dropped) > MaxDeltas {
			return nil, nil, rubric.Refuse("text", "it has more than %d deltas", MaxDeltas)
		}
	}
	return deltas, dropped, nil
}

// read finds the deltas of one block.
func (b block) read() (deltas []Delta, dropped []Dropped) {
	if !b.delta() && !b.mayHold() {
		return nil, b.lookalikes("it stands outside of a delta block; put it between ```delta and ```")
	}
	if b.delta() && strings.TrimSpace(b.body) == "" {
		return nil, []Dropped{{b.line, "the delta block is empty", "", true}}
	}
	p := tolerantParser{s: b.body, line: b.line}
	line, counted, resumed := b.line, 0, 0
	for first := true; p.toNext(first); first = false {
		start := p.i
		line += strings.Count(b.body[counted:start], "\n")
		counted = start
		v, err := p.value(0)
		if err != nil {
			if !b.delta() {
				rest := block{line: line, body: b.body[start:]}
				return deltas, append(dropped, rest.lookalikes("it stands in a block that is not tagged delta and is no JSON: "+err.Error())...)
			}
			dropped = append(dropped, Dropped{line, b.why(err), excerpt(b.body[start:], 160), true})
			// Another object may begin with a line of its own.
			from := max(p.i-1, start+1)
			next := strings.Index(b.body[min(from, len(b.body)):], "\n{")
			if resumed++; next < 0 || resumed > maxResumed {
				return deltas, dropped
			}
			p.i, p.repairs = from+next+1, nil
			continue
		}
		for _, e := range elements(v) {
			m, ok := e.(map[string]any)
			switch {
			case !b.delta() && !(ok && m["operation"] != nil && m["section"] != nil):
				continue // some other JSON
			case !ok:
				dropped = append(dropped, Dropped{line, "a delta is a JSON object, and this is none", excerpt(b.body[start:p.i], 160), true})
				continue
			}
			d := read(m)
			d.Line = line
			d.Notes = append(append(b.notes(), p.notes()...), d.Notes...)
			deltas = append(deltas, d)
		}
		p.repairs = nil
	}
	rest := strings.TrimSpace(strings.Trim(b.body[p.i:], ",;"))
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

// toNext passes what stands before an object or list. Prose is only passed before the first.
func (p *tolerantParser) toNext(first bool) bool {
	q := *p
	for q.skip() == nil && q.i < len(q.s) && (q.s[q.i] == ',' || q.s[q.i] == ';') {
		q.i++
	}
	if q.i < len(q.s) && (q.s[q.i] == '{' || q.s[q.i] == '[') {
		*p = q
		return true
	}
	at := strings.IndexByte(p.s[p.i:], '{')
	if !first || at < 0 {
		return false
	}
	p.repaired("text before the JSON")
	p.i += at
	return true
}

func (p *tolerantParser) notes() []string {
	notes := make([]string, len(p.repairs))
	for i, r := range p.repairs {
		notes[i] = "repaired: " + r
	}
	return notes
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

func (b block) why(err error) string {
	if !b.closed {
		return "invalid JSON: " + err.Error() + ", in a block that is not closed"
	}
	return "invalid JSON: " + err.Error()
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
	for _, m := range lookalike.FindAllStringIndex(b.body, MaxDeltas+1) {
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
