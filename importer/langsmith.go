package importer

import (
	"cmp"
	"encoding/json"
	"strings"

	"waymark/episodic"
	"waymark/toolcall"
)

// LangSmith gives runs, in pages, lists or lines, with their children beside or inside:
//
//	{"id","name","run_type":"tool","trace_id","parent_run_id","start_time","end_time","inputs","outputs","error","status","extra"}
//	{"runs":[…]}     and child_runs in a run
//
// A call is a run of type tool. The conversation is in its metadata (session_id, thread_id or
// conversation_id); session_id of the run itself is a project. The inputs of a run without a parent are
// the request.
func decodeLangSmith(in *input, emit func(Item) bool) error {
	return in.eachSpanFile("langsmith", emit, func(s *spans, l line) error {
		var v struct {
			Runs []langsmithRun `json:"runs"`
			langsmithRun
		}
		if err := l.decode(&v); err != nil {
			return err
		}
		if v.Runs == nil {
			v.Runs = []langsmithRun{v.langsmithRun}
		}
		for i := range v.Runs {
			s.langsmith(l.number, &v.Runs[i], 0)
		}
		return nil
	})
}

type langsmithRun struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Type     string          `json:"run_type"`
	TraceID  string          `json:"trace_id"`
	Parent   string          `json:"parent_run_id"`
	Parents  []string        `json:"parent_run_ids"`
	Dotted   string          `json:"dotted_order"`
	Start    string          `json:"start_time"`
	End      string          `json:"end_time"`
	Inputs   json.RawMessage `json:"inputs"`
	Outputs  json.RawMessage `json:"outputs"`
	Error    string          `json:"error"`
	Status   string          `json:"status"`
	Children []langsmithRun  `json:"child_runs"`
	Extra    struct {
		Metadata map[string]json.RawMessage `json:"metadata"`
	} `json:"extra"`
}

func (s *spans) langsmith(number int, v *langsmithRun, depth int) {
	if v.ID == "" || v.Type == "" {
		s.t.skip()
		return
	}
	parent := v.Parent
	if parent == "" && len(v.Parents) > 0 {
		parent = v.Parents[len(v.Parents)-1]
	}
	if parts := strings.Split(v.Dotted, "."); parent == "" && len(parts) > 1 {
		_, parent, _ = strings.Cut(parts[len(parts)-2], "Z")
	}
	trace := cmp.Or(v.TraceID, v.ID)
	sp := &span{id: spanID{trace, v.ID}, parent: spanID{trace, parent}, session: toolcall.FirstText(v.Extra.Metadata, "session_id", "thread_id", "conversation_id")}
	started, _ := readTime(v.Start)
	ended, _ := readTime(v.End)
	switch v.Type {
	case "tool":
		r := result{value: v.Outputs, at: ended}
		switch {
		case v.Error != "" || v.Status == "error":
			r.outcome, r.text = episodic.Failure, v.Error
		case v.Status == "success" || v.End != "":
			r.outcome = episodic.Success
		}
		s.call(sp, call{line: number, id: v.ID, name: v.Name, arguments: toolInputs(v.Inputs), at: started}, r)
	case "llm", "chain", "retriever", "prompt", "parser", "embedding":
		if parent == "" {
			sp.agent, sp.intent = true, askedFor(v.Inputs)
		}
	default:
		s.t.skip()
	}
	s.add(sp)
	for i := range v.Children {
		if depth < maxDepth {
			c := &v.Children[i]
			c.TraceID, c.Parent = cmp.Or(c.TraceID, trace), cmp.Or(c.Parent, v.ID)
			s.langsmith(number, c, depth+1)
		}
	}
}

// toolInputs are the arguments of a tool, which may stand as JSON in a string under input.
func toolInputs(v json.RawMessage) json.RawMessage {
	if m := toolcall.Members(v); len(m) == 1 {
		if inner := toolcall.Members(toolcall.Unquoted(m["input"])); inner != nil {
			return toolcall.Unquoted(m["input"])
		}
	}
	return v
}
