// Package hook records, in milliseconds, the tool calls that a host reports.
//
//	host ──payload──▶ waymark-hook ──event──▶ DIR/spool/….json ──▶ server or next command ──▶ log
//
// A host runs a hook before and after every tool call and waits for it. So a hook opens no store and contacts
// no server: it reads the payload, extracts the fields that a history needs, writes them to a file and exits
// with 0, even after an error. It never writes values of arguments and results; it keeps their shape and, if a
// store was opened before and left its key, their digests.
//
// With --whisper it may then print one line for the model, by rules that the server derives from the history:
//
//	history ──▶ Derive ──▶ rules ──file──▶ hook: observe ──▶ one line, or silence
//
// The functions in call.go determine which tool a call really used and why it failed; the importers of session
// files use them, too.
//
// An event file is renamed to its final name when it is complete. It is not synced: after a power failure the
// last events may be missing, and a damaged event is skipped.
package hook

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/internal/redact"
)

// Kind is the kind of an event.
type Kind string

const (
	Reset Kind = "reset" // the session of the host starts or continues with another context; not recorded in the history
	Asked Kind = "asked" // the user sent a prompt
	Began Kind = "began" // a call starts
	Ended Kind = "ended" // a call ended
	Over  Kind = "over"  // the session ended
)

// Event is one event that a host reported, without values.
type Event struct {
	Kind      Kind             `json:"kind"`
	Time      time.Time        `json:"time"`
	Host      string           `json:"host"`
	Workspace string           `json:"workspace"`
	Session   string           `json:"session"`
	Intent    string           `json:"intent,omitempty"`
	Call      string           `json:"call,omitempty"`
	Unnamed   bool             `json:"unnamed,omitempty"` // the host gave the call no id: Call is a hash of tool and arguments
	Tool      string           `json:"tool,omitempty"`
	Through   bool             `json:"through,omitempty"` // Waymark makes the call and records it itself
	Shape     string           `json:"shape,omitempty"`
	Inputs    episodic.Digests `json:"inputs,omitempty"`
	Outputs   episodic.Digests `json:"outputs,omitempty"`
	Outcome   episodic.Outcome `json:"outcome,omitempty"`
	ErrorKind string           `json:"error_kind,omitempty"`

	name string // name of the event as the host spells it
}

// payload is the JSON that Claude Code, Codex and Cursor write to a hook's standard input.
type payload struct {
	Session  string          `json:"session_id"`
	Talk     string          `json:"conversation_id"` // Cursor's session
	Agent    string          `json:"agent_id"`        // of a subagent
	Name     string          `json:"hook_event_name"`
	Prompt   string          `json:"prompt"`
	Tool     string          `json:"tool_name"`
	Input    json.RawMessage `json:"tool_input"`
	Response json.RawMessage `json:"tool_response"`
	Output   json.RawMessage `json:"tool_output"`   // Cursor's response
	Message  json.RawMessage `json:"error_message"` // Cursor's error
	Failure  string          `json:"failure_type"`  // Cursor: error, timeout or permission_denied
	Call     string          `json:"tool_use_id"`
	Error    json.RawMessage `json:"error"`
	Stopped  bool            `json:"is_interrupt"` // the user interrupted the call
}

// kinds maps the events of hosts to the kinds of events; other events are ignored.
var kinds = map[string]Kind{
	"SessionStart": Reset, "UserPromptSubmit": Asked, "BeforeSubmitPrompt": Asked, "PreToolUse": Began,
	"PostToolUse": Ended, "PostToolUseFailure": Ended, "SessionEnd": Over,
}

var (
	errNoSession = errors.New("payload has no session")
	errNoTool    = errors.New("payload has no tool")
)

// Read reads a payload. ok is true only for an event to be processed. Without a key the event has no digests of
// values.
func Read(text []byte, now time.Time, key *episodic.DigestKey) (e Event, ok bool, err error) {
	var p payload
	if err := json.Unmarshal(text, &p); err != nil {
		return e, false, err
	}
	e.name, e.Time, e.Session = p.Name, now.UTC(), cmp.Or(p.Talk, p.Session)
	if p.Name != "" {
		p.Name = strings.ToUpper(p.Name[:1]) + p.Name[1:] // Cursor's names begin with a lower-case letter
	}
	switch e.Kind = kinds[p.Name]; {
	case e.Kind == "":
		return e, false, nil
	case e.Session == "":
		return e, false, errNoSession
	case p.Agent != "":
		e.Session += "/" + p.Agent
	}
	switch {
	case e.Kind == Asked:
		e.Intent = redact.Cut(strings.TrimSpace(p.Prompt), episodic.MaxIntent, catalog.Cut)
		return e, e.Intent != "", nil
	case e.Kind == Over, e.Kind == Reset:
		return e, true, nil
	case p.Tool == "":
		return e, false, errNoTool
	}
	if p.Response == nil {
		p.Response = p.Output
	}
	if p.Error == nil {
		p.Error = p.Message
	}
	var arguments json.RawMessage
	e.Tool, arguments = Unwrap(p.Tool, p.Input)
	e.Shape, e.Through = episodic.Shape(arguments), IsThrough(p.Tool)
	if e.Call = p.Call; e.Call == "" {
		sum := sha256.Sum256(append([]byte(p.Tool+"\x00"), p.Input...))
		e.Call, e.Unnamed = hex.EncodeToString(sum[:8]), true
	}
	if e.Kind == Ended {
		e.outcome(&p)
		if key != nil {
			e.Inputs = key.Digests(arguments)
		}
		if key != nil && e.Outcome == episodic.Success {
			e.Outputs = Digests(p.Response, key)
		}
	}
	return e, !IsOwn(e.Tool), nil
}

// outcome reads how a call ended. A call that was not permitted has the error kind policy and is not a step.
func (e *Event) outcome(p *payload) {
	said, text := Said(p.Response)
	if said != episodic.Failure && p.Name != "PostToolUseFailure" && (len(p.Error) == 0 || string(p.Error) == "null") {
		e.Outcome = episodic.Success
		return
	}
	text = cmp.Or(Text(p.Error), text, Text(p.Response))
	e.ErrorKind, e.Outcome = ErrorKind(text), episodic.Failure
	switch p.Failure {
	case "permission_denied":
		e.ErrorKind = "policy"
	case "timeout":
		e.ErrorKind = "timeout"
	}
	if p.Stopped {
		e.ErrorKind = "canceled"
	}
	if !CountsAgainstTool(e.ErrorKind) {
		e.Outcome = episodic.Unknown
	}
}
