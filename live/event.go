package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest"
	"waymark/suggest/evaluate"
	"waymark/suggest/history"
)

// The kinds of event. The byte stands first in the payload; the rest is JSON.
const (
	kindTool       = 'T' // a tool put
	kindCapability = 'C' // a capability put
	kindRemoved    = 'R' // a tool or capability removed
	kindEpisode    = 'E'
	kindOpened     = 'O' // an episode, with the steps that are recorded of it, before steps are appended to it
	kindPerformed  = 'P' // a step of it, or its outcome
	kindFeedback   = 'F'
	kindForgotten  = 'X' // payloads erased on request
	kindBuild      = 'B' // measures are built from everything before
	kindRule       = 'U' // a rule of the operator, added or undone
)

// ErrNewer: the log has an event of a kind, or with a member, that this program does not know. That is no damage.
var ErrNewer = errors.New("a newer version of the program wrote this event; export with that version (waymark export) and import here (waymark import)")

// kinds are the values of events.
var kinds = map[byte]func() any{
	kindTool:       func() any { return &catalog.Tool{} },
	kindCapability: func() any { return &catalog.Capability{} },
	kindRemoved:    func() any { return new(string) },
	kindEpisode:    func() any { return &episodic.Episode{} },
	kindOpened:     func() any { return &opened{} },
	kindPerformed:  func() any { return &episodic.Performed{} },
	kindFeedback:   func() any { return &feedback{} },
	kindForgotten:  func() any { return &forgotten{} },
	kindBuild:      func() any { return &build{} },
	kindRule:       func() any { return &ruled{} },
}

// feedback is what is kept of a Feedback: resolved, with its source.
type feedback struct {
	Context []string         `json:"context,omitempty"`
	ID      string           `json:"id"`
	Used    bool             `json:"used"`
	Outcome episodic.Outcome `json:"outcome"`
	Source  string           `json:"source"`
}

// opened is an episode as far as it is recorded: its further steps follow as [episodic.Performed].
type opened struct{ episodic.Grown }

// forgotten lists the events whose payloads are to be erased.
type forgotten struct {
	Seqs []uint64 `json:"seqs"`
}

// build says how measures are built at this place of the log.
type build struct {
	Options suggest.MeasureOptions `json:"options"`
	Parent  string                 `json:"parent"`            // version of the model before
	Model   string                 `json:"model,omitempty"`   // the embeddings model, if one takes part
	Vectors string                 `json:"vectors,omitempty"` // digest of the vectors it gave
	Gate    *evaluate.Gate         `json:"gate,omitempty"`    // how the last one that was judged did beside the one before
	Refused bool                   `json:"refused,omitempty"` // it loses: nothing is measured here, the measures before stay
	Forced  bool                   `json:"forced,omitempty"`  // published whatever the gate says
}

// counts reports whether a model counts an event. Of rules it counts aliases, which decide what counts for which
// tool, and those about sources, which decide how their evidence counts.
func (e *decodedEvent) counts() bool {
	r, rule := e.value.(*ruled)
	return e.kind != kindBuild && !(rule && (r.Kind == RuleBan || r.Kind == RulePin))
}

// encode writes an event. HTML characters stay as they are and equal values have equal bytes.
func encode(kind byte, v any) ([]byte, error) {
	if e, ok := v.(*episodic.Episode); ok {
		return append([]byte{kind}, episodic.Canonical(*e)...), nil
	}
	var b bytes.Buffer
	b.WriteByte(kind)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode an event of kind %q: %w", kind, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// lenient reads what encode has written: schemas of tools are kept as they came, also with names that
// repeat.
var lenient = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// decode reads an event back into the type of its kind.
func decode(payload []byte) (kind byte, v any, err error) {
	if len(payload) == 0 {
		return 0, nil, errors.New("event is empty")
	}
	kind = payload[0]
	value, ok := kinds[kind]
	if !ok {
		return kind, nil, fmt.Errorf("kind %q: %w", kind, ErrNewer)
	}
	v = value()
	err = jsonv2.Unmarshal(payload[1:], v, lenient, jsonv2.RejectUnknownMembers(true))
	var member *jsonv2.SemanticError
	if errors.Is(err, jsonv2.ErrUnknownName) && errors.As(err, &member) {
		return kind, nil, fmt.Errorf("member %s of kind %q: %w", member.JSONPointer, kind, ErrNewer)
	}
	if err != nil {
		return kind, nil, fmt.Errorf("decode an event of kind %q: %w", kind, err)
	}
	return kind, v, nil
}

// fold counts one event in a state.
func fold(s *history.State, v any) {
	switch v := v.(type) {
	case *catalog.Tool:
		s.PutTool(*v)
	case *catalog.Capability:
		s.PutCapability(*v)
	case *string:
		s.Remove(*v)
	case *episodic.Episode:
		s.Record(v)
	case *opened:
		s.Open(&v.Grown)
	case *episodic.Performed:
		s.Perform(v)
	case *feedback:
		s.Feedback(v.Context, v.ID, v.Outcome, time.Time{}, v.Source)
	}
}
