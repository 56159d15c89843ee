package server

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/live"
	"waymark/suggest"
)

// settle waits until the model counts what was put.
func (w web) settle(r live.PutResult) {
	w.t.Helper()
	require.NoError(w.t, defaultEngine(w.t, w.Server).Wait(w.t.Context(), r.Seq))
}

func TestCatalogOfTools(t *testing.T) {
	w := newWeb(t)
	r := parse[live.PutResult](t, 200, w.ask("PUT", "/v1/tools", `{"tools":[{"id":"x:one","description":"One","input_schema":{"type":"object"}},{"id":"x:two"}]}`, bearerOf("local-token")))
	assert.Equal(t, 2, r.Added)
	r = parse[live.PutResult](t, 200, w.ask("PUT", "/v1/tools", ` [{"id":"x:one","description":"Uno"},{"id":"x:two"},{"id":""}]`, bearerOf("local-token")))
	assert.Equal(t, [3]int{0, 1, 1}, [3]int{r.Added, r.Updated, r.Unchanged})
	require.Len(t, r.Rejected, 1)
	assert.Equal(t, 3, r.Rejected[0].Line)
	w.settle(r)
	assert.Equal(t, "Uno", parse[catalog.Tool](t, 200, w.ask("GET", "/v1/tools/x:one", "")).Description)
	assert.Equal(t, "x:one", parse[catalog.Tool](t, 200, w.ask("GET", "/v1/tools/mcp__x__one", "")).ID, "another spelling")

	requireProblem(t, 404, "x:three", w.ask("GET", "/v1/tools/x:three", ""))
	requireProblem(t, 404, "reformat", w.ask("GET", "/v1/tools/reformat", "")) // a capability is no tool
	requireProblem(t, 404, "mcp__x__one", w.ask("DELETE", "/v1/tools/mcp__x__one", ""))
	assert.Equal(t, 204, w.ask("DELETE", "/v1/tools/x:two", "").status)
	requireProblem(t, 404, "x:two", w.ask("DELETE", "/v1/tools/x:two", ""))
	seq := defaultEngine(t, w.Server).Head().Seq
	require.NoError(t, defaultEngine(t, w.Server).Wait(t.Context(), seq))
	requireProblem(t, 404, "x:two", w.ask("GET", "/v1/tools/x:two", ""))

	for _, c := range []struct {
		body    string
		status  int
		mention string
	}{
		{`{"tools":[{"id":""}]}`, 422, "none of 1"},
		{`{"tools":[{"id":"a","inputSchema":{}}]}`, 422, "inputSchema"},
		{`[{"id":1}]`, 422, "/0/id"},
		{`{"tool":[]}`, 422, "tool"},
		{`"tools"`, 422, "string"},
		{`[{"id":"a"}`, 400, "ends early"},
		{`[{"id":"a","id":"b"}]`, 400, "/0/id"},
		{``, 400, "body is required"},
	} {
		requireProblem(t, c.status, c.mention, w.ask("PUT", "/v1/tools", c.body))
	}
}

// Ids with every character that means something in a path come back as they were.
func TestIDsInPaths(t *testing.T) {
	w := newWeb(t)
	ids := []string{"a/b", "s:x/y:z", "..", "a b", "a+b", "100%", "%2F", "ü:ö", "q?x=1#f", "a//b", "."}
	var last live.PutResult
	for _, id := range ids {
		last = parse[live.PutResult](t, 200, w.ask("PUT", "/v1/tools", fmt.Sprintf(`[{"id":%q,"name":"n"}]`, id)))
		require.Equal(t, 1, last.Added, id)
	}
	w.settle(last)
	for _, id := range ids {
		escaped := url.PathEscape(id)
		if id == "." || id == ".." { // clients collapse these, encoded or not
			escaped = strings.ReplaceAll(id, ".", "%2E")
		}
		got := parse[catalog.Tool](t, 200, w.ask("GET", "/v1/tools/"+escaped, ""))
		assert.Equal(t, id, got.ID)
		assert.Equal(t, 204, w.ask("DELETE", "/v1/tools/"+escaped, "").status, id)
	}
	requireProblem(t, 404, "no such route", w.ask("GET", "/v1/tools/a/b", ""))
}

func TestPages(t *testing.T) {
	w := newWeb(t)
	var tools []string
	for i := range 123 {
		tools = append(tools, fmt.Sprintf(`{"id":"p:%03d"}`, i))
	}
	w.settle(parse[live.PutResult](t, 200, w.ask("PUT", "/v1/tools", "["+strings.Join(tools, ",")+"]")))

	first := w.ask("GET", "/v1/tools", "")
	page := parse[toolPage](t, 200, first)
	assert.Len(t, page.Tools, 50)
	assert.NotEmpty(t, page.NextCursor)

	var ids []string
	path, pages := "/v1/tools?limit=40", 0
	for path != "" {
		r := w.ask("GET", path, "")
		page := parse[toolPage](t, 200, r)
		for _, tool := range page.Tools {
			ids = append(ids, tool.ID)
		}
		path = ""
		if link := r.header.Get("Link"); link != "" {
			require.Regexp(t, `^<[^>]+>; rel="next"$`, link)
			path = link[1:strings.IndexByte(link, '>')]
			assert.Contains(t, path, page.NextCursor)
		} else {
			assert.Empty(t, page.NextCursor)
		}
		if pages++; pages == 1 { // what is removed meanwhile makes no other entry appear twice or never
			assert.Equal(t, 204, w.ask("DELETE", "/v1/tools/"+ids[len(ids)-1], "").status)
			e := defaultEngine(t, w.Server)
			require.NoError(t, e.Wait(t.Context(), e.Head().Seq))
		}
	}
	assert.Equal(t, 4, pages) // 129 tools by 40
	assert.Len(t, ids, 129)
	assert.True(t, slices.IsSorted(ids))
	assert.Len(t, slices.Compact(slices.Clone(ids)), 129)

	for _, bad := range []string{"limit=0", "limit=501", "limit=x", "cursor=%21"} {
		requireProblem(t, 422, "query."+bad[:strings.IndexByte(bad, '=')], w.ask("GET", "/v1/tools?"+bad, ""))
	}
}

