//go:build browser

package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// useAll uses each control of a screen once, those of rows and cards in the first one, and says what is wrong after one.
// Servers are not really added.
const useAll = `(async () => {
  const start = location.hash, used = [], wrong = [], added = [], refused = new Set(), real = window.fetch; let pending = 0;
  window.confirm = () => true;
  window.fetch = (path, options) => {
    if (path === "/v1/servers" && options.method === "POST") { added.push(options.body); return Promise.resolve(new Response('{"added":["trial"],"connected":false}')); }
    pending++; return real(path, options).finally(() => pending--);
  };
  const settle = async () => { for (let quiet = 0; quiet < 3; quiet = pending ? 0 : quiet + 1) await new Promise((r) => setTimeout(r, 40)); };
  const name = (e) => e.localName + " " + (e.getAttribute("aria-label") || e.labels?.[0]?.firstChild.textContent || e.textContent).replace(/[\w-]+:[\w.-]+.*|\bp[\da-f]{8,}|\d+/g, "").trim();
  const values = { Intent: "open a pull request", Id: "trial", "Command line or URL": "npx -y 'a b'", Environment: "A=1=2", From: "previous", To: "current" };
  const check = (what) => {
    const main = document.querySelector("main"), shown = main.innerText, config = main.querySelector("pre")?.innerText;
    const bad = (shown.replace(config, "") + location.hash).match(/.{0,60}(\b(NaN|null|undefined)\b|\d\.\d{4}|[{[]\s*"\w).{0,60}/);
    const map = document.querySelector("svg.map"), frame = map?.getBoundingClientRect();
    if (bad) wrong.push(what + ": " + bad[0]);
    document.querySelectorAll("main .problem:not(.note)").forEach((p) => refused.add(p.innerText));
    if (shown.length < 60) wrong.push(what + ": nothing is shown");
    if (document.documentElement.scrollWidth > innerWidth) wrong.push(what + ": wider than the window");
    if (location.hash.startsWith("#/map") && !(map && [...map.querySelectorAll("circle")].some((c) => { const r = c.getBoundingClientRect(); return r.right > frame.left && r.left < frame.right && r.bottom > frame.top && r.top < frame.bottom; }))) wrong.push(what + ": the frame is empty");
  };
  const use = async (e) => {
    if (["a", "button"].includes(e.localName)) return e.click();
    if (e.localName === "summary") { e.click(); if (!e.parentNode.open) e.click(); return; }
    if (e.localName === "circle") return e.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    if (e.type === "file") { const d = new DataTransfer(); d.items.add(new File(['{"kind":"tool","id":"trial:tool","description":"Tries."}'], "a.jsonl")); e.files = d.files; }
    else e.value = e.options?.[e.options.length - 1].value ?? { range: 50, number: 3 }[e.type] ?? values[name(e).replace(/^\w+ /, "")] ?? "forge:create_branch";
    for (const kind of ["input", "change"]) e.dispatchEvent(new Event(kind, { bubbles: true }));
    await settle();
    e.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
  };
  await settle(); check("at first");
  if (start.startsWith("#/operations") && innerWidth > 1000 && document.documentElement.scrollHeight > 2000) wrong.push("one long scroll");
  for (let e; used.length < 60 && (e = [...document.querySelectorAll("main :is(a[href^='#'], button, select, input, textarea, summary, svg.map circle)")].find((e) => !e.disabled && e.checkVisibility() && !e.closest("article:not(:first-of-type), tr:not(:first-child)") && !used.includes(name(e)))); ) {
    used.push(name(e)); await use(e);
    await settle(); check(used.at(-1));
    if (location.hash.split("?")[0] !== start.split("?")[0]) { location.hash = start; await settle(); }
  }
  return { Used: used, Wrong: wrong, Added: added, Refused: [...refused] };
})()`

