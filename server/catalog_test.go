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
	_, err := defaultEngine(t, w.Server).Build(t.Context()) // so that no build changes the version meanwhile
	require.NoError(t, err)

	one := w.ask("GET", "/v1/tools/x:one", "")
	assert.Equal(t, "Uno", parse[catalog.Tool](t, 200, one).Description)
	tag := one.header.Get("ETag")
	assert.Regexp(t, `^"sha256:`, tag)
	for _, match := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
		got := w.ask("GET", "/v1/tools/x:one", "", "If-None-Match: "+match)
		assert.Equal(t, 304, got.status, match)
		assert.Empty(t, got.body)
		assert.Equal(t, tag, got.header.Get("ETag"))
	}
	assert.Equal(t, 200, w.ask("GET", "/v1/tools/x:one", "", `If-None-Match: "other"`).status)
	assert.Equal(t, "x:one", parse[catalog.Tool](t, 200, w.ask("GET", "/v1/tools/mcp__x__one", "")).ID, "another spelling")

	requireProblem(t, 404, "x:three", w.ask("GET", "/v1/tools/x:three", ""))
	requireProblem(t, 404, "reformat", w.ask("GET", "/v1/tools/reformat", "")) // a capability is no tool
	requireProblem(t, 404, "mcp__x__one", w.ask("DELETE", "/v1/tools/mcp__x__one", ""))
	assert.Equal(t, 204, w.ask("DELETE", "/v1/tools/x:two", "").status)
	requireProblem(t, 404, "x:two", w.ask("DELETE", "/v1/tools/x:two", ""))
	seq := defaultEngine(t, w.Server).Head().Seq
	require.NoError(t, defaultEngine(t, w.Server).Wait(t.Context(), seq))
	requireProblem(t, 404, "x:two", w.ask("GET", "/v1/tools/x:two", ""))
	assert.Equal(t, 200, w.ask("GET", "/v1/tools/x:one", "", "If-None-Match: "+tag).status, "the model has changed")

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
	whole := parse[suggest.Export](t, 200, w.ask("GET", "/v1/graph", ""))
	assert.Len(t, whole.Nodes, 7)
	near := parse[suggest.Export](t, 200, w.ask("GET", "/v1/graph?around=json:parse&depth=0", ""))
	assert.Len(t, near.Nodes, 1)
	for format, start := range map[string]string{"dot": "digraph", "graphml": "<?xml", "mermaid": "flowchart"} {
		r := w.ask("GET", "/v1/graph?format="+format, "")
		assert.Equal(t, 200, r.status, format)
		assert.True(t, strings.HasPrefix(r.body, start), r.body)
		assert.Equal(t, r.body, w.ask("GET", "/v1/graph?format="+format, "").body, "twice the same")
		assert.Equal(t, 304, w.ask("GET", "/v1/graph?format="+format, "", "If-None-Match: "+r.header.Get("ETag")).status)
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
	own := parse[suggest.DiffReport](t, 200, w.ask("GET", "/v1/graph/diff?context=fs:read_file&intent=brand+new", ""))
	require.Len(t, own.Answers, 1)
	assert.Equal(t, "brand new", own.Answers[0].Intent)
	assert.Equal(t, "fs:read_file", own.Answers[0].After)
	assert.Contains(t, own.Answers[0].Now, "brand:new")
}

// With If-Match the catalog changes only from the state that the caller saw.
func TestIfMatch(t *testing.T) {
	w := newWeb(t)
	ifMatch := func(tag string) string { return "If-Match: " + tag }
	require.Equal(t, 200, w.ask("PUT", "/v1/tools", `[{"id":"x:one"},{"id":"x:two"}]`).status)
	require.Equal(t, 200, w.ask("PUT", "/v1/capabilities", `[{"id":"c","tools":["x:one"]}]`).status)
	old := w.ask("GET", "/v1/tools/x:one", "").header.Get("ETag")
	changed := w.ask("PUT", "/v1/tools", `[{"id":"x:one","description":"Changed by somebody else."}]`, bearerOf("local-token"))
	w.settle(parse[live.PutResult](t, 200, changed))
	_, err := defaultEngine(t, w.Server).Build(t.Context()) // so that no build changes the version meanwhile
	require.NoError(t, err)
	for _, tag := range []string{old, `"other", "another"`, `""`, ""} {
		for path, body := range map[string]string{"/v1/tools/x:one": "", "/v1/capabilities/c": "", "/v1/tools": `[{"id":"x:one","description":"Mine."}]`, "/v1/capabilities": `[{"id":"d","tools":["x:two"]}]`} {
			method := "DELETE"
			if body != "" {
				method = "PUT"
			}
			got := w.ask(method, path, body, ifMatch(tag))
			assert.Equal(t, 412, got.status, "%s %s if %s", method, path, tag)
			assert.Contains(t, got.body, "If-Match")
		}
	}
	weak := "W/" + w.ask("GET", "/v1/tools/x:one", "").header.Get("ETag")
	assert.Equal(t, 412, w.ask("DELETE", "/v1/tools/x:one", "", ifMatch(weak)).status, "a weak tag never matches")
	got := w.ask("GET", "/v1/tools/x:one", "")
	assert.Contains(t, got.body, "Changed by somebody else.")

	tag := got.header.Get("ETag")
	assert.Equal(t, 204, w.ask("DELETE", "/v1/tools/x:one", "", ifMatch(`"other", `+tag)).status)
	assert.Equal(t, 412, w.ask("DELETE", "/v1/tools/x:two", "", ifMatch(tag)).status, "the catalog has changed")
	assert.Equal(t, 204, w.ask("DELETE", "/v1/tools/x:two", "", ifMatch("*")).status)
	assert.Equal(t, 404, w.ask("DELETE", "/v1/tools/x:two", "", ifMatch("*")).status)
}

