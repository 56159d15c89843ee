// Package hook writes down, in milliseconds, what a host tells of its tools.
//
//	host ──payload──▶ waymark-hook ──event──▶ DIR/spool/….json ──▶ server or next command ──▶ log
//
// A host runs a hook before and after every call of a tool and waits for it. So a hook opens no store and
// speaks to no server: it reads the payload, keeps what a history needs of it, leaves that as a file and
// exits with 0, whatever went wrong. Values of arguments and results are never written; what is kept of
// them is their shape and, once a store was opened and left its key, their digests.
//
// With --whisper it then may print one line for the model, by rules that the server derives from the history:
//
//	history ──▶ Derive ──▶ rules ──file──▶ hook: observe ──▶ one line, or silence
//
// Which tool a call really was and why it failed, which files of sessions say in the same words, is read by the
// functions of call.go.
//
// The file of an event has its name only when it is whole. It is not synced: after a power failure the last events
// may be missing, and one that is damaged is passed over.
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

// Kind of an event.
type Kind string

const (
	Reset Kind = "reset" // the host's session starts or goes on with another context; no part of a history
	Asked Kind = "asked" // the user said something
	Began Kind = "began" // a call begins
	Ended Kind = "ended" // a call is over
	Over  Kind = "over"  // the session is
)

// Event is what a host told, without values.
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
	Through   bool             `json:"through,omitempty"` // Waymark makes the call, and records it
	Shape     string           `json:"shape,omitempty"`
	Inputs    episodic.Digests `json:"inputs,omitempty"`
	Outputs   episodic.Digests `json:"outputs,omitempty"`
	Outcome   episodic.Outcome `json:"outcome,omitempty"`
	ErrorKind string           `json:"error_kind,omitempty"`

	name string // as the host writes it
}

// payload is what Claude Code, Codex and Cursor write to a hook's standard input.
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
	Stopped  bool            `json:"is_interrupt"` // by the user
}

// kinds are the events of hosts that a history is made of.
var kinds = map[string]Kind{
	"SessionStart": Reset, "UserPromptSubmit": Asked, "BeforeSubmitPrompt": Asked, "PreToolUse": Began,
	"PostToolUse": Ended, "PostToolUseFailure": Ended, "SessionEnd": Over,
}

var (
	errNoSession = errors.New("payload names no session")
	errNoTool    = errors.New("payload names no tool")
)

// Read reads a payload. It reports ok only for an event that a history is made of. Without a key values
// have no digests.
func Read(text []byte, now time.Time, key *episodic.DigestKey) (e Event, ok bool, err error) {
	var p payload
	if err := json.Unmarshal(text, &p); err != nil {
		return e, false, err
	}
	e.name, e.Time, e.Session = p.Name, now.UTC(), cmp.Or(p.Talk, p.Session)
	if p.Name != "" {
		p.Name = strings.ToUpper(p.Name[:1]) + p.Name[1:] // Cursor's names begin small
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

// outcome reads how a call ended. A call that was not let through has the kind policy and is no step.
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
	if !Held(e.ErrorKind) {
		e.Outcome = episodic.Unknown
	}
}
