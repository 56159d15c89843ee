package ingest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"waymark/ingest/toolcall"
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
	return in.eachSpanFile("otel", emit, func(s *spans, l line) {
		if err := s.otlp(l); err != nil {
			s.t.drop(l.number, err)
		}
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
		session := otelSpan{rs.Resource().Attributes(), nil}.text(otelTable.span.session...)
		for j := range rs.ScopeSpans().Len() {
			list := rs.ScopeSpans().At(j).Spans()
			for k := range list.Len() {
				if sp := s.span(number, &otelTable, newOTelSpan(list.At(k), session), spanID{}); sp != nil {
					s.add(sp)
				}
			}
		}
	}
}

// otelTable names attributes and, with a leading "span.", what is derived from more than one or from other fields.
var otelTable = spanTable{
	format: "otel",
	span: spanPaths{id: []string{"span.id"}, trace: []string{"span.trace"}, parent: []string{"span.parent"},
		session: []string{"gen_ai.conversation.id", "session.id", "conversation.id", "thread.id", "traceloop.association.properties.session_id",
			"traceloop.association.properties.thread_id", "ai.telemetry.metadata.sessionId", "langfuse.session.id", "span.session"},
		begin: []string{"span.begin"}, end: []string{"span.end"}},
	kind: []string{"span.kind"}, calls: []string{"call"},
	agents:    []string{"invoke_agent", "create_agent", "chat", "generate_content", "text_completion", "agent", "llm", "ai.streamtext", "ai.generatetext"},
	callID:    []string{"gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool_use_id"},
	tool:      []string{"span.tool"},
	server:    []string{"mcp.server.name", "gen_ai.mcp.server.name"},
	arguments: []string{"gen_ai.tool.call.arguments", "ai.toolCall.args", "tool_arguments", "traceloop.entity.input", "input.value", "tool.parameters", "tool_parameters"},
	request:   []string{"gen_ai.input.messages", "user_prompt"},
	outcome: outcome{failed: []string{"span.failure"}, worked: []string{""}, failure: []string{"span.failure"},
		value: []string{"gen_ai.tool.call.result", "ai.toolCall.result", "tool_response", "traceloop.entity.output", "output.value"}},
}

// otelSpan gives a table access to a span.
type otelSpan struct {
	attributes pcommon.Map
	derived    map[string]string
}

func newOTelSpan(o ptrace.Span, session string) otelSpan {
	s := otelSpan{o.Attributes(), map[string]string{"span.session": session, "span.begin": moment(o.StartTimestamp()), "span.end": moment(o.EndTimestamp())}}
	if !o.TraceID().IsEmpty() && !o.SpanID().IsEmpty() { // else the protocol calls it invalid
		s.derived["span.id"], s.derived["span.trace"], s.derived["span.parent"] = o.SpanID().String(), o.TraceID().String(), o.ParentSpanID().String()
	}
	operation := s.text("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "ai.operationId")
	s.derived["span.kind"] = strings.ToLower(operation)
	if tool, ok := otelTool(o.Name(), s, operation); ok {
		s.derived["span.kind"], s.derived["span.tool"] = "call", tool
	}
	if failure := s.text("error.type", "exception.type"); o.Status().Code() == ptrace.StatusCodeError || failure != "" {
		s.derived["span.failure"] = cmp.Or(strings.TrimSpace(failure+" "+o.Status().Message()), "failure")
	}
	return s
}

// otelTool is the tool that a span is a call of.
func otelTool(name string, s otelSpan, operation string) (tool string, ok bool) {
	tool = s.text("gen_ai.tool.name", "mcp.tool.name", "tool.name", "ai.toolCall.name", "tool_name", "traceloop.entity.name")
	after := func(words string) string {
		rest, found := strings.CutPrefix(name, words+" ")
		if !found {
			return ""
		}
		return strings.TrimSpace(rest)
	}
	switch {
	case operation == "execute_tool":
		tool = cmp.Or(tool, after("execute_tool"))
	case s.text("mcp.method.name") == "tools/call":
		tool = cmp.Or(tool, after("tools/call"))
	case strings.EqualFold(operation, "tool"), operation == "ai.toolCall":
		tool = cmp.Or(tool, name)
	case name == "claude_code.tool":
	case operation == "" && s.text("gen_ai.tool.name") != "":
	default:
		return "", false
	}
	return tool, tool != ""
}

func (s otelSpan) text(names ...string) string {
	for _, name := range names {
		text := s.derived[name]
		if v, ok := s.attributes.Get(name); ok && !strings.HasPrefix(name, "span.") {
			text = v.AsString()
		}
		if text != "" {
			return text
		}
	}
	return ""
}

// value takes JSON out of a text that holds some.
func (s otelSpan) value(names ...string) json.RawMessage {
	for _, name := range names {
		if text := s.derived[name]; text != "" {
			return encode(text)
		}
		v, ok := s.attributes.Get(name)
		if !ok || strings.HasPrefix(name, "span.") {
			continue
		}
		if v.Type() != pcommon.ValueTypeStr {
			if b, err := json.Marshal(v.AsRaw()); err == nil { // JSON has no form of some numbers
				return b
			}
			continue
		}
		return toolcall.Unquoted(encode(v.Str()))
	}
	return nil
}

// moment is a time as text, empty if it is not known.
func moment(t pcommon.Timestamp) string {
	if t == 0 {
		return ""
	}
	return t.AsTime().Format(time.RFC3339Nano)
}
