package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
)

type jobList struct {
	Jobs       []live.Job `json:"jobs"`
	NextCursor string     `json:"next_cursor"`
}

// The list has the jobs that were asked for and those that start by themselves, the newest first, page by page.
func TestListJobs(t *testing.T) {
	w := newWeb(t)
	list := func(query string) jobList { return parse[jobList](t, 200, w.ask("GET", "/v1/jobs"+query, "")) }
	settled := func() bool { return len(list("?state=running").Jobs) == 0 }
	last := func() live.Job {
		require.Eventually(t, settled, time.Minute, 10*time.Millisecond)
		return append(list("?limit=1").Jobs, live.Job{})[0]
	}
	require.Equal(t, 200, w.ask("PUT", "/v1/tools", `[{"id":"new:tool","description":"A tool that comes later."}]`).status)
	require.Eventually(t, func() bool { return last().Reason == "the catalog changed" }, time.Minute, 10*time.Millisecond)
	built := last()
	assert.Equal(t, "build", built.Kind)
	assert.Equal(t, live.JobDone, built.State)
	assert.NotZero(t, built.StartedAt)
	assert.NotZero(t, built.At)
	assert.Equal(t, built, parse[live.Job](t, 200, w.ask("GET", "/v1/jobs/"+built.ID, "")))

	var episodes strings.Builder
	for i := range 80 {
		fmt.Fprintf(&episodes, `{"id":"many-%d","steps":[{"tool":"fs:read_file"},{"tool":"json:parse"}]}`+"\n", i)
	}
	require.Equal(t, 200, w.ask("POST", "/v1/episodes", episodes.String(), "Content-Type: application/x-ndjson").status)
	require.Eventually(t, func() bool { return strings.Contains(last().Reason, "events were recorded since the last build") }, time.Minute, 10*time.Millisecond)

	asked := parse[live.Job](t, 202, w.ask("POST", "/v1/rebuild", `{"verify":true}`))
	assert.Equal(t, "requested", asked.Reason)
	require.Eventually(t, settled, time.Minute, 10*time.Millisecond)
	all := list("").Jobs
	assert.Equal(t, asked.ID, all[0].ID)
	var paged []live.Job
	for path := "/v1/jobs?limit=1"; path != ""; {
		r := w.ask("GET", path, "")
		p := parse[jobList](t, 200, r)
		require.Len(t, p.Jobs, 1)
		paged = append(paged, p.Jobs...)
		path, _, _ = strings.Cut(strings.TrimPrefix(r.header.Get("Link"), "<"), ">")
		assert.Equal(t, p.NextCursor == "", path == "")
	}
	assert.Equal(t, all, paged)
	assert.Empty(t, list("?state=failed").Jobs)
	assert.Len(t, list("?state=done&limit=500").Jobs, len(all))
	requireProblem(t, 422, "cursor", w.ask("GET", "/v1/jobs?cursor=%25", ""))
	requireProblem(t, 422, "state", w.ask("GET", "/v1/jobs?state=gone", ""))

	require.Less(t, w.ask("PUT", "/v1/workspaces/other", "").status, 300)
	other := parse[jobList](t, 200, w.ask("GET", "/v1/jobs", "", "Authorization: Bearer local-token", "Waymark-Workspace: other"))
	assert.Empty(t, other.Jobs, "jobs belong to a workspace")
}

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
