package ingest

import (
	"cmp"
	"encoding/json"
	"io"
	"strings"

	"waymark/ingest/toolcall"
)

// spanTable says where the records of a trace format hold the parts of a span. Each list names fields, of which the first
// that is present counts, or conditions, see [holds].
type spanTable struct {
	format   string
	is       string // conditions of a record; others are skipped. "": every record is one
	pages    string // a list of records around the records
	body     string // the member of a record that may hold the rest of it
	children string // the list of a record's child records, which inherit its trace and parent

	span spanPaths

	calls, agents string // conditions
	others        string // of further kinds; any other is counted as skipped. "": none is skipped
	topIsTrace    bool   // a span without a parent belongs to the span that stands for the trace

	tool, server, arguments string
	only                    string // where arguments may stand alone, as an object
	callID                  string // none: the id of the span
	request                 string // of an agent or of a span without a parent: what the user asked for
	outcome                 outcome

	parentOf func(d *document) string // of a format that names the parent in more than a field
}

// spanPaths say where a record has the identity and times of its span.
type spanPaths struct {
	id, trace, parent, session string
	begin, end                 string
}

// toolFailed is how a tool that answered with an error shows in a span that is fine itself.
const toolFailed = "gen_ai.tool.status=error|failure|failed"

var spanTables = map[string]*spanTable{
	// Langfuse gives observations, in pages, lists or lines, or traces with their observations inside or beside:
	//
	//	{"data":[{"id","traceId","type":"TOOL","name","startTime","endTime","parentObservationId","sessionId","level",…}],"meta":{}}
	//	{"id":"t1","sessionId":"s1","input":…,"observations":[…]}
	//	{"trace":{"id":"t1",…},"observations":[…]}
	//
	// What came over OpenTelemetry keeps its attributes.
	"langfuse": {
		format: "langfuse", pages: "data", body: "trace", children: "observations", topIsTrace: true,
		span: spanPaths{id: "id", trace: "traceId", parent: "parentObservationId", session: "sessionId",
			begin: "startTime", end: "endTime"},
		calls: "type=TOOL", agents: "type=AGENT",
		others: "!type; type=GENERATION|SPAN|EVENT|CHAIN|RETRIEVER|EVALUATOR|EMBEDDING|GUARDRAIL",
		tool:   "metadata.attributes.gen_ai.tool.name metadata.attributes.mcp.tool.name metadata.attributes.tool.name name",
		server: "metadata.attributes.mcp.server.name", arguments: "input", request: "input",
		outcome: outcome{failed: "level=ERROR; metadata.attributes." + toolFailed, worked: "endTime",
			failure: "statusMessage", value: "output"},
	},
	// LangSmith gives runs, in pages, lists or lines, with their children beside or inside:
	//
	//	{"id","name","run_type":"tool","trace_id","parent_run_id","start_time","end_time","inputs","outputs","error","status","extra"}
	//	{"runs":[…]}     and child_runs in a run
	//
	// The conversation is named in the metadata; session_id of the run itself is a project.
	"langsmith": {
		format: "langsmith", pages: "runs", children: "child_runs", parentOf: langsmithParent,
		span: spanPaths{id: "id", trace: "trace_id", parent: "parent_run_id",
			session: "extra.metadata.session_id extra.metadata.thread_id extra.metadata.conversation_id",
			begin:   "start_time", end: "end_time"},
		calls: "run_type=tool", others: "run_type=llm|chain|retriever|prompt|parser|embedding",
		tool: "name", arguments: "inputs", only: "input", request: "inputs",
		outcome: outcome{failed: "error; status=error", worked: "status=success; end_time", failure: "error", value: "outputs"},
	},
	// A trace of the OpenAI Agents SDK. What a model is given as its input is the conversation so far, and no request.
	"agents": {
		format: "openai-chat", is: "object=trace|trace.span",
		span: spanPaths{id: "id", trace: "trace_id", parent: "parent_id", session: "group_id",
			begin: "started_at", end: "ended_at"},
		calls: "span_data.type=function", agents: "span_data.type=agent",
		tool: "span_data.name", server: "span_data.mcp_data.server", arguments: "span_data.input",
		outcome: outcome{failed: "error", worked: ".", failure: "error", value: "span_data.output"},
	},
}

