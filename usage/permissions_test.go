package usage

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/evaluate"
	"waymark/sample"
)

var common = PermissionLimits{Uses: 3, Tasks: 2, Reads: 1}

func TestHarm(t *testing.T) {
	yes, no := new(true), new(false)
	reads := &catalog.Annotations{ReadOnly: yes}
	for _, tt := range []struct {
		name string
		tool catalog.Tool
		safe bool
	}{
		{"reads", catalog.Tool{ID: "a:get_issue", Annotations: reads}, true},
		{"adds to its own data", catalog.Tool{ID: "a:create_issue", Annotations: &catalog.Annotations{Destructive: no, OpenWorld: no}}, true},
		{"reads, by a word that may also change", catalog.Tool{ID: "a:list_commits", Annotations: reads}, true},
		{"not annotated", catalog.Tool{ID: "a:get_issue"}, false},
		{"annotated, but not about harm", catalog.Tool{ID: "a:get_issue", Annotations: &catalog.Annotations{OpenWorld: no}}, false},
		{"destructive", catalog.Tool{ID: "a:create_issue", Annotations: &catalog.Annotations{Destructive: yes}}, false},
		{"changes, reach not known", catalog.Tool{ID: "a:create_issue", Annotations: &catalog.Annotations{Destructive: no}}, false},
		{"changes the world", catalog.Tool{ID: "a:create_issue", Annotations: &catalog.Annotations{Destructive: no, OpenWorld: yes}}, false},
		{"claims to read, and deletes", catalog.Tool{ID: "a:deleteAllIssues", Annotations: reads}, false},
		{"claims to read, and drops", catalog.Tool{ID: "a:drops-table", Annotations: reads}, false},
		{"claims to be harmless, and merges", catalog.Tool{ID: "a:merge_branch", Annotations: &catalog.Annotations{Destructive: no, OpenWorld: no}}, false},
		{"says that it cannot be undone", catalog.Tool{ID: "a:create_key", Description: "This cannot be undone.", Annotations: &catalog.Annotations{Destructive: no, OpenWorld: no}}, false},
	} {
		assert.Equal(t, tt.safe, Harm(tt.tool) == "", "%s: %q", tt.name, Harm(tt.tool))
	}
}

// Repeated attempts at one request are one task, and a refusal counts for good.
func TestPermissions(t *testing.T) {
	reads := &catalog.Annotations{ReadOnly: new(true)}
	own := &catalog.Annotations{ReadOnly: new(true), OpenWorld: new(false)}
	adds := &catalog.Annotations{Destructive: new(false), OpenWorld: new(false)}
	tools := []catalog.Tool{{ID: "a:adds", Annotations: adds}, {ID: "a:often", Annotations: reads}, {ID: "a:once", Annotations: reads}, {ID: "a:once_own", Annotations: own}, {ID: "a:one_task", Annotations: reads}, {ID: "a:refused", Annotations: reads}}
	var episodes []episodic.Episode
	for i := range 5 {
		episodes = append(episodes,
			episodic.Episode{ID: fmt.Sprint("o", i), Intent: fmt.Sprint("task ", i%3), Steps: []episodic.Step{{Tool: "a:often"}, {Tool: "b:unknown"}, {Tool: "a:refused"}}},
			episodic.Episode{ID: fmt.Sprint("t", i), Intent: "One  Task", Steps: []episodic.Step{{Tool: "a:one_task"}, {Tool: "a:one_task"}, {Tool: "a:adds"}, {Tool: "a:adds"}}})
	}
	episodes = append(episodes, episodic.Episode{ID: "x", Steps: []episodic.Step{{Tool: "a:once"}, {Tool: "a:once_own"}, {Tool: "a:refused", ErrorKind: "policy"}}})
	assert.Equal(t, []Permission{
		{"a:adds", 10, 1, "it was seldom used"},
		{"a:one_task", 10, 1, ""},
		{"a:often", 5, 3, ""},
		{"a:refused", 5, 3, "a call of it was refused"},
		{"b:unknown", 5, 3, "its definition is not known"},
		{"a:once", 1, 1, "it was seldom used"},
		{"a:once_own", 1, 1, ""},
	}, Permissions(tools, episodes, common))
}

