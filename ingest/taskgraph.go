package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/internal/strictjson"
)

// The layout of TaskBench (Shen et al. 2023) and GNN4TaskPlan (Wu et al. 2024):
//
//	tool_desc.json   {"nodes":[{"id","desc","parameters":[{"name","type","desc"}]}]}
//	                 or with "input-type":["image"], "output-type":["text"]
//	graph_desc.json  {"nodes":[as above],"links":[{"source","target"}]}
//	data.json        a line a request: {"id","user_request","task_nodes":[{"task"}],"task_links":[{"source","target"}]}
//	split_ids.json   {"test_ids":{"chain":[ids],"single":[ids]}}
//
// A request is an episode that succeeded (the plans are checked ones), its id the name of the folder
// and its number. The ids listed in split_ids.json are the test part, all others the train part. The
// links of graph_desc.json are what could follow what, partly derived from the test plans; they are
// no history and not read.
func decodeTaskgraph(in *input, emit func(Item) bool) error {
	if in.stream != nil {
		return errors.New("a task graph is several files: give the folder")
	}
	more, found, known := true, 0, map[string]bool{}
	for _, name := range []string{"tool_desc.json", "graph_desc.json"} {
		if !exists(in.fsys, name) {
			continue
		}
		found++
		if err := taskgraphTools(in, name, known, func(it Item) bool { more = emit(it); return more }); err != nil || !more {
			return err
		}
	}
	if exists(in.fsys, "data.json") {
		test, err := testIDs(in.fsys)
		if err != nil {
			return err
		}
		return taskgraphEpisodes(in, test, emit)
	}
	if found == 0 {
		return errors.New("folder has neither tool_desc.json nor graph_desc.json nor data.json")
	}
	return nil
}

type taskNode struct {
	ID         string          `json:"id"`
	Desc       string          `json:"desc"`
	Domain     json.RawMessage `json:"domain"` // a word or a list of words
	Input      []string        `json:"input-type"`
	Output     []string        `json:"output-type"`
	Parameters []struct {
		Name string `json:"name"`
		Type string `json:"type"`
		Desc string `json:"desc"`
	} `json:"parameters"`
}

func taskgraphTools(in *input, name string, known map[string]bool, emit func(Item) bool) error {
	text, err := in.readAll(name)
	if err != nil {
		return err
	}
	var desc struct {
		Nodes []json.RawMessage `json:"nodes"`
	}
	if err := strictjson.UnmarshalForeign(text, &desc); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	at := 0
	for _, raw := range desc.Nodes {
		if i := bytes.Index(text[at:], raw); i >= 0 {
			at += i
		}
		it := Item{File: name, Line: bytes.Count(text[:at], []byte("\n")) + 1, Kind: KindTool}
		var n taskNode
		if err := strictjson.UnmarshalForeign(raw, &n); err != nil {
			it.ID = n.ID
			it.drop(err.Error())
		} else if known[n.ID] {
			continue // graph_desc.json repeats the tools
		} else {
			known[n.ID] = true
			it.Tool = n.tool()
		}
		if !emit(it) {
			return nil
		}
	}
	return nil
}

func (n taskNode) tool() *catalog.Tool {
	t := &catalog.Tool{ID: n.ID, Name: strings.ReplaceAll(n.ID, "_", " "), Description: n.Desc}
	var domains []string
	if json.Unmarshal(n.Domain, &t.Domain) != nil && json.Unmarshal(n.Domain, &domains) == nil && len(domains) > 0 {
		slices.Sort(domains)
		t.Domain = domains[0]
	}
	type property struct {
		Type        string `json:"type,omitempty"`
		Description string `json:"description,omitempty"`
	}
	schema := func(properties map[string]property) json.RawMessage {
		if len(properties) == 0 {
			return nil
		}
		return encode(map[string]any{"type": "object", "properties": properties})
	}
	inputs, outputs := map[string]property{}, map[string]property{}
	for _, p := range n.Parameters {
		inputs[p.Name] = property{p.Type, p.Desc}
	}
	for _, word := range n.Input { // a resource is named by what it is
		inputs[word] = property{Type: word}
	}
	for _, word := range n.Output {
		outputs[word] = property{Type: word}
	}
	t.InputSchema, t.OutputSchema = schema(inputs), schema(outputs)
	return t
}

// testIDs reads the ids of the test part; nil if the data has no split.
func testIDs(fsys fs.FS) (map[string]bool, error) {
	text, err := fs.ReadFile(fsys, "split_ids.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var split struct {
		TestIDs map[string][]json.RawMessage `json:"test_ids"`
	}
	if err := strictjson.UnmarshalForeign(text, &split); err != nil {
		return nil, fmt.Errorf("split_ids.json: %w", err)
	}
	ids := map[string]bool{}
	for _, part := range split.TestIDs {
		for _, id := range part {
			ids[plainID(id)] = true
		}
	}
	return ids, nil
}

// plainID reads an id that one file writes as a number and another as a string.
func plainID(id json.RawMessage) string {
	var s string
	if json.Unmarshal(id, &s) == nil {
		return s
	}
	return string(id)
}