// langsmithParent is the parent of a run that does not name it alone.
func langsmithParent(d *document) string {
	var parents []string
	if json.Unmarshal(d.value("parent_run_ids"), &parents) == nil && len(parents) > 0 {
		return parents[len(parents)-1]
	}
	parent := ""
	if parts := strings.Split(d.text("dotted_order"), "."); len(parts) > 1 {
		_, parent, _ = strings.Cut(parts[len(parts)-2], "Z")
	}
	return parent
}

// decodeSpans is the decoder of a format whose files hold JSON records that are spans.
func decodeSpans(table *spanTable) decoder {
	return func(in *input, emit func(Item) bool) error {
		return in.eachSpanFile(table.format, emit, func(s *spans, l line) { s.records(table, l) })
	}
}

// eachSpanFile reads files of JSON values that hold spans.
func (in *input) eachSpanFile(format string, emit func(Item) bool, read func(*spans, line)) error {
	t := in.traces(format)
	return in.eachTraceFile(t, emit, func(_ string, r io.Reader, more func() bool) error {
		s := newSpans(t)
		defer s.end()
		return eachValue(r, true, func(l line) bool {
			t.tally.Lines++
			read(s, l)
			return more()
		})
	})
}

// records adds the spans of a JSON value. A record with a field of a wrong type is dropped alone.
func (s *spans) records(table *spanTable, l line) {
	if d, err := newDocument(l); err != nil {
		s.t.drop(l.number, err)
	} else {
		s.record(l.number, table, d, spanID{}, 0)
	}
}

func (s *spans) record(number int, table *spanTable, d *document, parent spanID, depth int) {
	inside, paged := d.list(table.pages)
	if !paged {
		own := d
		if body := d.at(table.body); body != nil && body.at("id") != nil {
			own = body
		}
		sp := s.span(number, table, own, parent)
		if sp != nil {
			inside, _ = d.list(table.children)
			parent = spanID{sp.Trace, sp.ID}
		}
		if *d.problem == nil && sp != nil {
			s.add(sp)
		}
	}
	if *d.problem != nil {
		s.t.drop(number, *d.problem)
		*d.problem = nil
		return
	}
	for _, e := range inside {
		if depth < maxDepth {
			s.record(number, table, e, parent, depth+1)
		}
	}
}

// span reads one record; nil if it is none of the format.
func (s *spans) span(number int, table *spanTable, d *document, parent spanID) *Span {
	id := d.text(table.span.id)
	if table.is != "" && !holds(d, table.is) {
		id = ""
	}
	tool := called(d.text(table.tool))
	isCall, agent := tool != "" && holds(d, table.calls), holds(d, table.agents)
	known := isCall || agent || table.others == "" || holds(d, table.others)
	if !known || id == "" {
		s.t.skip()
	}
	if id == "" {
		return nil
	}
	sp := &Span{Trace: cmp.Or(d.text(table.span.trace), parent.trace, id), ID: id, Parent: cmp.Or(d.text(table.span.parent), parent.id),
		Session: d.text(table.span.session)}
	if sp.Parent == "" && table.parentOf != nil {
		sp.Parent = table.parentOf(d)
	}
	if sp.Parent == "" {
		if table.topIsTrace && id != sp.Trace {
			sp.Parent = sp.Trace
		} else {
			agent = known && !isCall
		}
	}
	if isCall {
		r := table.outcome.read(d)
		r.at = moment(d, table.span.end)
		arguments := d.value(table.arguments)
		if all := toolcall.Members(arguments); len(all) == 1 && toolcall.Members(toolcall.Unquoted(all[table.only])) != nil {
			arguments = toolcall.Unquoted(all[table.only])
		}
		s.call(sp, call{line: number, id: cmp.Or(d.text(table.callID), id), name: tool, server: d.text(table.server),
			arguments: arguments, at: moment(d, table.span.begin)}, r)
	}
	if sp.Agent = agent && !isCall; sp.Agent {
		sp.Intent = askedFor(d.value(table.request))
	}
	return sp
}