// If-Match: * needs a workspace, and If-None-Match: * that nothing exists of what is put.
func TestConditionalPuts(t *testing.T) {
	w := newWeb(t)
	other := []string{bearerOf("local-token"), "Waymark-Workspace: misspelt"}
	put := func(path, body string, header ...string) reply { return w.ask("PUT", path, body, header...) }
	requireProblem(t, 412, "If-Match", put("/v1/tools", `[{"id":"x:one"}]`, append(other, "If-Match: *")...))
	requireProblem(t, 404, "misspelt", w.ask("GET", "/v1/tools", "", other...))

	require.Equal(t, 200, put("/v1/tools", `[{"id":"x:one"}]`, "If-None-Match: *").status)
	for path, body := range map[string]string{"/v1/tools": `[{"id":"x:two"},{"id":"x:one","description":"Mine."}]`, "/v1/capabilities": `[{"id":"d","tools":["x:one"]},{"id":"c","tools":["x:one"]}]`} {
		if path == "/v1/capabilities" {
			require.Equal(t, 200, put(path, `[{"id":"c","tools":["x:one"]}]`, "If-None-Match: *").status)
		}
		requireProblem(t, 412, "exists already", put(path, body, "If-None-Match: *"))
	}
	requireProblem(t, 400, "If-None-Match", put("/v1/tools", `[{"id":"x:two"}]`, `If-None-Match: "other"`))
	w.settle(parse[live.PutResult](t, 200, put("/v1/tools", `[{"id":"x:three"}]`, "If-None-Match: *")))
	ids := w.ask("GET", "/v1/tools", "").body + w.ask("GET", "/v1/capabilities", "").body
	assert.Contains(t, ids, "x:three")
	for _, absent := range []string{"x:two", "Mine.", `"d"`} {
		assert.NotContains(t, ids, absent)
	}
}

// Every cacheable answer has an ETag that is compared, also while some of it is hidden from the caller.
func TestETags(t *testing.T) {
	w := newWeb(t)
	key := w.writeKey()
	w.settle(parse[live.PutResult](t, 200, w.ask("PUT", "/v1/tools", fmt.Sprintf(`[{"id":"sheets:read_cells","description":%q}]`, evilText), key)))
	before := map[string]string{}
	paths := []string{"/v1/tools", "/v1/tools/sheets:read_cells", "/v1/tools/fs:read_file", "/v1/capabilities", "/v1/graph", "/v1/map", "/v1/map?nodes=2"}
	for _, path := range paths {
		got := w.ask("GET", path, "", key)
		before[path] = got.header.Get("ETag")
		require.NotEmpty(t, before[path], path)
		again := w.ask("GET", path, "", key, "If-None-Match: W/"+before[path])
		assert.Equal(t, [2]any{304, ""}, [2]any{again.status, again.body}, path)
		assert.Equal(t, 200, w.ask("GET", path, "", key, `If-None-Match: "other"`).status, path)
	}
	require.Equal(t, 200, w.ask("PUT", "/v1/tools", `[{"id":"x:one"}]`, key, "If-Match: "+before["/v1/tools"]).status, "it names the model")
	_, err := defaultEngine(t, w.Server).Build(t.Context())
	require.NoError(t, err)
	hidden := w.ask("GET", "/v1/tools/sheets:read_cells", "", key).header.Get("ETag")
	require.Equal(t, 200, w.ask("POST", "/v1/quarantine/approve", `{"all":true}`, bearerOf("local-token")).status)
	got := w.ask("GET", "/v1/tools/sheets:read_cells", "", key, "If-None-Match: "+hidden)
	assert.Equal(t, 200, got.status, "an approval changes the answer, not the model")
	assert.Contains(t, got.body, "id_rsa")
}
