package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"waymark/episodic"
	"waymark/toolcall"
)

// OpenTelemetry traces, as the file exporter of a collector writes them (one export request a line) or as
// one document. Calls are spans that say so by any of these conventions:
//
//	GenAI             gen_ai.operation.name=execute_tool, gen_ai.tool.name
//	MCP               mcp.method.name=tools/call, gen_ai.tool.name or mcp.tool.name, else the name of the span
//	OpenInference     openinference.span.kind=TOOL, tool.name
//	Traceloop         traceloop.span.kind=tool, traceloop.entity.name
//	Vercel AI SDK     ai.operationId=ai.toolCall, ai.toolCall.name
//	Claude Code       span claude_code.tool, tool_name
//	older GenAI       gen_ai.tool.name alone
//
// The session is gen_ai.conversation.id or session.id of the span, of one above it or of its resource, else
// the trace. The request is the last message of the user in gen_ai.input.messages of an agent's span,
// where that is recorded.
func decodeOTel(in *input, emit func(Item) bool) error {
	t := in.traces("otel")
	return in.eachTraceFile(t, []string{".json", ".jsonl", ".ndjson"}, emit, func(_ string, r io.Reader, more func() bool) error {
		s := newSpans(t)
		defer s.end()
		return eachValue(r, true, func(l line) bool {
			t.tally.Lines++
			if err := s.otlp(l); err != nil {
				t.drop(l.number, err)
			}
			return more()
		})
	})
}

func (s *spans) otlp(l line) error {
	var head struct {
		Spans json.RawMessage `json:"resourceSpans"`
		Snake json.RawMessage `json:"resource_spans"`
	}
	if err := l.decode(&head); err != nil {
		return err
	}
	if len(head.Spans) == 0 && len(head.Snake) == 0 { // logs or metrics
		s.t.skip()
		return nil
	}
	td, err := unmarshalOTLP(l.data)
	if err != nil {
		return err
	}
	s.otel(l.number, td)
	return nil
}

func unmarshalOTLP(text []byte) (ptrace.Traces, error) {
	if !json.Valid(text) { // the decoder reads much that is none
		return ptrace.Traces{}, fmt.Errorf("%w JSON", ErrNotOTLP)
	}
	return guardOTLP("JSON", func() (ptrace.Traces, error) { return new(ptrace.JSONUnmarshaler).UnmarshalTraces(text) })
}

// ErrNotOTLP is of a request or line that is no OTLP.
var ErrNotOTLP = errors.New("not OTLP")

// guardOTLP is against the decoder's own failures: it is somebody else's and reads anything.
func guardOTLP(form string, read func() (ptrace.Traces, error)) (td ptrace.Traces, err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("%w %s", ErrNotOTLP, form)
		}
	}()
	td, err = read()
	if err != nil {
		text := err.Error()
		err = fmt.Errorf("%w %s: %s", ErrNotOTLP, form, strings.ToValidUTF8(text[:min(len(text), 200)], "�"))
	}
	return td, err
}

func (s *spans) otel(number int, td ptrace.Traces) {
	for i := range td.ResourceSpans().Len() {
		rs := td.ResourceSpans().At(i)
		session := attribute(rs.Resource().Attributes(), sessionNames...)
		for j := range rs.ScopeSpans().Len() {
			list := rs.ScopeSpans().At(j).Spans()
			for k := range list.Len() {
				s.otelSpan(number, list.At(k), session)
			}
		}
	}
}

