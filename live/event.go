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

// The kinds of event. The kind is the first byte of the payload; the rest is JSON.
const (
	kindTool       = 'T' // a tool put
	kindCapability = 'C' // a capability put
	kindRemoved    = 'R' // a tool or capability removed
	kindEpisode    = 'E'
	kindOpened     = 'O' // an episode with the steps recorded so far, before further steps are appended to it
	kindPerformed  = 'P' // a further step of an episode, or its outcome
	kindFeedback   = 'F'
	kindForgotten  = 'X' // payloads erased on request
	kindBuild      = 'B' // measures are built from all events before
	kindRule       = 'U' // a rule of the operator, added or undone
)

// ErrNewer: the log has an event of a kind, or with a member, that this version does not
// support. The log is not damaged.
var ErrNewer = errors.New("a newer version of the program wrote this event; export with that version (waymark export) and import here (waymark import)")

// kinds maps each kind of event to a function that makes its value.
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

// feedback is the stored form of a [Feedback], with resolved ids and its source.
type feedback struct {
	Context []string         `json:"context,omitempty"`
	ID      string           `json:"id"`
	Used    bool             `json:"used"`
	Outcome episodic.Outcome `json:"outcome"`
	Source  string           `json:"source"`
}

// opened is an episode with the steps recorded so far. Its further steps follow as [episodic.Performed].
type opened struct{ episodic.Grown }

// forgotten lists the events whose payloads are to be erased.
type forgotten struct {
	Seqs []uint64 `json:"seqs"`
}

// build is the event of a build: how measures are computed at this position of the log.
type build struct {
	Options suggest.MeasureOptions `json:"options"`
	Parent  string                 `json:"parent"`            // version of the model before
	Model   string                 `json:"model,omitempty"`   // the embeddings model, if one is used
	Vectors string                 `json:"vectors,omitempty"` // digest of its vectors
	Gate    *evaluate.Gate         `json:"gate,omitempty"`    // how the last evaluated model compared with the one before
	Refused bool                   `json:"refused,omitempty"` // it loses: not measured, the previous measures stay
	Forced  bool                   `json:"forced,omitempty"`  // published regardless of the gate
}

// counts reports whether a model counts an event. Of the rules these are aliases, which decide which calls count
// for which tool, and rules about sources, which decide how their evidence counts.
func (e *decodedEvent) counts() bool {
	r, rule := e.value.(*ruled)
	return e.kind != kindBuild && !(rule && (r.Kind == RuleBan || r.Kind == RulePin))
}

// encode returns the payload of an event. HTML characters are not escaped, and equal values have equal bytes.
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

// lenient holds the options to read payloads of encode: schemas of tools are stored as received, even with
// duplicate names or invalid UTF-8.
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
