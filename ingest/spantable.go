package ingest

import (
	"cmp"
	"strings"

	"waymark/ingest/hook"
)

// spanRow defines where the records of one program hold the parts of a span. Fields are paths, of which the first that
// is present is used, or conditions, see [holds]. A record becomes a document with its attributes and these parts,
// whose names begin with "span."; [conventions] define how such a document is interpreted.
type spanRow struct {
	known    string // conditions of supported spans; others are counted as skipped
	lists    string // members that hold records
	body     string // member that may hold the fields of a record
	children string // list of child records, which inherit trace and parent

	id, trace, parent, session string
	name, kind, begin, end     string
	status, message            string // message is the error text of a failure
	failure                    string // field that is present only if the span failed
	server, input, output      string
	attributes, events         string
	topIsTrace                 bool // a span without a parent is a child of the span whose id is the trace id
	only                       bool // the arguments may be wrapped in an object with the single member "input"
}

var spanRows = map[string]*spanRow{
	// OTLP in JSON, the rows that console exporters and Phoenix write for the same spans, and traces of OpenAI's Agents
	// SDK:
	//
	//	{"resourceSpans":[{"resource":{"attributes":[…]},"scopeSpans":[{"spans":[{"traceId","spanId","attributes":[{"key","value"}],…}]}]}]}
	//	{"context":{"trace_id","span_id"},"parent_id","name","span_kind","status_code","attributes":{…},…}
	//	{"data":[{"object":"trace","id","group_id"},{"object":"trace.span","id","trace_id","span_data":{…},…}]}
	"otel": {
		known: "spanId; span_id; context.span_id; object=trace|trace.span",
		lists: "resourceSpans resource_spans scopeSpans scope_spans spans data",
		id:    "spanId span_id context.span_id id", trace: "traceId trace_id context.trace_id",
		parent: "parentSpanId parent_span_id parent_id", session: "group_id",
		name: "name span_data.name", kind: "span_kind span_data.type",
		begin: "startTimeUnixNano start_time started_at", end: "endTimeUnixNano end_time ended_at",
		status: "status.code status.status_code status_code", failure: "error",
		message: "status.message status.description status_message",
		server:  "span_data.mcp_data.server", input: "span_data.input", output: "span_data.output",
		attributes: "attributes", events: "events",
	},
	// Langfuse exports observations in pages, lists or lines, or traces that contain their observations or come beside
	// them:
	//
	//	{"data":[{"id","traceId","type":"TOOL","name","startTime","endTime","parentObservationId","sessionId","level",…}],"meta":{}}
	//	{"id":"t1","sessionId":"s1","input":…,"observations":[…]}
	//	{"trace":{"id":"t1",…},"observations":[…]}
	//	{"id","trace_id","type":"TOOL","start_time","parent_observation_id",…}     exports into storage
	//
	// Observations that were received over OpenTelemetry keep their attributes.
	"langfuse": {
		lists: "data", body: "trace", children: "observations", topIsTrace: true,
		known: "!type; type=TOOL|AGENT|GENERATION|SPAN|EVENT|CHAIN|RETRIEVER|EVALUATOR|EMBEDDING|GUARDRAIL",
		id:    "id", trace: "traceId trace_id", parent: "parentObservationId parent_observation_id",
		session: "sessionId session_id",
		name:    "name", kind: "type", begin: "startTime start_time", end: "endTime end_time", status: "level",
		message: "statusMessage status_message",
		input:   "input", output: "output", attributes: "metadata.attributes",
	},
	// LangSmith exports runs in pages, lists or lines, with their child runs beside or inside them:
	//
	//	{"id","name","run_type":"tool","trace_id","parent_run_id","start_time","end_time","inputs","outputs","error","status","extra"}
	//	{"runs":[…]}     and child_runs in a run
	//
	// The metadata contains the conversation id; session_id of the run itself is a project.
	"langsmith": {
		lists: "runs", children: "child_runs", topIsTrace: true, only: true,
		known: "run_type=tool|llm|chain|retriever|prompt|parser|embedding",
		id:    "id", trace: "trace_id", parent: "parent_run_id",
		session: "extra.metadata.session_id extra.metadata.thread_id extra.metadata.conversation_id",
		name:    "name", kind: "run_type", begin: "start_time", end: "end_time", status: "status", failure: "error",
		input: "inputs", output: "outputs",
	},
}

