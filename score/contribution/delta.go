package contribution

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waymark/score"
)

// A Delta is one change that a message proposes, with its scores, which are null for a rejected one.
type Delta struct {
	// Line is the line of the message where its JSON begins.
	Line      int     `json:"line"`
	Operation string  `json:"operation"`
	Section   string  `json:"section"`
	TargetID  *string `json:"target_id"`
	Valid     bool    `json:"valid"`
	// Errors are the reasons for its rejection; Notes are the faults of the payload and minor issues.
	Errors []string `json:"errors"`
	Notes  []string `json:"notes"`

	Criteria map[string]Criterion `json:"criteria"`
	// NotApplicable has the reason for each criterion of the role that does not apply.
	NotApplicable map[string]string `json:"not_applicable"`
	// Operators are the operators invoked in the rationale.
	Operators []string       `json:"operators"`
	Composite *score.Decimal `json:"composite"`
	// Upper is the composite with the upper score of every criterion.
	Upper   *score.Decimal `json:"composite_upper"`
	Max     *score.Decimal `json:"max"`
	Percent *score.Decimal `json:"percent"`
	Grade   *string        `json:"grade"`

	role    Role
	round   int
	percent *big.Rat
	payload item

	rationale string
	facts     facts
	// faults make the payload malformed; gates are those that the delta fails by itself; fake are citations that do not
	// exist.
	faults, gates, fake []string
}

// Operations of a delta.
const Add, Edit, Kill = "ADD", "EDIT", "KILL"

// Sections of an artifact that the code refers to; tables.yaml lists all sections.
const (
	researchThread      = "research_thread"
	hypothesisSlate     = "hypothesis_slate"
	discriminativeTests = "discriminative_tests"
)

// read checks one object against the format. An error rejects the delta, a fault makes its payload malformed (structural
// correctness 1), a note is a minor issue (2).
func read(object map[string]any) *Delta {
	d := &Delta{Criteria: map[string]Criterion{}, NotApplicable: map[string]string{}}
	d.Operation = d.oneOf(object, "operation", []string{Add, Edit, Kill})
	d.Section = d.oneOf(object, "section", tables().Order)
	if d.Section == researchThread && (d.Operation == Add || d.Operation == Kill) {
		d.reject("%s does not go with research_thread, which is only edited", d.Operation)
	}
	d.readTarget(object["target_id"])
	d.readPayload(object["payload"])
	d.rationale = item(object).text("rationale")
	switch {
	case d.rationale != "":
	case d.Operation == Kill:
		d.reject("KILL needs a rationale")
		d.gates = append(d.gates, "kill_without_rationale")
	default:
		d.note("rationale is missing")
	}
	_, given := d.payload["potency_check"]
	needed := d.Section == discriminativeTests && (d.Operation == Add || d.Operation == Edit && given)
	if needed && pattern("no_check").MatchString(d.payload.text("potency_check")) {
		d.reject("a test needs a potency_check that distinguishes a failed assay from no effect")
		d.gates = append(d.gates, "missing_potency_check")
	}
	d.Valid = len(d.Errors) == 0
	return d
}

func (d *Delta) reject(format string, args ...any) {
	d.Errors = append(d.Errors, fmt.Sprintf(format, args...))
}

func (d *Delta) note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

// oneOf reads a field whose value is one of the names, in any case and spacing. Any other value rejects the delta.
func (d *Delta) oneOf(object map[string]any, field string, names []string) string {
	if object[field] == nil {
		d.reject("%s is missing", field)
		return ""
	}
	v := fmt.Sprint(object[field])
	spelled := strings.NewReplacer(" ", "_", "-", "_").Replace(strings.TrimSpace(v))
	for _, name := range names {
		if strings.EqualFold(name, spelled) {
			if v != name {
				d.note("%s %s was read as %s", field, quoted(v), name)
			}
			return name
		}
	}
	d.reject("unknown %s %s: want one of %s", field, quoted(v), strings.Join(names, ", "))
	return excerpt(v, 60)
}

func (d *Delta) readTarget(v any) {
	s := tables().Sections[d.Section]
	given := fmt.Sprint(cmp.Or(v, any("")))
	id := strings.ToUpper(strings.TrimSpace(given))
	switch {
	case d.Operation == Add && id != "":
		d.reject("ADD takes no target_id, and %s was given: leave it out, or EDIT that item", quoted(given))
	case id == "" && (d.Operation == Kill || d.Operation == Edit && d.Section != researchThread):
		d.reject("%s needs a target_id", d.Operation)
	case id == "" || s.IDs == nil:
	case !s.IDs.MatchString(id):
		d.reject("target_id %s is not an id of %s, whose ids begin with %s", quoted(given), d.Section, s.Prefix)
	default:
		d.TargetID = &id
		if id != strings.TrimSpace(given) {
			d.note("target_id %s was read as %s", quoted(given), id)
		}
	}
}

