package server

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// HEAD has the status and headers of GET, where that is no stream.
func TestHead(t *testing.T) {
	w := newWeb(t)
	for _, path := range []string{"/v1/stats", "/v1/tools", "/v1/tools/fs:read_file", "/v1/jobs", "/v1/tools/none", "/openapi.json"} {
		head, get := w.ask("HEAD", path, ""), w.ask("GET", path, "")
		assert.Equal(t, get.status, head.status, path)
		assert.Equal(t, get.header.Get("Content-Type"), head.header.Get("Content-Type"), path)
		assert.Empty(t, head.body, path)
	}
	for _, path := range []string{"/v1/export", "/v1/next", "/v1/jobs/none/events"} {
		assert.Equal(t, http.StatusMethodNotAllowed, w.ask("HEAD", path, "").status, path)
	}
}

// Ids in a query parameter are separated by commas as on the command line, or repeated.
func TestListsInQueryParameters(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.RecordScores = true })
	body := `{"hypotheses":[{"id":"h1","scores":{"specificity":4,"novelty":3,"connection_validity":4,"feasibility":3,"grounding":2}}]}`
	steps := func() []string { // of the last run
		var tools []string
		for line := range strings.Lines(w.ask("GET", "/v1/export", "").body) {
			var item struct {
				Steps []struct{ Tool string }
			}
			require.NoError(t, json.Unmarshal([]byte(line), &item))
			if n := len(item.Steps); n > 0 && item.Steps[n-1].Tool == "scorer:hypothesis" {
				tools = nil
				for _, step := range item.Steps {
					tools = append(tools, step.Tool)
				}
			}
		}
		return tools
	}
	for query, want := range map[string][]string{
		"after=fs:read_file,json:parse":                   {"fs:read_file", "json:parse", "scorer:hypothesis"},
		"after=fs:read_file&after=json:parse":             {"fs:read_file", "json:parse", "scorer:hypothesis"},
		"after=" + url.QueryEscape(`"odd,id",json:parse`): {"odd,id", "json:parse", "scorer:hypothesis"},
	} {
		r := w.ask("POST", "/v1/score/hypothesis?"+query, body)
		require.Equal(t, 200, r.status, query+r.body)
		assert.Equal(t, want, steps(), query)
	}
	for query, why := range map[string]string{
		"after=a,,b":                              "empty value",
		"after=" + url.QueryEscape(`a"b`):         "separated by commas",
		"after=" + strings.Repeat("a,", 64) + "a": "at most 64",
	} {
		requireProblem(t, 422, why, w.ask("POST", "/v1/score/hypothesis?"+query, body))
	}
}