// conventions define which span documents are calls, and which attributes hold the fields of a call:
//
//	GenAI             gen_ai.operation.name=execute_tool, gen_ai.tool.name; older: gen_ai.tool.name alone
//	MCP               mcp.method.name=tools/call, gen_ai.tool.name or mcp.tool.name, else the name of the span
//	OpenInference     openinference.span.kind=TOOL, tool.name
//	Traceloop         traceloop.span.kind=tool, traceloop.entity.name
//	Vercel AI SDK     ai.operationId=ai.toolCall, ai.toolCall.name
//	Claude Code       span claude_code.tool, tool_name
//	Langfuse          langfuse.observation.type=tool, and the kinds of rows
//
// The request is the last user message in the input of an agent span, if it is recorded. A failure is detected by the
// status, an error type, or a result that states it.
var conventions = struct {
	calls, agents, session, callID, tool, server, arguments, request string

	outcome outcome
}{
	calls: `gen_ai.operation.name=execute_tool; mcp.method.name=tools/call; openinference.span.kind=tool;
		traceloop.span.kind=tool; ai.operationId=ai.toolCall; span.name=claude_code.tool tool_name;
		gen_ai.tool.name !gen_ai.operation.name; langfuse.observation.type=tool; span.kind=tool|function`,
	agents: `gen_ai.operation.name=invoke_agent|create_agent|chat|generate_content|text_completion;
		openinference.span.kind=agent|llm; traceloop.span.kind=agent|llm; ai.operationId=ai.streamText|ai.generateText;
		langfuse.observation.type=agent|generation; span.kind=agent`,
	session: `gen_ai.conversation.id session.id conversation.id thread.id traceloop.association.properties.session_id
		traceloop.association.properties.thread_id ai.telemetry.metadata.sessionId langfuse.session.id span.session`,
	callID: "gen_ai.tool.call.id ai.toolCall.id tool_call.id tool_use_id span.id",
	tool:   "gen_ai.tool.name mcp.tool.name tool.name ai.toolCall.name tool_name traceloop.entity.name span.tool",
	server: "mcp.server.name gen_ai.mcp.server.name span.server",
	arguments: `gen_ai.tool.call.arguments gen_ai.tool.arguments gen_ai.tool.input ai.toolCall.args tool_arguments
		tool_call.function.arguments traceloop.entity.input input.value langfuse.observation.input
		tool.parameters tool_parameters span.input`,
	request: `gen_ai.input.messages user_prompt ai.prompt.messages ai.prompt pydantic_ai.all_messages all_messages_events
		gen_ai.prompt.0.content traceloop.entity.input langfuse.observation.input input.value span.input`,
	outcome: outcome{
		failed: `span.failure; error.type; exception.type; exception.message;
			span.status=error|STATUS_CODE_ERROR|StatusCode.ERROR|2|failed; langfuse.observation.level=error;
			gen_ai.tool.status=error|failure|failed; tool.status=error|failure|failed; tool_call.status=error|failure|failed`,
		worked: "span.end; span.status=success", says: true, failure: "span.text",
		value: `gen_ai.tool.call.result gen_ai.tool.result gen_ai.tool.output ai.toolCall.result tool_response
			traceloop.entity.output output.value langfuse.observation.output span.output content`,
	},
}

// spanDecoder returns the decoder of files of JSON values that contain spans.
func spanDecoder(format string) decoder {
	return traceDecoder(format, eachValue, func(t *traces, _ string) (func(line), func()) {
		s := newSpans(t)
		return func(l line) { s.read(spanRows[format], l) }, s.end
	})
}

// read adds the spans of a record, or of a list of records.
func (s *spans) read(row *spanRow, l line) {
	d, err := newDocument(l)
	if err != nil {
		s.t.tally.Lines++
		s.t.drop(l.number, err)
		return
	}
	list, isList := d.elements()
	for _, e := range list {
		s.read(row, line{number: l.number, data: e.raw})
	}
	if !isList {
		s.record(l.number, row, d, &Span{}, 0)
	}
}

// record adds the span of a record, and the spans inside it. Trace, session and origin are inherited from the parent, up.
func (s *spans) record(number int, row *spanRow, d *document, up *Span, depth int) {
	above := *up
	if resource := d.at("resource"); resource != nil {
		r := row.document(resource, resource.at("attributes"))
		above.Session, above.Origin = cmp.Or(r.text(conventions.session), above.Session), originOf(r)
	}
	above.Session = cmp.Or(d.text(row.session), above.Session)
	inside, isList := []*document(nil), false
	for list := range strings.FieldsSeq(row.lists) {
		if !isList {
			inside, isList = d.at(list).elements()
		}
	}
	if !isList {
		s.t.tally.Lines++
		own := d
		if body := d.at(row.body); row.body != "" && body.at("id") != nil {
			own = body
		}
		if sp := s.span(number, row, own, &above); sp != nil {
			inside, _ = d.at(row.children).elements()
			above.Trace, above.ID = sp.Trace, sp.ID
			s.add(sp)
		}
	}
	for _, e := range inside {
		if depth < maxDepth {
			s.record(number, row, e, &above, depth+1)
		}
	}
}

// span reads one record. It returns nil if the record has no id.
func (s *spans) span(number int, row *spanRow, record *document, up *Span) *Span {
	id, c := record.text(row.id), &conventions
	var attributes *document
	if row.attributes != "" {
		attributes = record.at(row.attributes)
	}
	d := row.document(record, attributes)
	tool := d.text(c.tool)
	isCall, agent := tool != "" && holds(d, c.calls), holds(d, c.agents)
	known := isCall || agent || holds(record, row.known)
	if id == "" || !known {
		s.t.skip()
	}
	if id == "" {
		return nil
	}
	sp := &Span{Trace: cmp.Or(record.text(row.trace), up.Trace, id), ID: id, Parent: cmp.Or(record.text(row.parent), up.ID),
		Session: cmp.Or(d.text(c.session), up.Session), Origin: up.Origin}
	if sp.Parent == "" {
		if row.topIsTrace && id != sp.Trace {
			sp.Parent = sp.Trace
		} else {
			agent = known
		}
	}
	if isCall {
		r := c.outcome.read(d)
		r.at = moment(d, "span.end")
		arguments := d.value(c.arguments)
		if all := hook.Members(arguments); row.only && len(all) == 1 && hook.Members(hook.Unquoted(all["input"])) != nil {
			arguments = hook.Unquoted(all["input"])
		}
		s.call(sp, call{line: number, id: d.text(c.callID), name: tool, server: d.text(c.server),
			arguments: arguments, at: moment(d, "span.begin")}, r)
	} else if sp.Agent = agent; agent {
		sp.Intent = askedFor(d.value(c.request))
	}
	return sp
}