func (d *Delta) readPayload(v any) {
	var ok bool
	d.payload, ok = v.(map[string]any)
	switch {
	case v == nil:
		d.reject("payload is missing")
	case !ok:
		d.reject("payload is not an object")
	case d.Operation == Kill && d.payload.text("reason") == "":
		d.reject("KILL needs payload.reason")
	case d.Operation == Kill:
	case len(d.payload) == 0 && (d.Operation == Add || d.Operation == Edit):
		d.reject("payload is empty")
	default:
		d.readFields()
	}
}

func (d *Delta) readFields() {
	for _, f := range tables().Sections[d.Section].Fields {
		v := d.payload[f.Name]
		absent := v == nil || v == ""
		// A scale check needs no test: the template of the role has a calculation in its place.
		tested := f.Name == "test" && d.payload.flag("scale_check") && d.payload.text("calculation") != ""
		switch {
		case !absent && !fits(f.Kind, v):
			is := tables().Kinds[f.Kind].Description
			d.faults = append(d.faults, "payload."+f.Name+" is not "+is)
		case !absent || d.Operation != Add || tested:
		case f.Need == "required":
			d.faults = append(d.faults, "payload."+f.Name+" is missing")
		case f.Need == "expected":
			d.note("payload.%s is missing", f.Name)
		}
	}
}

// text returns all texts of the payload, and the rationale.
func (d *Delta) text() string {
	return d.payload.words() + "\n" + d.rationale
}

// maxDeltas is the largest number of deltas of one message.
const maxDeltas = 1000

// A Dropped is a part of the message that looks like a delta but cannot be read as one.
type Dropped struct {
	Line    int    `json:"line"`
	Reason  string `json:"reason"`
	Excerpt string `json:"excerpt"`
	// rejected is set if the part is in a delta block, so that the gate invalid_json fails.
	rejected bool
}

// A block is a fenced part of a message, or the prose between two of them.
type block struct {
	line int
	body string

	delta, json, closed bool
}

// blocks splits a message into fenced blocks and prose. A fenced block ends at a line of at least as many of the same
// signs and nothing else, so that a longer fence can quote a shorter one. A fence of the same length that opens a delta
// also ends it, because the closing fence was forgotten.
func blocks(message string) (found []block) {
	cur, mark := block{line: 1}, ""
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
func (b block) read() (found deltas, dropped []Dropped) {
	drop := func(at int, reason string, rejected bool) {
		dropped = append(dropped, Dropped{b.lineAt(at), reason, excerpt(b.body[at:], 160), rejected})
	}
	if !b.delta && !b.json {
		// Prose also quotes and discusses deltas, so a delta outside of a block is reported but not read.
		for _, m := range pattern("lookalike").FindAllStringIndex(b.body, -1) {
			const reason = "it stands outside of a delta block; put it between ```delta and ```"
			drop(m[0], reason, false)
		}
		return nil, dropped
	}
	var common []string
	if !b.delta {
		common = append(common, "the block is not tagged delta")
	}
	if !b.closed {
		common = append(common, "the block is not closed")
	}
	at := 0
	for {
		skip := strings.IndexByte(b.body[at:], '{')
		if skip < 0 {
			break
		}
		start, notes := at+skip, slices.Clone(common)
		if beside(b.body[at:start]) != "" {
			if len(found) > 0 {
				break
			}
			notes = append(notes, "repaired: text before the JSON")
		}
		mended, _ := score.Mend(b.body[start:])
		object, length, fault := decode(mended)
		at = start + length
		if fault != "" {
			drop(start, fmt.Sprintf("invalid JSON: line %d: %s", b.lineAt(at), fault), b.delta)
			return found, dropped
		}
		if mended[:length] != b.body[start:at] {
			notes = append(notes, "repaired: comments, commas or line breaks that JSON does not have")
		}
		// A block tagged json may contain JSON that is not a delta.
		if !b.delta && (object["operation"] == nil || object["section"] == nil) {
			continue
		}
		d := read(object)
		d.Line, d.Notes = b.lineAt(start), append(notes, d.Notes...)
		found = append(found, d)
	}
	rest := beside(b.body[at:])
	switch {
	case b.delta && len(found) == 0:
		drop(0, "the delta block has no JSON object", true)
	case b.delta && b.closed && rest != "":
		found[len(found)-1].note("text after the JSON was not read: %s", quoted(rest))
	}
	return found, dropped
}

// beside returns the text around objects without the brackets and separators of a list.
func beside(text string) string { return strings.Trim(text, "[],; \t\r\n") }

func (b block) lineAt(at int) int { return b.line + strings.Count(b.body[:at], "\n") }

// decode reads the object at the start of text and returns its length, or the offset of a fault and its description.
func decode(text string) (object map[string]any, length int, fault string) {
	dec := jsontext.NewDecoder(strings.NewReader(text))
	err := json.UnmarshalDecode(dec, &object)
	other := errors.New("a value cannot be represented")
	syntax := &jsontext.SyntacticError{ByteOffset: dec.InputOffset(), Err: other}
	if errors.As(err, &syntax) || err != nil {
		return nil, int(syntax.ByteOffset), syntax.Err.Error()
	}
	return object, int(dec.InputOffset()), ""
}
