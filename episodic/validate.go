package episodic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/catalog"
	"waymark/internal/redact"
)

// Limits on an episode, in bytes unless another unit is named. The longest of 20,000 public episodes
// has 421 steps. Longer intents are rejected here; importers cut them before. Error texts are cut.
const (
	MaxSteps  = 2000   // steps
	maxPairs  = 20_000 // pairs of consecutive steps, of which adjacent parallel groups have the product of their sizes
	MaxIntent = catalog.MaxIntent
	MaxError  = 1 << 10
	maxShape  = 1 << 10
	maxEntry  = catalog.MaxEntry // the whole episode as JSON
	maxKind   = 64
)

// maxAhead is how far the clock of a reporter may be ahead of ours.
const maxAhead = 24 * time.Hour

// earliest is the earliest time accepted. It is before any agent existed: an older time comes from a clock that
// was never set.
var earliest = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)

// Normalise converts an episode to the canonical form in which it is stored, or returns an error that names
// the episode and the invalid field. A step without an id gets its number, from 1, as id; dependencies are
// sorted and deduplicated; an empty outcome becomes [Unknown]; times are in UTC; digests that would make the
// episode too large are dropped. It rejects a step that depends on a step that does not exist or, directly or
// through others, on itself. The slices of e are changed in place.
func (e *Episode) Normalise() (err error) {
	if e.ID, err = catalog.Identifier("id", e.ID, catalog.MaxID); err != nil {
		return fmt.Errorf("episode: %w", err)
	}
	if e.ID == "" {
		return errors.New("episode has no id")
	}
	if err := e.normalise(); err != nil {
		return fmt.Errorf("episode %q: %w", e.ID, err)
	}
	return nil
}

// normalise converts every field to its canonical form, in which equal episodes are equal bytes, and checks the
// limits that bound the cost of counting an episode: steps, pairs of consecutive steps, bytes.
func (e *Episode) normalise() error {
	var f catalog.Fields
	f.Prose("intent", &e.Intent, MaxIntent)
	f.Name("session", &e.Session, catalog.MaxID)
	f.Name("source", &e.Source, catalog.MaxID)
	f.Name("label", &e.Label, catalog.MaxID)
	f.Name("suggestion_id", &e.SuggestionID, catalog.MaxID)
	e.Outcome = e.Outcome.normal(&f)
	if !e.Time.IsZero() {
		e.Time = e.Time.Round(0).UTC() // Round(0) drops the monotonic clock
		f.Note(plausible(e.Time))
	}
	switch n := len(e.Steps); {
	case n == 0:
		f.Fail("no steps")
	case n > MaxSteps:
		f.Fail("%d steps, the limit is %d", n, MaxSteps)
	}
	if f.Err != nil {
		return f.Err
	}
	ids, dependsOn := make([]string, len(e.Steps)), make([][]string, len(e.Steps))
	for i := range e.Steps {
		s := &e.Steps[i]
		if err := s.normalise(i + 1); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		ids[i], dependsOn[i] = s.ID, s.DependsOn
	}
	_, err := catalog.Layers("step", ids, dependsOn)
	if err := cmp.Or(err, e.Crowded()); err != nil {
		return err
	}
	if n := e.fit(); n > maxEntry {
		return fmt.Errorf("%d bytes as JSON, the limit is %d", n, maxEntry)
	}
	return nil
}

// Crowded returns an error if there are too many pairs of consecutive steps.
func (e *Episode) Crowded() error {
	n := 0
	for _, before := range e.Before() {
		n += len(before)
	}
	if n > maxPairs {
		return fmt.Errorf("%d pairs of steps follow one another, the limit is %d: groups are too large", n, maxPairs)
	}
	return nil
}

// normalise checks and converts the fields of a step. A step without an id gets its number, from 1, as id.
// Dependencies become a sorted set.
func (s *Step) normalise(number int) error {
	var f catalog.Fields
	f.Name("id", &s.ID, catalog.MaxID)
	s.ID = cmp.Or(s.ID, strconv.Itoa(number))
	f.Name("tool", &s.Tool, catalog.MaxID)
	if s.Tool == "" {
		f.Fail("no tool")
	}
	server, _, _ := strings.Cut(s.Tool, ":")
	f.Note(catalog.CheckToolID("tool", s.Tool, server))
	f.Name("group", &s.Group, catalog.MaxID)
	f.Name("error_kind", &s.ErrorKind, maxKind)
	f.Prose("shape", &s.Shape, maxShape)
	s.Error = redact.Cut(s.Error, MaxError, catalog.Cut)
	f.Note(cmp.Or(s.Inputs.normalise("inputs"), s.Outputs.normalise("outputs")))
	s.Outcome = s.Outcome.normal(&f)
	if s.DurationMS < 0 {
		f.Fail("duration_ms %d is negative", s.DurationMS)
	}
	for i := range s.DependsOn {
		f.Name("depends_on", &s.DependsOn[i], catalog.MaxID)
	}
	slices.Sort(s.DependsOn)
	s.DependsOn = slices.Compact(s.DependsOn) // nil stays nil: only the order is known
	return f.Err
}

// normal converts an empty outcome to Unknown and rejects other values than the three outcomes.
func (o Outcome) normal(f *catalog.Fields) Outcome {
	if o = cmp.Or(o, Unknown); o != Unknown && !o.Known() {
		f.Fail("unknown outcome %.40q: want success, failure or unknown", string(o))
	}
	return o
}

// Validate returns an error if the episode is more than [maxAhead] after now. An episode without a time is
// valid.
func (e Episode) Validate(now time.Time) error {
	if e.Time.After(now.Add(maxAhead)) {
		return fmt.Errorf("episode %q: time %s is more than %d hours in the future",
			e.ID, e.Time.UTC().Format(time.RFC3339), int(maxAhead.Hours()))
	}
	return nil
}

// plausible rejects times that come from a wrong clock or unit and times that RFC 3339 cannot represent.
func plausible(t time.Time) error {
	if t.Before(earliest) {
		return fmt.Errorf("time %s is before %d", t.Format(time.RFC3339), earliest.Year())
	}
	if t.Year() > 9999 { // RFC 3339 has four digits
		return errors.New("time is after the year 9999")
	}
	return nil
}

// Canonical returns the bytes of a normalised episode that are stored: JSON without white space, with the
// fields in the order of the type. Episodes with equal content have equal bytes.
func Canonical(e Episode) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		panic(fmt.Sprintf("episode %q was not normalised: %v", e.ID, err)) // only a year of five digits can fail
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