var (
	sessionNames = []string{"gen_ai.conversation.id", "session.id", "conversation.id", "thread.id", "traceloop.association.properties.session_id",
		"traceloop.association.properties.thread_id", "ai.telemetry.metadata.sessionId", "langfuse.session.id"}
	requestNames   = []string{"gen_ai.input.messages", "user_prompt"}
	argumentNames  = []string{"gen_ai.tool.call.arguments", "ai.toolCall.args", "tool_arguments", "traceloop.entity.input", "input.value", "tool.parameters", "tool_parameters"}
	resultNames    = []string{"gen_ai.tool.call.result", "ai.toolCall.result", "tool_response", "traceloop.entity.output", "output.value"}
	callNames      = []string{"gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool_use_id"}
	toolNames      = []string{"gen_ai.tool.name", "mcp.tool.name", "tool.name", "ai.toolCall.name", "tool_name", "traceloop.entity.name"}
	serverNames    = []string{"mcp.server.name", "gen_ai.mcp.server.name"}
	failureNames   = []string{"error.type", "exception.type"}
	agentKinds     = []string{"invoke_agent", "create_agent", "chat", "generate_content", "text_completion", "agent", "llm", "ai.streamText", "ai.generateText"}
	operationNames = []string{"gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "ai.operationId"}
)

func (s *spans) otelSpan(number int, o ptrace.Span, session string) {
	a := o.Attributes()
	if o.TraceID().IsEmpty() || o.SpanID().IsEmpty() { // not valid, says the protocol
		s.t.skip()
		return
	}
	trace := o.TraceID().String()
	sp := &span{id: spanID{trace, o.SpanID().String()}, parent: spanID{trace, o.ParentSpanID().String()}}
	if sp.parent.id == "" {
		sp.parent = spanID{}
	}
	sp.session = cmp.Or(attribute(a, sessionNames...), session)
	operation := attribute(a, operationNames...)
	tool, isTool := otelTool(o, a, operation)
	if isTool {
		r := result{outcome: episodic.Success, at: moment(o.EndTimestamp()), value: value(a, resultNames...)}
		failure := attribute(a, failureNames...)
		if o.Status().Code() == ptrace.StatusCodeError || failure != "" {
			r.outcome, r.text = episodic.Failure, strings.TrimSpace(failure+" "+o.Status().Message())
		}
		s.call(sp, call{line: number, id: cmp.Or(attribute(a, callNames...), sp.id.id), name: tool, server: attribute(a, serverNames...),
			arguments: value(a, argumentNames...), at: moment(o.StartTimestamp())}, r)
	} else {
		sp.agent = slices.ContainsFunc(agentKinds, func(k string) bool { return strings.EqualFold(k, operation) })
		if sp.agent || sp.parent.id == "" {
			if request := value(a, requestNames...); len(request) > 0 {
				sp.intent = askedFor(request)
			}
		}
	}
	s.add(sp)
}

// otelTool is the tool that a span is a call of.
func otelTool(o ptrace.Span, a pcommon.Map, operation string) (tool string, ok bool) {
	tool = attribute(a, toolNames...)
	afterName := func(words string) string {
		rest, _ := strings.CutPrefix(o.Name(), words)
		return strings.TrimSpace(rest)
	}
	switch {
	case operation == "execute_tool":
		if tool == "" && strings.HasPrefix(o.Name(), "execute_tool ") {
			tool = afterName("execute_tool")
		}
	case attribute(a, "mcp.method.name") == "tools/call":
		if tool == "" && strings.HasPrefix(o.Name(), "tools/call ") {
			tool = afterName("tools/call")
		}
	case strings.EqualFold(operation, "tool"), operation == "ai.toolCall":
		tool = cmp.Or(tool, o.Name())
	case o.Name() == "claude_code.tool":
	case operation == "" && attribute(a, "gen_ai.tool.name") != "":
	default:
		return "", false
	}
	return tool, tool != ""
}

// attribute is the first of some attributes that is there, as text.
func attribute(a pcommon.Map, names ...string) string {
	for _, name := range names {
		if v, ok := a.Get(name); ok && v.AsString() != "" {
			return v.AsString()
		}
	}
	return ""
}

// value is the first of some attributes that is there, as JSON: a text may hold some.
func value(a pcommon.Map, names ...string) json.RawMessage {
	for _, name := range names {
		v, ok := a.Get(name)
		if !ok {
			continue
		}
		if v.Type() != pcommon.ValueTypeStr {
			if b, err := json.Marshal(v.AsRaw()); err == nil { // a number that JSON has no word for is left out
				return b
			}
			continue
		}
		return toolcall.Unquoted(encode(v.Str()))
	}
	return nil
}

func moment(t pcommon.Timestamp) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return t.AsTime()
}
