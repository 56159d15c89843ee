package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestToolNormalise(t *testing.T) {
	for _, tt := range []struct {
		why  string
		in   Tool
		want Tool
	}{
		{"id from server and name", Tool{Server: "fs", Name: "read"}, Tool{ID: "fs:read", Server: "fs", Name: "read"}},
		{"id from the name alone", Tool{Name: "Bash"}, Tool{ID: "Bash", Name: "Bash"}},
		{"name from the id", Tool{ID: "fs:read", Server: "fs"}, Tool{ID: "fs:read", Server: "fs", Name: "read"}},
		{"a data set's own id", Tool{ID: "a:b"}, Tool{ID: "a:b", Name: "a:b"}},
		{"normal form C", Tool{ID: "cafe\u0301"}, Tool{ID: "caf\u00e9", Name: "caf\u00e9"}},
		{"trimmed", Tool{ID: " a ", Description: "\n text\n"}, Tool{ID: "a", Name: "a", Description: "text"}},
		{"nothing hidden in a description", Tool{ID: "a", Description: "x\u200by\u202ez\x1b[31m\U000E0041\ttab\nline\ufeff"}, Tool{ID: "a", Name: "a", Description: "xyz[31m\ttab\nline"}},
		{"schema without space", Tool{ID: "a", InputSchema: json.RawMessage("{ \"type\": \"object\" }"), OutputSchema: json.RawMessage("null")},
			Tool{ID: "a", Name: "a", InputSchema: json.RawMessage(`{"type":"object"}`)}},
		{"requires each once, in order, not itself", Tool{ID: "a", Requires: []string{"c", "a", " b", "c"}}, Tool{ID: "a", Name: "a", Requires: []string{"b", "c"}}},
	} {
		require.NoError(t, tt.in.Normalise(), tt.why)
		assert.Equal(t, tt.want, tt.in, tt.why)
		again := tt.in
		require.NoError(t, again.Normalise(), tt.why)
		assert.Equal(t, tt.in, again, "%s: twice is once", tt.why)
	}
	long := strings.Repeat("é", MaxID/2)
	require.NoError(t, (&Tool{ID: long}).Normalise(), "256 bytes are allowed")
	for _, tt := range []struct {
		why  string
		in   Tool
		says string
	}{
		{"empty", Tool{}, "tool has no id"},
		{"only space", Tool{ID: " \t"}, "tool has no id"},
		{"too long", Tool{ID: long + "x"}, "id"},
		{"70,000 bytes", Tool{ID: strings.Repeat("x", 70000)}, "limit is 256"},
		{"not UTF-8", Tool{ID: "a\xff"}, "UTF-8"},
		{"control character", Tool{ID: "a\nb"}, "U+000A"},
		{"zero-width space", Tool{ID: "a\u200bb"}, "U+200B"},
		{"direction mark", Tool{ID: "a", Name: "b\u202e"}, `tool "a": name`},
		{"description", Tool{ID: "a", Description: strings.Repeat("x", MaxDescription+1)}, `tool "a": description is 8193 bytes`},
		{"schema size", Tool{ID: "a", InputSchema: json.RawMessage(`{"a":"` + strings.Repeat("x", MaxSchema) + `"}`)}, "input schema"},
		{"schema is a list", Tool{ID: "a", InputSchema: json.RawMessage(`[]`)}, "input schema is not a JSON object"},
		{"requires nothing in words", Tool{ID: "a", Requires: []string{" "}}, `tool "a": requires: a tool without an id`},
		{"requires what is no id", Tool{ID: "a", Requires: []string{"b\nc"}}, "requires"},
		{"requires too many", Tool{ID: "a", Requires: many(maxRequires + 1)}, "requires 257 tools, the limit is 256"},
		{"schema is cut off", Tool{ID: "a", InputSchema: json.RawMessage(`{"a"`)}, "input schema"},
	} {
		assert.ErrorContains(t, tt.in.Normalise(), tt.says, tt.why)
	}
}

// many different ids.
func many(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprint("tool ", i)
	}
	return ids
}