func TestCatalogOfCapabilities(t *testing.T) {
	w := newWeb(t)
	r := parse[live.PutResult](t, 200, w.ask("PUT", "/v1/capabilities", `{"capabilities":[{"id":"c1","intent":"do","tools":["fs:read_file","json:parse"]}]}`))
	assert.Equal(t, 1, r.Added)
	r = parse[live.PutResult](t, 200, w.ask("PUT", "/v1/capabilities", `[{"id":"c2","tools":["json:parse"]}]`))
	w.settle(r)
	page := parse[capabilityPage](t, 200, w.ask("GET", "/v1/capabilities?limit=2", ""))
	require.Len(t, page.Capabilities, 2)
	assert.Equal(t, "c1", page.Capabilities[0].ID)
	got := parse[catalog.Capability](t, 200, w.ask("GET", "/v1/capabilities/c1", ""))
	assert.Equal(t, []string{"fs:read_file", "json:parse"}, got.Tools)
	assert.Equal(t, 204, w.ask("DELETE", "/v1/capabilities/c1", "").status)
	requireProblem(t, 404, "c1", w.ask("DELETE", "/v1/capabilities/c1", ""))
	requireProblem(t, 422, "unknown field", w.ask("PUT", "/v1/capabilities", `[{"id":"c3","tools":[],"steps":[]}]`))
}

func TestGraph(t *testing.T) {
	w := newWeb(t)
	w.as = bearerOf("local-token")
	whole := parse[suggest.Export](t, 200, w.ask("GET", "/v1/graph", ""))
	assert.Len(t, whole.Nodes, 7)
	near := parse[suggest.Export](t, 200, w.ask("GET", "/v1/graph?around=json:parse&depth=0", ""))
	assert.Len(t, near.Nodes, 1)
	for format, start := range map[string]string{"dot": "digraph", "graphml": "<?xml", "mermaid": "flowchart"} {
		r := w.ask("GET", "/v1/graph?format="+format, "")
		assert.Equal(t, 200, r.status, format)
		assert.True(t, strings.HasPrefix(r.body, start), r.body)
		assert.Equal(t, r.body, w.ask("GET", "/v1/graph?format="+format, "").body, "twice the same")
	}
	p := requireProblem(t, 404, "no:such", w.ask("GET", "/v1/graph?around=no:such", ""))
	assert.Equal(t, "query.around", p.Errors[0].Location)
	requireProblem(t, 422, "depth", w.ask("GET", "/v1/graph?around=json:parse&depth=17", ""))

	diff := parse[suggest.DiffReport](t, 200, w.ask("GET", "/v1/graph/diff?from=current", ""))
	assert.Empty(t, diff.Added)
	requireProblem(t, 404, "from: no such model", w.ask("GET", "/v1/graph/diff?from=sha256:0", ""))
	w.settle(parse[live.PutResult](t, 200, w.ask("PUT", "/v1/tools", `[{"id":"brand:new"}]`)))
	require.Equal(t, 200, w.ask("POST", "/v1/episodes", `[{"id":"b1","intent":"brand new","steps":[{"tool":"fs:read_file"},{"tool":"brand:new"}]},{"id":"b2","intent":"brand new","steps":[{"tool":"fs:read_file"},{"tool":"brand:new"}]}]`).status)
	_, err := defaultEngine(t, w.Server).Build(t.Context())
	require.NoError(t, err)
	diff = parse[suggest.DiffReport](t, 200, w.ask("GET", "/v1/graph/diff", ""))
	assert.NotEqual(t, diff.From, diff.To)
	back := parse[suggest.DiffReport](t, 200, w.ask("GET", "/v1/graph/diff?from="+diff.To+"&to="+diff.From, ""))
	assert.Equal(t, diff.Added, back.Removed)

	// Intents of the history are for those who may export it; a request of one's own is answered in place of the samples.
	key := parse[struct{ Key string }](t, 200, w.ask("POST", "/v1/keys", `{"name":"r","scopes":["read"]}`)).Key
	for _, c := range parse[suggest.DiffReport](t, 200, w.ask("GET", "/v1/graph/diff", "", "Authorization: Bearer "+key)).Answers {
		assert.Empty(t, c.Intent)
	}
	own := parse[suggest.DiffReport](t, 200, w.ask("GET", "/v1/graph/diff?context=github:search_issues&intent=brand+new", ""))
	require.Len(t, own.Answers, 1)
	assert.Equal(t, "brand new", own.Answers[0].Intent)
	assert.Equal(t, "github:search_issues", own.Answers[0].After)
	assert.Contains(t, own.Answers[0].Now, "brand:new")
}
