package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"waymark/catalog"
	"waymark/internal/redact"
	"waymark/run"
)

// messageBytes bounds what is passed on of a server's own words about a failure, without secrets.
const messageBytes = 600

func failed(f run.Failure, format string, args ...any) run.Result {
	return run.Result{Failure: f, Message: catalog.Cut(redact.Text(fmt.Sprintf(format, args...)), messageBytes)}
}

// answer is a tools/call result, as far as the gateway reads it.
type answer struct {
	Content           json.RawMessage `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError"`
	ResultType        string          `json:"resultType"`
	InputRequests     json.RawMessage `json:"inputRequests"`
	RequestState      string          `json:"requestState"`
}

// Input is what Result.NeedsInput holds: what the server asks the host for, and what it wants to see again.
type Input struct {
	Requests json.RawMessage `json:"inputRequests"`
	State    string          `json:"requestState,omitempty"`
}

// OwnMember is the member of structured content in which only the gateway speaks to the host; a server's own is removed.
const OwnMember = "_waymark"

// resultOf reads an answer of a tool. Structured content that does not fit the tool's output schema is left out; where
// strict, it is a failure.
func resultOf(raw json.RawMessage, t *entry, strict bool) run.Result {
	var a answer
	if len(raw) == 0 || raw[0] != '{' {
		return failed(run.FailedTool, "the server answered %s, which is no result of a tool", catalog.Cut(string(raw), 40))
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return failed(run.FailedTool, "the server's answer cannot be read: %v", err)
	}
	if isNull(a.StructuredContent) {
		a.StructuredContent = nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(a.StructuredContent, &members) == nil && members[OwnMember] != nil {
		delete(members, OwnMember)
		a.StructuredContent, _ = json.Marshal(members) // it was just read
	}
	if a.ResultType == "input_required" || a.ResultType == "" && !isNull(a.InputRequests) {
		if isNull(a.InputRequests) {
			a.InputRequests = json.RawMessage("{}")
		}
		need, err := json.Marshal(Input{a.InputRequests, a.RequestState})
		if err != nil {
			return failed(run.FailedTool, "the server's request for input cannot be read: %v", err)
		}
		return run.Result{NeedsInput: need}
	}
	if isNull(a.Content) {
		if a.StructuredContent == nil && !a.IsError {
			return failed(run.FailedTool, "the server answered without content")
		}
		a.Content = json.RawMessage("[]")
	}
	if a.Content[0] != '[' {
		return failed(run.FailedTool, "the server's content is no list")
	}
	r := run.Result{Content: a.Content, Structured: a.StructuredContent,
		Members: membersOf(raw, "content", "structuredContent", "isError", "resultType", "inputRequests", "requestState")}
	if a.IsError {
		said := textOf(a.Content)
		r.Failure, r.Message = kindOfText(said), catalog.Cut(redact.Text(said), messageBytes)
		if r.Message == "" {
			r.Message = "the tool reports an error and says nothing about it"
		}
		return r
	}
	r.Unvalidated, r.Misfit = unvalidated(a.StructuredContent, t.output, t.outputErr)
	if r.Misfit {
		if string(r.Content) == "[]" && r.Structured != nil { // the work is done, and this is all that is known of it
			r.Content, _ = json.Marshal([]map[string]string{{"type": "text", "text": string(r.Structured)}}) // strings: cannot fail
		}
		r.Structured = nil
		if strict {
			return failed(run.FailedTool, "the tool was called, but its result is refused: %s", r.Unvalidated)
		}
	}
	return r
}

// unvalidated says why a structured answer is not known to fit its schema, and whether it is known not to.
func unvalidated(value json.RawMessage, output *run.Validator, outputErr error) (why string, misfit bool) {
	switch {
	case outputErr != nil:
		return "the tool's output schema is not usable: " + catalog.Cut(outputErr.Error(), 200), false
	case output == nil:
		return "", false
	case value == nil:
		return "the tool declares an output schema and gave no structured content", true
	}
	wrong, err := output.Check(value)
	switch {
	case err != nil:
		return catalog.Cut(err.Error(), 200), false
	case len(wrong) > 0:
		return "it does not fit the tool's output schema: " + catalog.Cut(reasons(wrong), 300), true
	}
	return "", false
}

// reasons names up to three places of a value that do not fit its schema.
func reasons(wrong []run.Mismatch) string {
	var all []string
	for _, w := range wrong[:min(len(wrong), 3)] {
		all = append(all, catalog.Cut(cmp.Or(w.At, "the whole")+": "+w.Detail, 200))
	}
	return strings.Join(all, "; ")
}

func isNull(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

// textOf joins the text blocks of an answer.
func textOf(content json.RawMessage) string {
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	var b strings.Builder
	for _, c := range blocks {
		if c.Type == "text" && b.Len() < 4*messageBytes {
			b.WriteString(c.Text + " ")
		}
	}
	return strings.TrimSpace(b.String())
}

// Servers report most failures as text. These are the words of the SDKs and of common APIs for whose fault
// it is; anything else is the tool's.
var (
	argumentWords = regexp.MustCompile(`(?i)^(mcp error )?-32602|input validation error|invalid (arguments?|params|parameters)|validating "?arguments|validation errors? for|missing required (argument|parameter|propert)|unexpected keyword argument|required property`)
	authWords     = regexp.MustCompile(`(?i)\b(unauthori[sz]ed|unauthenticated|authentication (failed|required)|bad credentials|invalid (api[ _-]?key|token|credentials)|(http|status|error)[ :]*(code )?(401|403)|permission denied|access denied|forbidden|insufficient (scope|permissions?))\b`)
)

func kindOfText(said string) run.Failure {
	head := said[:min(len(said), 600)]
	switch {
	case argumentWords.MatchString(head):
		return run.FailedArgument
	case authWords.MatchString(head):
		return run.FailedAuth
	}
	return run.FailedTool
}

// failureOf says what an error of a call means. status is that of the HTTP answer, if there was one. lost
// tells the story of the connection; it is asked only if that is what broke.
func failureOf(err error, status int, timeout string, lost func() string) run.Result {
	var said *jsonrpc.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return failed(run.FailedTimeout, "no answer within %s; whether it took effect is not known", timeout)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return failed(run.FailedAuth, "the server refused the credential (HTTP %d)", status)
	case status == http.StatusTooManyRequests, status >= 500:
		return failed(run.FailedUnavailable, "the server answered HTTP %d", status)
	case errors.Is(err, errTooLong):
		return failed(run.FailedTool, "the answer is longer than the limit")
	case errors.As(err, &said) && said.Code != codeRejected:
		switch said.Code {
		case codeNoAnswer:
			if status >= 400 {
				return failed(kindOfText(said.Message), "%s", said.Message)
			}
			return failed(run.FailedUnavailable, "%s; whether it took effect is not known", said.Message)
		case jsonrpc.CodeInvalidParams:
			return failed(run.FailedArgument, "%s", said.Message)
		case jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidRequest, jsonrpc.CodeParseError:
			return failed(run.FailedTool, "the server does not understand the call: %s", said.Message)
		}
		return failed(kindOfText(said.Message), "%s", said.Message)
	}
	return failed(run.FailedUnavailable, "the connection broke during the call (%s); whether it took effect is not known", lost())
}

// codeRejected is the SDK's own mark of a message that was not sent.
const codeRejected = -32005