func TestCapabilityNormalise(t *testing.T) {
	c := Capability{
		ID: "report", Tools: []string{"b", "a", "b"},
		Tasks: []Task{{ID: "2", Tool: "c", DependsOn: []string{"1", "1"}}, {ID: "1", Tool: "a"}},
	}
	require.NoError(t, c.Normalise())
	assert.Equal(t, []string{"b", "a", "c"}, c.Tools, "distinct, first use first, tools of tasks included")
	assert.Equal(t, []string{"1"}, c.Tasks[0].DependsOn)
	task := func(id string, deps ...string) Task { return Task{ID: id, Tool: "t", DependsOn: deps} }
	var many []string
	for i := range MaxTools + 1 {
		many = append(many, fmt.Sprint(i))
	}
	for _, tt := range []struct {
		in   Capability
		says string
	}{
		{Capability{}, "capability has no id"},
		{Capability{ID: "c", Tools: []string{"c"}}, "itself"},
		{Capability{ID: "c", Tools: []string{""}}, "without an id"},
		{Capability{ID: "c", Tools: many}, "257 tools"},
		{Capability{ID: "c", Tasks: make([]Task, MaxTasks+1)}, "257 tasks"},
		{Capability{ID: "c", Tasks: []Task{{ID: "1"}}}, `task "1" has no tool`},
		{Capability{ID: "c", Tasks: []Task{task("1"), task("1")}}, `task "1" occurs twice`},
		{Capability{ID: "c", Tasks: []Task{task("")}}, "task number 1 has no id"},
		{Capability{ID: "c", Tasks: []Task{task("1", "1")}}, `task "1" depends on itself`},
		{Capability{ID: "c", Tasks: []Task{task("1", "9")}}, `task "1" depends on the unknown task "9"`},
		{Capability{ID: "c", Tasks: []Task{task("0", "1"), task("1", "2"), task("2", "3"), task("3", "1")}}, `"1" needs "2" needs "3" needs "1"`},
		{Capability{ID: "c", Tasks: []Task{{ID: "1", Tool: "t", Arguments: map[string]json.RawMessage{"a": json.RawMessage("{")}}}}, `argument "a" of task "1"`},
		{Capability{ID: "c", Tasks: []Task{{ID: "1", Tool: "t", Arguments: map[string]json.RawMessage{"a": json.RawMessage(`"` + strings.Repeat("x", maxArguments) + `"`)}}}}, "arguments of all tasks"},
	} {
		assert.ErrorContains(t, tt.in.Normalise(), tt.says)
	}
}

// Reliability 6: a chain of 10,000 nodes and a fan of 1,000 neither overflow nor hang.
func TestLayersOfALargeGraph(t *testing.T) {
	n := 10_000
	ids, deps := make([]string, n), make([][]string, n)
	for i := range n {
		ids[i] = fmt.Sprint(i)
		if i > 0 {
			deps[i] = []string{fmt.Sprint(i - 1)}
		}
	}
	_, err := Layers("step", ids, deps)
	require.NoError(t, err)
	deps[0] = []string{fmt.Sprint(n - 1)}
	_, err = Layers("step", ids, deps)
	require.ErrorContains(t, err, `steps form a cycle: "0"`)
	assert.Less(t, len(err.Error()), 300)
}

func FuzzTool(f *testing.F) {
	f.Add(`{"id":"a","description":"x","input_schema":{"properties":{"a":"string"}}}`)
	f.Add(`{"id":"e\u0301\u200b"}`)
	f.Fuzz(func(t *testing.T, s string) {
		var tool Tool
		if json.Unmarshal([]byte(s), &tool) != nil || tool.Normalise() != nil {
			return
		}
		once, _ := json.Marshal(tool)
		if err := tool.Normalise(); err != nil {
			t.Fatalf("%s: twice: %v", s, err)
		}
		if twice, _ := json.Marshal(tool); string(once) != string(twice) {
			t.Fatalf("%s becomes %s", once, twice)
		}
	})
}