// request is one line of data.json. The first edition of TaskBench names the lists tool_… and writes
// them as JSON in a string.
type request struct {
	ID          json.RawMessage `json:"id"`
	UserRequest string          `json:"user_request"`
	Instruction string          `json:"instruction"`
	TaskNodes   json.RawMessage `json:"task_nodes"`
	TaskLinks   json.RawMessage `json:"task_links"`
	ToolNodes   json.RawMessage `json:"tool_nodes"`
	ToolLinks   json.RawMessage `json:"tool_links"`
}

func taskgraphEpisodes(in *input, test map[string]bool, emit func(Item) bool) error {
	f, err := in.open("data.json")
	if err != nil {
		return err
	}
	defer f.Close()
	return eachLine(f, func(l line) bool {
		it := Item{File: "data.json", Line: l.number, Kind: KindEpisode}
		var r request
		err := l.decode(&r)
		if id := plainID(r.ID); err == nil && id == "" {
			err = errors.New("request has no id")
		} else if err == nil {
			it.ID = in.folder + "-" + id
			if test != nil {
				it.split = "train"
				if test[id] {
					it.split = "test"
				}
			}
			it.Episode, err = r.episode(it.ID)
		}
		if err != nil {
			it.drop(err.Error())
		}
		return emit(it)
	})
}

func (r request) episode(id string) (*episodic.Episode, error) {
	var nodes []struct {
		Task string `json:"task"`
	}
	var links []struct {
		Source string `json:"source"`
		Target string `json:"target"`
	}
	if err := unwrap(&nodes, "task_nodes", r.TaskNodes, r.ToolNodes); err != nil {
		return nil, err
	}
	if err := unwrap(&links, "task_links", r.TaskLinks, r.ToolLinks); err != nil {
		return nil, err
	}
	if len(nodes) > episodic.MaxSteps || len(links) > 10*episodic.MaxSteps {
		return nil, fmt.Errorf("%d nodes and %d links are too many for one plan", len(nodes), len(links))
	}
	tools := make([]string, len(nodes))
	for i, n := range nodes {
		tools[i] = n.Task
	}
	needs := make([][]int, len(nodes))
	for _, l := range links {
		s, t, err := place(tools, needs, l.Source, l.Target)
		if err != nil {
			return nil, err
		}
		needs[t] = append(needs[t], s)
	}
	order := topological(needs)
	if len(order) < len(nodes) {
		return nil, errors.New("the links of the plan form a cycle")
	}
	number := make([]string, len(nodes)) // the ids of steps count them in an order that can be run
	for k, i := range order {
		number[i] = strconv.Itoa(k + 1)
	}
	e := &episodic.Episode{ID: id, Intent: r.UserRequest, Outcome: episodic.Success}
	if e.Intent == "" {
		e.Intent = r.Instruction
	}
	for _, i := range order {
		s := episodic.Step{ID: number[i], Tool: tools[i], DependsOn: []string{}}
		for _, j := range needs[i] {
			s.DependsOn = append(s.DependsOn, number[j])
		}
		e.Steps = append(e.Steps, s)
	}
	return e, nil
}

// unwrap reads the first of two lists that is there, which may be JSON in a string.
func unwrap(v any, name string, lists ...json.RawMessage) error {
	for _, l := range lists {
		if len(l) == 0 || string(l) == "null" {
			continue
		}
		var inner string
		if json.Unmarshal(l, &inner) == nil {
			l = json.RawMessage(inner)
		}
		if err := strictjson.UnmarshalForeign(l, v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	return nil
}

// place finds the nodes that a link between tools joins. Links name tools, not nodes: where a tool
// occurs several times, the link goes to the first occurrence of the target that has no such link yet
// and comes after an occurrence of the source, and starts at the last source before it.
func place(tools []string, needs [][]int, source, target string) (s, t int, err error) {
	s, t = -1, -1
	for i, tool := range tools {
		if tool != target || slices.ContainsFunc(needs[i], func(j int) bool { return tools[j] == source }) {
			continue
		}
		if before := last(tools[:i], source); before >= 0 {
			return before, i, nil
		}
		if t < 0 {
			t = i
		}
	}
	if s = slices.Index(tools, source); s < 0 || slices.Index(tools, target) < 0 {
		return 0, 0, fmt.Errorf("a link joins %q to %q, and not both are in the plan", source, target)
	}
	if t < 0 { // the same link again
		t = slices.Index(tools, target)
	}
	return s, t, nil // listed before what it needs
}

func last(tools []string, tool string) int {
	for i := len(tools) - 1; i >= 0; i-- {
		if tools[i] == tool {
			return i
		}
	}
	return -1
}

// topological orders 0..n-1 so that each comes after what it needs, otherwise as they stand. Nodes on
// a cycle are left out.
func topological(needs [][]int) (order []int) {
	done := make([]bool, len(needs))
	for {
		next := -1
		for i := range needs {
			if !done[i] && !slices.ContainsFunc(needs[i], func(j int) bool { return !done[j] }) {
				next = i
				break
			}
		}
		if next < 0 {
			return order
		}
		done[next] = true
		order = append(order, next)
	}
}
