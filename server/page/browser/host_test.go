//go:build browser

package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// A host of MCP Apps as the specification of 2026-01-26 describes one that is a web page: the view stands in a frame of
// a frame of another origin, which passes messages on, under the policy for views that declare no domains. It checks
// what a view sends, and forwards tool calls to the program's MCP server.
const hostPage = `<!doctype html><title>host</title><iframe src="PROXY" sandbox="allow-scripts allow-same-origin" width=600 height=200></iframe><script>
const frame = document.querySelector("iframe"), [screen, args] = JSON.parse(decodeURIComponent(location.hash.slice(1)));
window.seen = []; window.wrong = []; window.replies = {}; let asked = false, ready = false;
const must = (holds, what) => holds || wrong.push(what);
const mcp = (method, params) => fetch("/mcp", {method: "POST", body: JSON.stringify({method, params})}).then((r) => r.json());
const send = (message) => frame.contentWindow.postMessage({jsonrpc: "2.0", ...message}, "*");
addEventListener("message", async (e) => {
  const m = e.data;
  if (e.source !== frame.contentWindow) return;
  must(m.jsonrpc === "2.0", "not JSON-RPC");
  if (m.method === "ui/notifications/sandbox-proxy-ready") {
    const document = (await mcp("resources/read", {uri: "ui://waymark/" + screen})).result.contents[0];
    must(document.mimeType === "text/html;profile=mcp-app" && document._meta.ui.prefersBorder, JSON.stringify(document._meta));
    return send({method: "ui/notifications/sandbox-resource-ready", params: {html: document.text}});
  }
  seen.push(m.method ?? "reply");
  if (m.method === undefined) { replies[m.id] = m; return; }
  must(ready || m.method === "ui/initialize" || m.method === "ui/notifications/initialized", m.method + " before the view is initialized");
  if (m.method === "ui/initialize") {
    asked = true;
    const p = m.params;
    must(p.protocolVersion === "2026-01-26" && p.appInfo.name && p.appInfo.version && p.appCapabilities.availableDisplayModes.includes("inline"), JSON.stringify(p));
    send({id: m.id, result: {protocolVersion: "2026-01-26", hostInfo: {name: "host", version: "1"}, hostCapabilities: {serverTools: {}, serverResources: {}},
      hostContext: {theme: "dark", displayMode: "inline", availableDisplayModes: ["inline"], containerDimensions: {width: 600, maxHeight: 5000}}}});
  } else if (m.method === "ui/notifications/initialized") {
    must(asked, "initialized before it asked"); ready = true;
    send({method: "ui/notifications/tool-input", params: {arguments: args}});
    send({method: "ui/notifications/tool-result", params: (await mcp("tools/call", {name: {next: "suggest_next", plan: "suggest_dag"}[screen], arguments: args})).result});
  } else if (m.method === "ui/notifications/size-changed") {
    must(m.params.width > 0 && m.params.height > 0 && m.params.height <= 5000, JSON.stringify(m.params));
    frame.style.height = m.params.height + "px";
  } else if (m.method === "tools/call") {
    send({...await mcp(m.method, m.params), id: m.id});
  } else must(false, "unknown method " + m.method);
});
</script>`

const proxyPage = `<!doctype html><style>html, body { margin: 0; height: 100%; } iframe { border: 0; width: 100%; height: 100%; display: block; }</style><body><script>
let view;
addEventListener("message", (e) => {
  if (e.source === parent && e.data.method === "ui/notifications/sandbox-resource-ready") {
    view = document.createElement("iframe");
    view.sandbox = "allow-scripts";
    view.srcdoc = e.data.params.html.replace("<head>", "<head><meta http-equiv=Content-Security-Policy content=\"default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'self'\">");
    document.body.append(view);
  } else if (e.source === parent) view.contentWindow.postMessage(e.data, "*");
  else if (e.source === view?.contentWindow) parent.postMessage(e.data, "*");
});
parent.postMessage({jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {}}, "*");
</script>`

// mcpClient is one session with the program's MCP server.
type mcpClient struct {
	url, session string
	id           int
	sync.Mutex
}

