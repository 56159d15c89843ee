package ingest

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"waymark/catalog"
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
	d, err := newDocument(l)
	if err != nil {
		return err
	}
	if !holds(d, "resourceSpans; resource_spans") { // logs or metrics
		s.t.skip()
		return nil
	}
	td, err := unmarshalOTLP(l.data)
	if err == nil {
		s.otel(l.number, td)
	}
	return err
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
		resource := recordOf(attributesOf(rs.Resource.GetAttributes()))
		instance := resource.text("service.instance.id host.name host.id")
		origin := catalog.Cut(strings.Trim(resource.text("service.name")+"@"+instance, "@"), catalog.MaxID)
		for _, ss := range rs.ScopeSpans {
			for _, o := range ss.Spans {
				a := attributesOf(o.Attributes)
				a["span.session"] = resource.text(otelTable.span.session)
				if sp := s.span(number, &otelTable, otelSpan(o, a), spanID{}); sp != nil {
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
	span: spanPaths{id: "span.id", trace: "span.trace", parent: "span.parent",
		session: `gen_ai.conversation.id session.id conversation.id thread.id traceloop.association.properties.session_id
			traceloop.association.properties.thread_id ai.telemetry.metadata.sessionId langfuse.session.id span.session`,
		begin: "span.begin", end: "span.end"},
	calls: `gen_ai.operation.name=execute_tool; mcp.method.name=tools/call; openinference.span.kind=TOOL|Tool|tool;
		traceloop.span.kind=tool; ai.operationId=ai.toolCall; span.name=claude_code.tool; gen_ai.tool.name !gen_ai.operation.name`,
	agents: `gen_ai.operation.name=invoke_agent|create_agent|chat|generate_content|text_completion;
		openinference.span.kind=AGENT|Agent|agent|LLM|llm; traceloop.span.kind=agent|llm; ai.operationId=ai.streamText|ai.generateText`,
	callID: "gen_ai.tool.call.id ai.toolCall.id tool_call.id tool_use_id",
	tool:   "gen_ai.tool.name mcp.tool.name tool.name ai.toolCall.name tool_name traceloop.entity.name span.tool",
	server: "mcp.server.name gen_ai.mcp.server.name",
	arguments: `gen_ai.tool.call.arguments ai.toolCall.args tool_arguments traceloop.entity.input input.value tool.parameters
		tool_parameters`,
	request: "gen_ai.input.messages user_prompt",
	outcome: outcome{failed: "span.failure", worked: ".", failure: "span.failure",
		value: "gen_ai.tool.call.result ai.toolCall.result tool_response traceloop.entity.output output.value"},
}

// attributesOf are values by name, as encoding/json has them. A truth value or number alone is a text.
func attributesOf(list []*common.KeyValue) map[string]any {
	a := map[string]any{}
	for _, kv := range list {
		if _, again := a[kv.Key]; again || strings.HasPrefix(kv.Key, "span.") {
			continue
		}
		switch v := plainValue(kv.Value).(type) {
		case bool, int64, float64:
			a[kv.Key] = fmt.Sprint(v)
		default:
			a[kv.Key] = v
		}
	}
	return a
}

func recordOf(attributes map[string]any) *document {
	return &document{raw: encode(attributes), problem: new(error)}
}

// otelSpan is a span as a record: its attributes, and what is derived from them and its other fields.
func otelSpan(o *trace.Span, a map[string]any) *document {
	a["span.name"], a["span.begin"], a["span.end"] = o.Name, otelTime(o.StartTimeUnixNano), otelTime(o.EndTimeUnixNano)
	if isID(o.TraceId) && isID(o.SpanId) { // else the protocol calls it invalid
		a["span.id"], a["span.trace"] = hex.EncodeToString(o.SpanId), hex.EncodeToString(o.TraceId)
		if isID(o.ParentSpanId) {
			a["span.parent"] = hex.EncodeToString(o.ParentSpanId)
		}
	}
	d := recordOf(a)
	if tool := called(o.Name); tool != o.Name || holds(d, "openinference.span.kind; traceloop.span.kind; ai.operationId") {
		a["span.tool"] = tool
	}
	failure := d.text("error.type exception.type")
	if o.Status.GetCode() == trace.Status_STATUS_CODE_ERROR || failure != "" || holds(d, toolFailed) {
		a["span.failure"] = cmp.Or(strings.TrimSpace(failure+" "+o.Status.GetMessage()), "failure")
	}
	return recordOf(a)
}

// called takes the operation out of the name of a span.
func called(name string) string {
	for _, operation := range []string{"execute_tool ", "tools/call "} {
		if tool, ok := strings.CutPrefix(name, operation); ok {
			return strings.TrimSpace(tool)
		}
	}
	return name
}

// isID reports whether an id is one: not absent and not of zeros alone.
func isID(id []byte) bool {
	return slices.ContainsFunc(id, func(b byte) bool { return b != 0 })
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
		if math.IsNaN(v.DoubleValue) || math.IsInf(v.DoubleValue, 0) { // JSON has no form of these
			return fmt.Sprint(v.DoubleValue)
		}
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

// otelTime is a time in nanoseconds since 1970 as text, empty if it is not known.
func otelTime(nanoseconds uint64) string {
	if nanoseconds == 0 {
		return ""
	}
	return time.Unix(0, int64(nanoseconds)).UTC().Format(time.RFC3339Nano)
}