// filled is how much of its frame the map takes, and its smallest and largest radius in pixels.
const filled = `(() => { const f = document.querySelector("svg.map").getBoundingClientRect(), all = [...document.querySelectorAll("svg.map circle")].map((c) => c.getBoundingClientRect()), radii = all.map((r) => r.width / 2);
  return [(Math.max(...all.map((r) => r.right)) - Math.min(...all.map((r) => r.left))) / f.width, (Math.max(...all.map((r) => r.bottom)) - Math.min(...all.map((r) => r.top))) / f.height, Math.min(...radii), Math.max(...radii)]; })()`

// Each control of each screen does something sensible, on a desk and on a telephone, and an empty store can be filled.
func TestBrowserControls(t *testing.T) {
	browser(t)
	data := withSample(t)
	base := serveAt(t, data, "127.0.0.1")
	changed(t, base)
	ask(t, "POST", base+"/v1/proposals", "{}", nil)
	require.Eventually(t, func() bool {
		var mined struct{ Proposals []any }
		ask(t, "GET", base+"/v1/proposals", "", &mined)
		return len(mined.Proposals) > 1
	}, minute, tick)
	require.NoError(t, os.MkdirAll(filepath.Join(data, "evaluations"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(data, "evaluations", "default.json"), []byte(`{"at":"2026-11-01T00:00:00Z","report":`+stored+`}`), 0o600))
	for _, width := range []int64{1280, 390} {
		ctx, problems := tab(t)
		require.NoError(t, chromedp.Run(ctx, chromedp.EmulateViewport(width, 900)))
		use := func(base, address, wait string) (got struct{ Used, Wrong, Added, Refused []string }) {
			open(t, ctx, base, address, wait)
			require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(useAll, &got, awaits)), address)
			require.Empty(t, got.Wrong, "%s at %d; used: %s", address, width, strings.Join(got.Used, ", "))
			t.Logf("%s at %d: %s", address, width, strings.Join(append(got.Used, got.Refused...), ", "))
			return got
		}
		fills(t, ctx, base)
		for _, s := range []struct {
			address, wait string
			uses          int // at least so many kinds of controls
		}{
			{"map?id=forge:commit_files", "section.card table button", 14}, {"next?profile=seed&context=forge:create_branch", "article svg", 10}, {"changes", "article.card ol", 6},
			{"plan?profile=seed&intent=open%20a%20pull%20request", `svg[aria-label^="DAG"]`, 10}, {"proof", `svg[aria-label^="Reliability"]`, 3},
			{"operations", "#proposals article", 8}, {"operations/tools", `[aria-label^="Tools by calls"]`, 3}, {"operations/servers", "#servers .empty", 4},
			{"operations/status", "#checks table", 0}, {"operations/access", "#workspaces table", 0}, {"operations/jobs", "#jobs button", 1},
		} {
			require.GreaterOrEqual(t, len(use(base, s.address, s.wait).Used), s.uses, s.address)
		}

		empty := serve(t)
		require.Contains(t, open(t, ctx, empty, "", ".begin"), "Any of these three fills it")
		got := use(empty, "operations/add", ".begin")
		require.Subset(t, got.Used, []string{"button Import", "button Show the map", "button Add the server", "button Copy the configuration"})
		require.Empty(t, got.Refused)
		require.Equal(t, []string{`{"servers":[{"id":"trial","command":"npx","args":["-y","a b"],"env":{"A":"1=2"}}]}`}, got.Added)
		require.Contains(t, open(t, ctx, empty, "", "svg.map"), "1 of 1 nodes")
		for path, shown := range map[string]string{"/status": "main table", "/docs": "nav a[href='/#/map']"} {
			require.NoError(t, chromedp.Run(ctx, chromedp.Navigate(empty+path), chromedp.WaitVisible(shown, chromedp.ByQuery)))
		}
		require.Empty(t, *problems)
	}
}

// fills fails unless the map fills its frame, and its circles are large enough to be hit and grow with importance.
func fills(t *testing.T, ctx context.Context, base string) {
	t.Helper()
	open(t, ctx, base, "map", "svg.map + .legend li")
	var got [4]float64
	require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(filled, &got)))
	for i, least := range []float64{0.85, 0.85, 4, 10} {
		require.GreaterOrEqual(t, got[i], least-0.2, fmt.Sprint(got))
	}
}
