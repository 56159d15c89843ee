package ingest

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"waymark/catalog"
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

// unmarshalOTLP reads traces in OTLP JSON, the JSON form of the protobuf messages but for ids in hexadecimal digits.
func unmarshalOTLP(text []byte) (*trace.TracesData, error) {
	td := new(trace.TracesData)
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, td); err != nil {
		return nil, notOTLP("JSON", err)
	}
	for _, rs := range td.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, sp := range ss.Spans {
				for _, id := range []*[]byte{&sp.TraceId, &sp.SpanId, &sp.ParentSpanId} {
					if err := readHex(id); err != nil {
						return nil, notOTLP("JSON", err)
					}
				}
			}
		}
	}
	return td, nil
}

// readHex undoes the base64 of protobuf's JSON, in which hexadecimal digits are as valid as others.
func readHex(id *[]byte) (err error) {
	digits := base64.StdEncoding.EncodeToString(*id)
	if *id, err = hex.DecodeString(digits); err != nil {
		return fmt.Errorf("id %q of a span is not hexadecimal", digits)
	}
	return nil
}

func unmarshalOTLPProtobuf(body []byte) (*trace.TracesData, error) {
	td := new(trace.TracesData) // its fields are those of an export request
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body, td); err != nil {
		return nil, notOTLP("protobuf", err)
	}
	return td, nil
}

// ErrNotOTLP is of a request or line that is no OTLP.
var ErrNotOTLP = errors.New("not OTLP")

func notOTLP(form string, err error) error {
	text := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ") // the library puts either space into its errors
	return fmt.Errorf("%w %s: %s", ErrNotOTLP, form, strings.ToValidUTF8(text[:min(len(text), 200)], "�"))
}

func (s *spans) otel(number int, td *trace.TracesData) {
	for _, rs := range td.ResourceSpans {
		resource := attributesOf(rs.Resource.GetAttributes())
		session, origin := resource.text(otelTable.span.session...), resource.origin()
		for _, ss := range rs.ScopeSpans {
			for _, o := range ss.Spans {
				if sp := s.span(number, &otelTable, newOTelSpan(o, session), spanID{}); sp != nil {
					sp.Origin = origin
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

// attributes are plain values by name: those of a span, and what is derived from them and its other fields.
type attributes map[string]any

func attributesOf(list []*common.KeyValue) attributes {
	a := attributes{}
	for _, kv := range list {
		if _, again := a[kv.Key]; !again && !strings.HasPrefix(kv.Key, "span.") {
			a[kv.Key] = plainValue(kv.Value)
		}
	}
	return a
}

// origin names the service of a resource and the instance or host it runs as.
func (a attributes) origin() string {
	instance := a.text("service.instance.id", "host.name", "host.id")
	return catalog.Cut(strings.Trim(a.text("service.name")+"@"+instance, "@"), catalog.MaxID)
}

func newOTelSpan(o *trace.Span, session string) attributes {
	a := attributesOf(o.Attributes)
	a["span.session"], a["span.begin"], a["span.end"] = session, otelTime(o.StartTimeUnixNano), otelTime(o.EndTimeUnixNano)
	if isID(o.TraceId) && isID(o.SpanId) { // else the protocol calls it invalid
		a["span.id"], a["span.trace"] = hex.EncodeToString(o.SpanId), hex.EncodeToString(o.TraceId)
		if isID(o.ParentSpanId) {
			a["span.parent"] = hex.EncodeToString(o.ParentSpanId)
		}
	}
	operation := a.text("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "ai.operationId")
	a["span.kind"] = strings.ToLower(operation)
	if tool, ok := otelTool(o.Name, a, operation); ok {
		a["span.kind"], a["span.tool"] = "call", tool
	}
	if failure := a.text("error.type", "exception.type"); o.Status.GetCode() == trace.Status_STATUS_CODE_ERROR || failure != "" {
		a["span.failure"] = cmp.Or(strings.TrimSpace(failure+" "+o.Status.GetMessage()), "failure")
	}
	return a
}

// isID reports whether an id is one: not absent and not of zeros alone.
func isID(id []byte) bool {
	return slices.ContainsFunc(id, func(b byte) bool { return b != 0 })
}

// otelTool is the tool that a span is a call of.
func otelTool(name string, s attributes, operation string) (tool string, ok bool) {
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

// text returns a text as it is and any other value as JSON.
func (a attributes) text(names ...string) string {
	for _, name := range names {
		text, ok := a[name].(string)
		if !ok && a[name] != nil {
			b, err := json.Marshal(a[name])
			if text = string(b); err != nil { // JSON has no form of some numbers
				text = fmt.Sprint(a[name])
			}
		}
		if text != "" {
			return text
		}
	}
	return ""
}

// plainValue returns a value as encoding/json has it; bytes are in base64 there.
func plainValue(v *common.AnyValue) any {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_BoolValue:
		return v.BoolValue
	case *common.AnyValue_IntValue:
		return v.IntValue
	case *common.AnyValue_DoubleValue:
		return v.DoubleValue
	case *common.AnyValue_BytesValue:
		return v.BytesValue
	case *common.AnyValue_ArrayValue:
		list := make([]any, len(v.ArrayValue.GetValues()))
		for i, value := range v.ArrayValue.GetValues() {
			list[i] = plainValue(value)
		}
		return list
	case *common.AnyValue_KvlistValue:
		object := map[string]any{}
		for _, field := range v.KvlistValue.GetValues() {
			object[field.GetKey()] = plainValue(field.GetValue())
		}
		return object
	}
	return nil
}

// value takes JSON out of a text that holds some.
func (a attributes) value(names ...string) json.RawMessage {
	for _, name := range names {
		if v := a[name]; v == nil || v == "" && strings.HasPrefix(name, "span.") {
			continue
		}
		if b, err := json.Marshal(a[name]); err == nil { // JSON has no form of some numbers
			return toolcall.Unquoted(b)
		}
	}
	return nil
}

// otelTime is a time in nanoseconds since 1970 as text, empty if it is not known.
func otelTime(nanoseconds uint64) string {
	if nanoseconds == 0 {
		return ""
	}
	return time.Unix(0, int64(nanoseconds)).UTC().Format(time.RFC3339Nano)
}
