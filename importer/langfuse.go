package importer

import (
	"encoding/json"
	"io"

	"waymark/episodic"
)

// Langfuse gives observations, in pages, lists or lines, or traces with their observations inside:
//
//	{"data":[{"id","traceId","type":"TOOL","name","startTime","endTime","parentObservationId","sessionId","level",…}],"meta":{}}
//	{"id":"t1","sessionId":"s1","input":…,"observations":[…]}
//
// A call is an observation of type TOOL. It failed if its level is ERROR, and worked if it has an end.
// What a trace or an agent was given as its input is the request.
func decodeLangfuse(in *input, emit func(Item) bool) error {
	return in.eachSpanFile("langfuse", emit, func(s *spans, l line) error {
		var v langfuseObject
		if err := l.decode(&v); err != nil {
			return err
		}
		return s.langfuse(l.number, &v)
	})
}

// eachSpanFile reads files of values that hold spans.
func (in *input) eachSpanFile(format string, emit func(Item) bool, read func(*spans, line) error) error {
	t := in.traces(format)
	return in.eachTraceFile(t, []string{".json", ".jsonl", ".ndjson"}, emit, func(_ string, r io.Reader, more func() bool) error {
		s := newSpans(t)
		defer s.end()
		return eachValue(r, true, func(l line) bool {
			t.tally.Lines++
			if err := read(s, l); err != nil {
				t.drop(l.number, err)
			}
			return more()
		})
	})
}

type langfuseObject struct {
	Data         []langfuseObject `json:"data"`
	Observations []langfuseObject `json:"observations"`

	ID        string          `json:"id"`
	TraceID   string          `json:"traceId"`
	Parent    string          `json:"parentObservationId"`
	SessionID string          `json:"sessionId"`
	Type      string          `json:"type"`
	Name      string          `json:"name"`
	Start     string          `json:"startTime"`
	End       string          `json:"endTime"`
	Level     string          `json:"level"`
	Status    string          `json:"statusMessage"`
	Input     json.RawMessage `json:"input"`
	Output    json.RawMessage `json:"output"`
}

func (s *spans) langfuse(number int, v *langfuseObject) error {
	for i := range v.Data {
		if err := s.langfuse(number, &v.Data[i]); err != nil {
			return err
		}
	}
	if v.Data != nil {
		return nil
	}
	if v.TraceID == "" { // a trace
		if v.ID == "" {
			s.t.skip()
			return nil
		}
		s.add(&span{id: spanID{v.ID, v.ID}, session: v.SessionID, intent: askedFor(v.Input), agent: true})
		for i := range v.Observations {
			o := &v.Observations[i]
			if o.TraceID == "" {
				o.TraceID = v.ID
			}
			if err := s.langfuse(number, o); err != nil {
				return err
			}
		}
		return nil
	}
	parent := v.Parent
	if parent == "" {
		parent = v.TraceID
	}
	sp := &span{id: spanID{v.TraceID, v.ID}, parent: spanID{v.TraceID, parent}, session: v.SessionID}
	started, _ := readTime(v.Start)
	ended, _ := readTime(v.End)
	switch v.Type {
	case "TOOL":
		r := result{value: v.Output, at: ended}
		switch {
		case v.Level == "ERROR":
			r.outcome, r.text = episodic.Failure, v.Status
		case v.End != "":
			r.outcome = episodic.Success
		}
		s.call(sp, call{line: number, id: v.ID, name: v.Name, arguments: v.Input, at: started}, r)
	case "AGENT":
		sp.agent, sp.intent = true, askedFor(v.Input)
	case "GENERATION", "SPAN", "EVENT", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL":
	default:
		s.t.skip()
	}
	s.add(sp)
	return nil
}