// What the rules of the earlier history let pass in the later one, counted apart from the report.
func TestEvaluatePermissionsOfTheSample(t *testing.T) {
	tools, err := sample.Tools()
	require.NoError(t, err)
	episodes, err := sample.Episodes()
	require.NoError(t, err)
	d := &evaluate.Data{Tools: tools}
	d.Examples, err = evaluate.HoldOut(episodes, 0.2)
	require.NoError(t, err)
	r := EvaluatePermissions(d, common)
	t.Logf("%+v", r)

	destructive, seen := map[string]bool{}, map[string]int{}
	for _, tool := range tools {
		destructive[tool.ID] = *tool.Annotations.Destructive
	}
	cut := len(episodes) * 4 / 5
	for _, e := range episodes[:cut] {
		for _, s := range e.Steps {
			seen[s.Tool]++
		}
	}
	allowed := map[string]bool{}
	for _, p := range Permissions(tools, episodes[:cut], common) {
		allowed[p.Tool] = p.Reason == ""
	}
	prompts, saved := 0, 0
	for _, e := range episodes[cut:] {
		for _, s := range e.Steps {
			prompts++
			if !allowed[s.Tool] {
				continue
			}
			saved++
			isDestructive, known := destructive[s.Tool]
			assert.True(t, known && !isDestructive, s.Tool)
			assert.GreaterOrEqual(t, seen[s.Tool], common.Reads, s.Tool)
		}
	}
	assert.Equal(t, [2]int{prompts, saved}, [2]int{r.Prompts, r.Saved})
	assert.GreaterOrEqual(t, r.Share, 0.7)
	assert.Zero(t, r.Destructive)
	assert.Zero(t, r.FirstSeen)
}

// A short history: the first episodes give rules for those that follow.
func TestEvaluatePermissionsOfShortHistories(t *testing.T) {
	tools, err := sample.Tools()
	require.NoError(t, err)
	episodes, err := sample.Episodes()
	require.NoError(t, err)
	for _, tt := range []struct {
		episodes int
		share    float64
	}{{20, .27}, {50, .57}, {100, .68}, {200, .75}} {
		d := &evaluate.Data{Tools: tools}
		for i, e := range episodes[:2*tt.episodes] {
			d.Examples = append(d.Examples, evaluate.Example{Episode: e, Split: evaluate.Train})
			if i >= tt.episodes {
				d.Examples[i].Split = evaluate.Test
			}
		}
		r := EvaluatePermissions(d, common)
		t.Logf("%d episodes: %+v", tt.episodes, r)
		assert.GreaterOrEqual(t, r.Share, tt.share, "%d episodes", tt.episodes)
		assert.Zero(t, r.Destructive)
		assert.Zero(t, r.FirstSeen)
	}
}

// The counts that must be zero are counted: rules of a catalog that was annotated otherwise are caught.
func TestEvaluatePermissionsCounts(t *testing.T) {
	d := &evaluate.Data{Tools: []catalog.Tool{{ID: "a:get", Annotations: &catalog.Annotations{ReadOnly: new(true), Destructive: new(true)}}}}
	for i := range 10 {
		x := evaluate.Example{Episode: episodic.Episode{ID: fmt.Sprint(i), Steps: []episodic.Step{{Tool: "a:get"}}}, Split: evaluate.Train}
		if i >= 8 {
			x.Split = evaluate.Test
		}
		d.Examples = append(d.Examples, x)
	}
	r := EvaluatePermissions(d, common)
	assert.Equal(t, 0, r.Saved, "an annotation that contradicts itself")
	assert.Equal(t, 2, r.Prompts)
}
