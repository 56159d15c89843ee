package catalog

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const contract = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","title":"Search","description":"What to look for",
"properties":{"query":{"type":"string","minLength":1,"maxLength":200,"pattern":"^\\S","description":"words"},
 "limit":{"type":["integer","null"],"minimum":1,"maximum":100,"default":10},
 "sort":{"enum":["new","old","best"],"description":"order"},
 "where":{"type":"object","properties":{"repo":{"type":"string"},"open":{"type":"boolean"}},"required":["repo","open"],"additionalProperties":false}},
"required":["query","limit","sort"],"additionalProperties":false,"examples":[["a","b"],["c"]]}`

func contractTool() *Tool {
	yes, no := true, false
	return &Tool{
		ID: "github:search", Name: "search", Description: "Search issues and pull requests.", Server: "github",
		InputSchema: json.RawMessage(contract), OutputSchema: json.RawMessage(strings.Replace(contract, "What to look for", "What was found", 1)),
		Annotations: &Annotations{Title: "Search", ReadOnly: &yes, Destructive: &no},
	}
}

// Reliability 3.4: 200 single-field mutations are all caught, 50 pure reorderings raise no alarm.
func TestFingerprintMutations(t *testing.T) {
	original := contractTool().Fingerprint()
	var mutants []*Tool
	mutant := func(change func(*Tool)) {
		m := contractTool()
		change(m)
		mutants = append(mutants, m)
	}
	mutant(func(m *Tool) { m.Name = "search2" })
	for i := range len(contractTool().Description) { // every letter of the description
		mutant(func(m *Tool) { m.Description = m.Description[:i] + "~" + m.Description[i+1:] })
	}
	mutant(func(m *Tool) { m.Annotations.Title = "" })
	mutant(func(m *Tool) { *m.Annotations.ReadOnly = false })
	mutant(func(m *Tool) { m.Annotations.Destructive = nil })
	mutant(func(m *Tool) { m.Annotations.Idempotent = new(bool) })
	mutant(func(m *Tool) { m.Annotations = nil })
	mutant(func(m *Tool) { m.InputSchema = nil })
	mutant(func(m *Tool) { m.InputSchema, m.OutputSchema = m.OutputSchema, m.InputSchema })
	mutant(func(m *Tool) { m.OutputSchema = json.RawMessage(`{`) })
	for _, path := range leaves(t, contract) {
		for _, how := range []string{"change", "remove", "rename"} {
			mutant(func(m *Tool) { m.InputSchema = mutate(t, contract, path, how) })
			mutant(func(m *Tool) { m.OutputSchema = mutate(t, string(m.OutputSchema), path, how) })
		}
	}
	require.GreaterOrEqual(t, len(mutants), 200)
	seen := map[Fingerprint]bool{original: true}
	for i, m := range mutants {
		f := m.Fingerprint()
		assert.NotEqual(t, original, f, "mutant %d: %+v", i, m)
		seen[f] = true
	}
	assert.Greater(t, len(seen), 200)
}

func TestFingerprintReorderings(t *testing.T) {
	original := contractTool().Fingerprint()
	rng := rand.New(rand.NewSource(1))
	texts := map[string]bool{}
	for range 50 {
		m := contractTool()
		m.InputSchema = reorder(t, rng, m.InputSchema)
		m.OutputSchema = reorder(t, rng, m.OutputSchema)
		texts[string(m.InputSchema)] = true
		assert.Equal(t, original, m.Fingerprint(), "%s", m.InputSchema)
	}
	assert.Greater(t, len(texts), 45, "the reorderings differ")
	moved := contractTool()
	moved.ID, moved.Server, moved.Domain = "gh:search", "gh", "code"
	assert.Equal(t, original, moved.Fingerprint(), "where a tool stands is no part of its contract")
}

func TestCanonical(t *testing.T) {
	for _, tt := range []struct{ a, b string }{ // equal
		{`{"minimum":1}`, ` { "minimum" : 1.0 } `},
		{`{"minimum":100}`, `{"minimum":1E2}`},
		{`{"minimum":0.5}`, `{"minimum":50e-2}`},
		{`{"minimum":0}`, `{"minimum":-0.00}`},
		{`{"title":"é"}`, `{"title":"\u00e9"}`},
		{`{"dependentRequired":{"a":["b","c"]}}`, `{"dependentRequired":{"a":["c","b"]}}`},
		{`null`, ``},
	} {
		assert.Equal(t, Canonical(json.RawMessage(tt.a)), Canonical(json.RawMessage(tt.b)), "%s = %s", tt.a, tt.b)
	}
	for _, tt := range []struct{ a, b string }{ // different
		{`{"minimum":1}`, `{"minimum":"1"}`},
		{`{"minimum":9007199254740993}`, `{"minimum":9007199254740992}`}, // equal as float64
		{`{"minimum":1e999999999999999999999}`, `{"minimum":1e999999999999999999998}`},
		{`{"prefixItems":[{},true]}`, `{"prefixItems":[true,{}]}`},
		{`{"enum":[["a","b"]]}`, `{"enum":[["b","a"]]}`},
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`{"a":1,"a":2}`, `{"a":2,"a":1}`},
		{`{} {}`, `{}`},
		{strings.Repeat("[", 5000), strings.Repeat("[", 5001)},
	} {
		assert.NotEqual(t, Canonical(json.RawMessage(tt.a)), Canonical(json.RawMessage(tt.b)), "%s ≠ %s", tt.a, tt.b)
	}
}

func FuzzCanonical(f *testing.F) {
	f.Add(contract)
	f.Add(`{"a":[1,{"required":["b","a"]}]}`)
	f.Add(`{"a":1e`)
	f.Fuzz(func(t *testing.T, s string) {
		once := Canonical(json.RawMessage(s))
		if json.Valid([]byte(s)) && len(once) > 0 {
			if !json.Valid(once) {
				t.Fatalf("%s: %s is no JSON", s, once)
			}
			if twice := Canonical(once); string(twice) != string(once) {
				t.Fatalf("%s: %s becomes %s", s, once, twice)
			}
		}
	})
}

// leaves lists the paths to all scalars of a JSON text.
func leaves(t *testing.T, s string) (paths [][]any) {
	var walk func(v any, path []any)
	walk = func(v any, path []any) {
		switch v := v.(type) {
		case map[string]any:
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			sort.Strings(keys)
			for _, k := range keys {
				walk(v[k], append(path[:len(path):len(path)], k))
			}
		case []any:
			for i := range v {
				walk(v[i], append(path[:len(path):len(path)], i))
			}
		default:
			paths = append(paths, path)
		}
	}
	var v any
	require.NoError(t, json.Unmarshal([]byte(s), &v))
	walk(v, nil)
	return paths
}

func mutate(t *testing.T, s string, path []any, how string) json.RawMessage {
	var v any
	require.NoError(t, json.Unmarshal([]byte(s), &v))
	var in func(v any, path []any) any
	in = func(v any, path []any) any {
		switch v := v.(type) {
		case map[string]any:
			k := path[0].(string)
			switch {
			case len(path) > 1:
				v[k] = in(v[k], path[1:])
			case how == "remove":
				delete(v, k)
			case how == "rename":
				v[k+"_"] = v[k]
				delete(v, k)
			default:
				v[k] = fmt.Sprint(v[k], "~")
			}
			return v
		case []any:
			i := path[0].(int)
			switch {
			case len(path) > 1:
				v[i] = in(v[i], path[1:])
				return v
			case how == "remove":
				return append(v[:i:i], v[i+1:]...)
			case how == "rename":
				return append(v, "new")
			}
			v[i] = fmt.Sprint(v[i], "~")
			return v
		}
		return v
	}
	b, err := json.Marshal(in(v, path))
	require.NoError(t, err)
	return b
}

// reorder writes the same schema with keys, required and enum shuffled and other white space.
func reorder(t *testing.T, rng *rand.Rand, s json.RawMessage) json.RawMessage {
	var v any
	require.NoError(t, json.Unmarshal(s, &v))
	var write func(v any, key string) string
	write = func(v any, key string) string {
		switch v := v.(type) {
		case map[string]any:
			var members []string
			for k, e := range v {
				members = append(members, fmt.Sprintf("%q :%s", k, write(e, k)))
			}
			sort.Strings(members)
			rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
			return "{ " + strings.Join(members, ",\n") + "}"
		case []any:
			var all []string
			for _, e := range v {
				all = append(all, write(e, ""))
			}
			if key == "required" || key == "enum" || key == "type" {
				rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			}
			return "[" + strings.Join(all, " , ") + "]"
		}
		b, err := json.Marshal(v)
		require.NoError(t, err)
		return string(b)
	}
	return json.RawMessage(write(v, ""))
}
