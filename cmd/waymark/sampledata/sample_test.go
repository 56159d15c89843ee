package sample

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
)

// observed are the tools that occur in episodes and in no catalog, on purpose.
var observed = []string{"forge:get_blame", "notes:quick_add"}

func load(t *testing.T) ([]catalog.Tool, []catalog.Capability, []episodic.Episode) {
	t.Helper()
	tools, err := Lines[catalog.Tool]("tools.jsonl")
	require.NoError(t, err)
	capabilities, err := Lines[catalog.Capability]("capabilities.jsonl")
	require.NoError(t, err)
	episodes, err := Lines[episodic.Episode]("episodes.jsonl")
	require.NoError(t, err)
	return tools, capabilities, episodes
}

func TestTools(t *testing.T) {
	tools, _, _ := load(t)
	assert.GreaterOrEqual(t, len(tools), 90)
	canonical := regexp.MustCompile(`^[a-z]+:[a-z]+(_[a-z]+)*$`)
	seen, servers, domains := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, tool := range tools {
		assert.Regexp(t, canonical, tool.ID)
		assert.Equal(t, catalog.ID(tool.Server, tool.Name), tool.ID)
		assert.False(t, seen[tool.ID], "%s occurs twice", tool.ID)
		seen[tool.ID], servers[tool.Server], domains[tool.Domain] = true, true, true

		normal := tool
		require.NoError(t, normal.Normalise())
		assert.Equal(t, tool, normal, "stored as it is written")
		assert.Greater(t, len(tool.Description), 30, tool.ID)

		a := tool.Annotations
		require.NotNil(t, a, tool.ID)
		require.True(t, a.ReadOnly != nil && a.Destructive != nil && a.Idempotent != nil && a.OpenWorld != nil, tool.ID)
		assert.False(t, *a.ReadOnly && *a.Destructive, "%s only reads and destroys", tool.ID)

		for what, raw := range map[string]json.RawMessage{"input": tool.InputSchema, "output": tool.OutputSchema} {
			checkSchema(t, tool.ID+" "+what, raw)
		}
	}
	assert.Len(t, servers, 15, "as the package comment says")
	assert.Len(t, domains, len(servers))
}

// checkSchema asks the JSON Schema library, and that every property says what it is.
func checkSchema(t *testing.T, name string, raw json.RawMessage) {
	t.Helper()
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(raw, &s), name)
	_, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	require.NoError(t, err, name)
	assert.Equal(t, "object", s.Type, name)
	assert.NotEmpty(t, s.Properties, name)
	for _, p := range s.Required {
		assert.Contains(t, s.Properties, p, "%s requires it", name)
	}
	for p, property := range s.Properties {
		assert.NotEmpty(t, property.Type, "%s %s", name, p)
		assert.NotEmpty(t, property.Description, "%s %s", name, p)
	}
}

func TestCapabilities(t *testing.T) {
	tools, capabilities, _ := load(t)
	assert.GreaterOrEqual(t, len(capabilities), 14)
	known, seen := map[string]bool{}, map[string]bool{}
	for _, tool := range tools {
		known[tool.ID] = true
	}
	for _, c := range capabilities {
		assert.Regexp(t, `^cap:[a-z]+(_[a-z]+)*$`, c.ID)
		assert.False(t, seen[c.ID], "%s occurs twice", c.ID)
		seen[c.ID] = true
		normal := c
		require.NoError(t, normal.Normalise())
		assert.NotEmpty(t, c.Name, c.ID)
		assert.NotEmpty(t, c.Intent, c.ID)
		assert.GreaterOrEqual(t, len(c.Tasks), 3, c.ID)
		checkSchema(t, c.ID, c.InputSchema)

		var used []string
		for _, task := range c.Tasks {
			assert.True(t, known[task.Tool], "%s uses %s", c.ID, task.Tool)
			if !slices.Contains(used, task.Tool) {
				used = append(used, task.Tool)
			}
		}
		assert.Equal(t, used, c.Tools, "%s: tools in order of first use", c.ID)
	}
}

func TestEpisodes(t *testing.T) {
	tools, capabilities, episodes := load(t)
	assert.GreaterOrEqual(t, len(episodes), 800)
	known := map[string]bool{}
	for _, tool := range tools {
		known[tool.ID] = true
	}
	for _, c := range capabilities {
		known[c.ID] = true
	}
	seen, unknown := map[string]bool{}, map[string]bool{}
	for i, e := range episodes {
		assert.False(t, seen[e.ID], "%s occurs twice", e.ID)
		seen[e.ID] = true
		assert.NotEmpty(t, e.Intent, e.ID)
		assert.NotContains(t, e.Intent, "{", e.ID)
		assert.NotContains(t, e.Intent, "~", e.ID)
		assert.Empty(t, e.Source, "who reports is for the importer to say")
		if i > 0 {
			assert.False(t, e.Time.Before(episodes[i-1].Time), "%s is out of order", e.ID)
		}
		for _, s := range e.Steps {
			if !known[s.Tool] {
				unknown[s.Tool] = true
			}
			assert.Equal(t, s.Outcome == episodic.Failure, s.Error != "", "%s step %s: an error is a known failure", e.ID, s.ID)
			assert.Equal(t, s.Error != "", s.ErrorKind != "", "%s step %s", e.ID, s.ID)
			assert.Positive(t, s.DurationMS, "%s step %s", e.ID, s.ID)
		}
		require.NoError(t, e.Normalise()) // a DAG, among other things
		require.NoError(t, e.Validate(e.Time))
	}
	assert.ElementsMatch(t, observed, keys(unknown))
	first, last := episodes[0].Time, episodes[len(episodes)-1].Time
	assert.Equal(t, 2026, first.Year())
	assert.InDelta(t, 180, last.Sub(first).Hours()/24, 8, "days")
}

// TestFaultsAreLearned runs the failures through the memory that decides on exclusion.
func TestFaultsAreLearned(t *testing.T) {
	_, _, episodes := load(t)
	ids := map[string]int32{}
	id := func(tool string) int32 {
		if _, ok := ids[tool]; !ok {
			ids[tool] = int32(len(ids))
		}
		return ids[tool]
	}
	m := episodic.NewMemory()
	for _, e := range episodes {
		before := e.Before()
		for i, s := range e.Steps {
			var b []int32
			for _, j := range before[i] {
				b = append(b, id(e.Steps[j].Tool))
			}
			m.Observe(id(s.Tool), b, s.Outcome, e.Time, 0)
		}
	}
	rates := m.Freeze()

	legacy := rates.Tool(id("metrics:query_series"))
	assert.GreaterOrEqual(t, legacy.Failures, 8)
	assert.True(t, legacy.Excluded(1), "%+v", legacy)

	merge, update := id("forge:merge_pull_request"), id("forge:update_branch")
	assert.True(t, rates.After(merge, update).Excluded(1), "%+v", rates.After(merge, update))
	assert.False(t, rates.Tool(merge).Excluded(1), "%+v", rates.Tool(merge))
	assert.False(t, rates.After(merge, id("forge:get_checks")).Excluded(1))

	for _, flaky := range []string{"web:fetch_page", "warehouse:run_query", "files:edit_file", "metrics:search_logs", "wiki:update_page"} {
		r := rates.Tool(id(flaky)).FailureRate()
		assert.True(t, r > .04 && r < .35, "%s fails in %.2f of calls", flaky, r)
	}
}

func keys(set map[string]bool) []string {
	var list []string
	for k := range set {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}