func (c *mcpClient) ask(method string, params json.RawMessage) ([]byte, error) {
	c.Lock()
	defer c.Unlock()
	if c.session == "" {
		if _, err := c.post("initialize", json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}},"clientInfo":{"name":"host","version":"1"}}`)); err != nil {
			return nil, err
		}
		if _, err := c.post("notifications/initialized", json.RawMessage(`{}`)); err != nil {
			return nil, err
		}
	}
	return c.post(method, params)
}

func (c *mcpClient) post(method string, params json.RawMessage) ([]byte, error) {
	message := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if c.id++; !strings.HasPrefix(method, "notifications/") {
		message["id"] = c.id
	}
	body, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequest("POST", c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if s := answer.Header.Get("Mcp-Session-Id"); s != "" {
		c.session = s
	}
	text, err := io.ReadAll(answer.Body)
	if _, event, ok := bytes.Cut(text, []byte("data: ")); ok { // the answer of a stream
		text = event
	}
	return text, err
}

// The apps of MCP keep to the protocol between view and host, show what the host sends, follow its theme, say how large
// they are, and call tools through it.
func TestBrowserShowsAnswersInAnMCPHost(t *testing.T) {
	browser(t)
	client := &mcpClient{url: serveAt(t, withSample(t), "127.0.0.1") + "/mcp"}
	mux := http.NewServeMux()
	host := httptest.NewServer(mux)
	t.Cleanup(host.Close)
	page := func(path, text string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, text)
		})
	}
	page("/host", strings.Replace(hostPage, "PROXY", strings.Replace(host.URL, "127.0.0.1", "localhost", 1)+"/proxy", 1)) // another origin
	page("/proxy", proxyPage)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Method string
			Params json.RawMessage
		}
		err := json.NewDecoder(r.Body).Decode(&q)
		var answer []byte
		if err == nil {
			answer, err = client.ask(q.Method, q.Params)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
		_, _ = w.Write(answer)
	})
	// Frames of other sites share the process, so that their documents can be asked from here.
	ctx, problems := tab(t, chromedp.Flag("disable-site-isolation-trials", true), chromedp.Flag("disable-features", "site-per-process,IsolateOrigins,IsolateSandboxedIframes"))
	var mu sync.Mutex
	var contexts []runtime.ExecutionContextID
	chromedp.ListenTarget(ctx, func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := ev.(type) {
		case *runtime.EventExecutionContextCreated:
			contexts = append(contexts, e.Context.ID)
		case *runtime.EventExecutionContextsCleared:
			contexts = nil
		}
	})
	// inView evaluates an expression in the document of the view.
	inView := func(expression string) (holds bool) {
		mu.Lock()
		all := append([]runtime.ExecutionContextID{}, contexts...)
		mu.Unlock()
		for _, id := range all {
			var got bool
			err := chromedp.Run(ctx, chromedp.Evaluate(`!!document.documentElement.dataset.view && !!(`+expression+`)`, &got, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithContextID(id) }))
			holds = holds || err == nil && got
		}
		return holds
	}
	eventually := func(expression string) {
		t.Helper()
		require.Eventually(t, func() bool { return inView(expression) }, minute, tick, expression)
	}
	background := func(color string) {
		t.Helper()
		eventually(fmt.Sprintf(`getComputedStyle(document.body).backgroundColor === %q`, color))
	}
	tell := func(method, params string) {
		t.Helper()
		require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(fmt.Sprintf(`send({method: %q, params: %s})`, method, params), nil)))
	}
	opens := func(view, arguments string) {
		t.Helper()
		require.NoError(t, chromedp.Run(ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(host.URL+"/host#"+strings.ReplaceAll(fmt.Sprintf(`[%q,%s]`, view, arguments), " ", "%20"))))
	}
	ends := func() { // the host has nothing to find fault with
		t.Helper()
		waitFor(t, ctx, `seen.includes("ui/notifications/size-changed")`) // it comes with the next layout
		require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(`send({id: "end", method: "ui/resource-teardown", params: {reason: "test"}})`, nil)))
		waitFor(t, ctx, `JSON.stringify(replies.end?.result) === "{}"`)
		var wrong, seen []string
		require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(`wrong`, &wrong), chromedp.Evaluate(`seen`, &seen)))
		require.Empty(t, wrong)
		require.Equal(t, []string{"ui/initialize", "ui/notifications/initialized"}, seen[:2])
	}

	opens("next", `{"context":["forge:create_branch"],"explain":true}`)
	eventually(`document.querySelector("table")?.textContent.includes("forge:commit_files")`)
	background("rgb(20, 23, 28)")
	tell("ui/notifications/host-context-changed", `{theme: "light"}`)
	background("rgb(255, 255, 255)")
	tell("ui/notifications/host-context-changed", `{styles: {variables: {"--color-background-primary": "#010203", "--color-background-secondary": "#111", "--color-text-primary": "#fff", "--color-text-secondary": "#ddd", "--color-border-primary": "#444", "--font-sans": "serif"}}}`)
	background("rgb(1, 2, 3)")
	tell("ui/notifications/host-context-changed", `{styles: {variables: {"--color-background-primary": "#010203"}}}`)
	background("rgb(255, 255, 255)") // one colour alone would not fit the others
	height := func() (px float64) {
		require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(`frame.getBoundingClientRect().height`, &px)))
		return px
	}
	open := height()
	eventually(`(() => { document.querySelectorAll("details").forEach((d) => { d.open = false; }); return true; })()`)
	require.Eventually(t, func() bool { return height() < open-100 }, minute, tick, "the frame shrinks with the content")
	eventually(`document.documentElement.scrollHeight <= innerHeight`) // nothing is cut off
	eventually(`(() => { const b = document.querySelector('[aria-label="What comes after forge:commit_files"]'); b?.click(); return b; })()`)
	eventually(`document.body.textContent.includes("After forge:create_branch, forge:commit_files") && document.querySelector("table").textContent.includes("forge:create_pull_request")`)
	tell("ui/notifications/tool-cancelled", `{reason: "The user said no."}`)
	eventually(`document.querySelector("[role=alert]")?.textContent.includes("The user said no.")`)
	ends()

	opens("plan", `{"intent":"open a pull request"}`)
	eventually(`document.querySelector("svg") && document.querySelector("table")?.textContent.includes("forge:create_pull_request")`)
	ends()

	require.Empty(t, *problems)
}
