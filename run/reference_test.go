package run

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
)

func TestReferences(t *testing.T) {
	ids := map[string]int{"t1": 0, "a.b": 1, "a": 2, "t1.x": 3}
	for _, tt := range []struct {
		text string
		from source
		task int
		path string
		bad  bool
	}{
		{"intent", fromIntent, 0, "", false},
		{"params", fromParams, 0, "", false},
		{"params.a.b", fromParams, 0, ".a.b", false},
		{"t1", fromTask, 0, "", false},
		{"t1.result", fromTask, 0, "", false},
		{"t1.result.result", fromTask, 0, ".result", false},
		{"t1.results", fromTask, 0, ".results", false},
		{"t1.result.items[0].id", fromTask, 0, ".items[0].id", false},
		{"t1.items[12]", fromTask, 0, ".items[12]", false},
		{`t1["odd name"]["a\"]b"]`, fromTask, 0, `.odd name.a"]b`, false},
		{"a.b.c", fromTask, 1, ".c", false},
		{"a.c", fromTask, 2, ".c", false},
		{"t1.x", fromTask, 3, "", false},
		{"t2", 0, 0, "", true},
		{"intent.x", 0, 0, "", true},
		{"t1..x", 0, 0, "", true},
		{"t1.", 0, 0, "", true},
		{"t1[-1]", 0, 0, "", true},
		{"t1[+1]", 0, 0, "", true},
		{"t1[x]", 0, 0, "", true},
		{`t1["x`, 0, 0, "", true},
		{"t1[0", 0, 0, "", true},
		{"t1" + strings.Repeat(".a", 100), 0, 0, "", true},
		{"", 0, 0, "", true},
	} {
		r, err := parseReference(tt.text, ids)
		if tt.bad {
			assert.Error(t, err, tt.text)
			continue
		}
		require.NoError(t, err, tt.text)
		path := ""
		for _, s := range r.path {
			path += s.String()
		}
		assert.Equal(t, []any{tt.from, tt.path}, []any{r.from, path}, tt.text)
		if tt.from == fromTask {
			assert.Equal(t, tt.task, r.task, tt.text)
		}
	}
}

func FuzzReference(f *testing.F) {
	f.Add("t1.result.items[0].id")
	f.Add(`params["x"]`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseReference(text, map[string]int{"t1": 0})
		if err == nil {
			follow(json.RawMessage(`{"items":[{"id":1}]}`), r.path)
			followSchema(catalog.ReadSchema(json.RawMessage(`{"properties":{"items":{"items":{"$ref":"#"}}}}`)), r.path)
		}
	})
}
