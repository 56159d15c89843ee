package ingest

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"waymark/ingest/toolcall"
)

// spanTable says where the records of a trace format hold the parts of a span. Each list names fields; the first
// that is present counts.
type spanTable struct {
	format   string
	is       []string // conditions of a record, see [holds]; others are skipped. nil: every record is one
	pages    string   // a list of records around the records
	children string   // the list of a record's child records, which inherit its trace and parent

	span spanPaths

	kind          []string // what a span is
	calls, agents []string // kinds
	others        []string // further kinds; any other is counted as skipped. nil: none is skipped
	topIsTrace    bool     // a span without a parent belongs to the span that stands for the trace

	tool, server, arguments []string
	callID                  []string // none: the id of the span
	request                 []string // of an agent or of a span without a parent: what the user asked for
	outcome                 outcome

	convert func(f fields) fields // of a format whose fields need more than a name
}

// spanPaths say where a record has the identity and times of its span.
type spanPaths struct {
	id, trace, parent, session []string
	begin, end                 []string
}

var spanTables = map[string]*spanTable{
	// Langfuse gives observations, in pages, lists or lines, or traces with their observations inside:
	//
	//	{"data":[{"id","traceId","type":"TOOL","name","startTime","endTime","parentObservationId","sessionId","level",…}],"meta":{}}
	//	{"id":"t1","sessionId":"s1","input":…,"observations":[…]}
	"langfuse": {
		format: "langfuse", pages: "data", children: "observations", topIsTrace: true,
		span: spanPaths{id: []string{"id"}, trace: []string{"traceId"}, parent: []string{"parentObservationId"}, session: []string{"sessionId"},
			begin: []string{"startTime"}, end: []string{"endTime"}},
		kind: []string{"type"}, calls: []string{"TOOL"}, agents: []string{"AGENT"},
		others: []string{"", "GENERATION", "SPAN", "EVENT", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"},
		tool:   []string{"name"}, arguments: []string{"input"}, request: []string{"input"},
		outcome: outcome{failed: []string{"level=ERROR"}, worked: []string{"endTime"}, failure: []string{"statusMessage"}, value: []string{"output"}},
	},
	// LangSmith gives runs, in pages, lists or lines, with their children beside or inside:
	//
	//	{"id","name","run_type":"tool","trace_id","parent_run_id","start_time","end_time","inputs","outputs","error","status","extra"}
	//	{"runs":[…]}     and child_runs in a run
	//
	// The conversation is named in the metadata; session_id of the run itself is a project.
	"langsmith": {
		format: "langsmith", pages: "runs", children: "child_runs",
		span: spanPaths{id: []string{"id"}, trace: []string{"trace_id"}, parent: []string{"parent_run_id", "last parent"},
			session: []string{"session"}, begin: []string{"start_time"}, end: []string{"end_time"}},
		kind: []string{"run_type"}, calls: []string{"tool"}, others: []string{"llm", "chain", "retriever", "prompt", "parser", "embedding"},
		tool: []string{"name"}, arguments: []string{"arguments"}, request: []string{"inputs"},
		outcome: outcome{failed: []string{"error", "status=error"}, worked: []string{"status=success", "end_time"}, failure: []string{"error"}, value: []string{"outputs"}},
		convert: func(f fields) fields { return langsmithRun{f} },
	},
	// A trace of the OpenAI Agents SDK. What a model is given as its input is the conversation so far, and no request.
	"agents": {
		format: "openai-chat", is: []string{"object=trace", "object=trace.span"},
		span: spanPaths{id: []string{"id"}, trace: []string{"trace_id"}, parent: []string{"parent_id"}, session: []string{"group_id"},
			begin: []string{"started_at"}, end: []string{"ended_at"}},
		kind: []string{"span_data.type"}, calls: []string{"function"}, agents: []string{"agent"},
		tool: []string{"span_data.name"}, server: []string{"span_data.mcp_data.server"}, arguments: []string{"span_data.input"},
		outcome: outcome{failed: []string{"error"}, worked: []string{""}, failure: []string{"error"}, value: []string{"span_data.output"}},
	},
}

// langsmithRun derives the session of a run, the parent if the run does not name it, and the arguments of a tool.
type langsmithRun struct{ fields }

func (r langsmithRun) text(names ...string) string {
	if slices.Contains(names, "session") {
		return toolcall.FirstText(toolcall.Members(r.fields.value("extra.metadata")), "session_id", "thread_id", "conversation_id")
	}
	if text := r.fields.text(names...); text != "" || !slices.Contains(names, "last parent") {
		return text
	}
	var parents []string
	if json.Unmarshal(r.fields.value("parent_run_ids"), &parents) == nil && len(parents) > 0 {
		return parents[len(parents)-1]
	}
	parent := ""
	if parts := strings.Split(r.fields.text("dotted_order"), "."); len(parts) > 1 {
		_, parent, _ = strings.Cut(parts[len(parts)-2], "Z")
	}
	return parent
}

// value takes arguments out of the JSON text that may stand alone under input.
func (r langsmithRun) value(names ...string) json.RawMessage {
	if !slices.Contains(names, "arguments") {
		return r.fields.value(names...)
	}
	inputs := r.fields.value("inputs")
	if m := toolcall.Members(inputs); len(m) == 1 {
		if inner := toolcall.Unquoted(m["input"]); toolcall.Members(inner) != nil {
			return inner
		}
	}
	return inputs
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
	return in.eachTraceFile(t, []string{".json", ".jsonl", ".ndjson"}, emit, func(_ string, r io.Reader, more func() bool) error {
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
		var f fields = d
		if table.convert != nil {
			f = table.convert(f)
		}
		sp := s.span(number, table, f, parent)
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
func (s *spans) span(number int, table *spanTable, f fields, parent spanID) *Span {
	id, kind := f.text(table.span.id...), f.text(table.kind...)
	if table.is != nil && !holds(f, table.is) {
		id = ""
	}
	isCall, agent := slices.Contains(table.calls, kind), slices.Contains(table.agents, kind)
	known := isCall || agent || table.others == nil || slices.Contains(table.others, kind)
	if !known || id == "" {
		s.t.skip()
	}
	if id == "" || kind == "" && !known {
		return nil
	}
	sp := &Span{Trace: cmp.Or(f.text(table.span.trace...), parent.trace, id), ID: id, Parent: cmp.Or(f.text(table.span.parent...), parent.id),
		Session: f.text(table.span.session...)}
	if sp.Parent == "" {
		if table.topIsTrace && id != sp.Trace {
			sp.Parent = sp.Trace
		} else {
			agent = known && !isCall
		}
	}
	started, _ := readTime(f.text(table.span.begin...))
	ended, _ := readTime(f.text(table.span.end...))
	if isCall {
		r := table.outcome.read(f)
		r.at = ended
		s.call(sp, call{line: number, id: cmp.Or(f.text(table.callID...), id), name: f.text(table.tool...), server: f.text(table.server...),
			arguments: f.value(table.arguments...), at: started}, r)
	}
	if sp.Agent = agent && !isCall; sp.Agent {
		sp.Intent = askedFor(f.value(table.request...))
	}
	return sp
}
