//go:build browser

package browser

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// states are the six screens with something on each, and an element that is there when it is.
var states = []struct{ name, address, wait string }{
	{"Map", "map?id=forge:commit_files", `section.card table button`},
	{"Next", "next?profile=seed&context=forge:create_branch", "article svg"},
	{"Plan and runs", "plan?profile=seed&intent=open%20a%20pull%20request", `svg[aria-label^="DAG"]`},
	{"Proof", "proof", "main h2"},
	{"Changes", "changes", "article.card ol"},
	{"Operations", "operations/tools", `[aria-label^="Tools by calls"]`},
}

// Every screen is without a violation that axe-core finds, in light and dark. Of long tables and the map the first rows
// and nodes stand for the others, which are made by the same code.
func TestBrowserScreensAreAccessible(t *testing.T) {
	browser(t)
	base := serveAt(t, withSample(t), "127.0.0.1")
	changed(t, base)
	ctx, problems := tab(t)
	for _, s := range states {
		open(t, ctx, base, s.address, s.wait)
		require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(`document.querySelectorAll("details").forEach((d) => { d.open = true; })`, nil),
			chromedp.Evaluate(`document.querySelectorAll("tbody tr:nth-child(n+6), svg.map :nth-child(n+20), main article:nth-of-type(n+4)").forEach((e) => e.remove())`, nil)))
		accessible(t, ctx, s.name)
	}
	require.Empty(t, *problems)
}

// accessible fails on what axe-core finds in the tab as it is, in light, and of its colours in dark: they alone differ.
func accessible(t *testing.T, ctx context.Context, state string) {
	t.Helper()
	axe, err := os.ReadFile("vendored/axe.min.js")
	require.NoError(t, err)
	require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(string(axe)+";0", nil)))
	for _, r := range []struct {
		scheme, rules string
		passes        int
	}{{"dark", `{runOnly: ["color-contrast"]}`, 1}, {"light", "{}", 11}} {
		var found struct {
			Passes     int
			Violations []string
		}
		require.NoError(t, chromedp.Run(ctx,
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: r.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}),
			chromedp.Evaluate(`axe.run(document, `+r.rules+`).then((r) => ({Passes: r.passes.length, Violations: r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 200) + " " + n.failureSummary))}))`, &found, awaits)))
		require.Empty(t, found.Violations, "%s, %s", state, r.scheme)
		require.GreaterOrEqual(t, found.Passes, r.passes, state)
	}
}

// focused describes the element that has the focus: what it is called and whether one can see that it has it.
const focused = `(() => { const e = document.activeElement, r = e.getBoundingClientRect(), c = getComputedStyle(e);
	return {Name: e === document.body ? "" : (e.getAttribute("aria-label") || e.labels?.[0]?.textContent || e.textContent).trim(), Tag: e.localName,
		Visible: r.width > 0 && r.height > 0 && c.outlineStyle !== "none", Place: [...document.querySelectorAll("*")].indexOf(e)}; })()`

type focus struct {
	Name, Tag string
	Visible   bool
	Place     int
}

func press(t *testing.T, ctx context.Context, keys string) (f focus) {
	t.Helper()
	require.NoError(t, chromedp.Run(ctx, chromedp.KeyEvent(keys), chromedp.Evaluate(focused, &f)))
	return f
}

// tabTo presses the tabulator until an element whose name begins so has the focus.
func tabTo(t *testing.T, ctx context.Context, name string) focus {
	t.Helper()
	for range 1000 {
		if f := press(t, ctx, kb.Tab); strings.HasPrefix(f.Name, name) && f.Tag != "main" {
			require.True(t, f.Visible, "the focus on %s cannot be seen", name)
			return f
		}
	}
	t.Fatalf("the tabulator does not reach %q", name)
	return focus{}
}

func waitFor(t *testing.T, ctx context.Context, condition string) {
	t.Helper()
	if err := chromedp.Run(ctx, chromedp.Poll(condition, nil)); err != nil {
		var shown string
		_ = chromedp.Run(ctx, chromedp.Evaluate(`[...document.querySelectorAll(".problem, main")].map((p) => p.innerText.slice(0, 400)).join("; ")`, &shown))
		t.Fatalf("%s: %v; on the page: %s", condition, err, shown)
	}
}

func content(t *testing.T, ctx context.Context) (text string) {
	t.Helper()
	require.NoError(t, chromedp.Run(ctx, chromedp.Text("main", &text, chromedp.ByQuery)))
	return text
}

// All six screens can be reached, used and left by the keyboard alone.
func TestBrowserNeedsNoMouse(t *testing.T) {
	browser(t)
	ctx, problems := tab(t)
	open(t, ctx, serveAt(t, withSample(t), "127.0.0.1"), "", "svg.map")
	visit := func(screen string) {
		tabTo(t, ctx, screen)
		press(t, ctx, kb.Enter)
		waitFor(t, ctx, `document.querySelector("main h1")?.textContent === "`+screen+`"`)
	}

	require.Equal(t, "Skip to the content", press(t, ctx, kb.Tab).Name)
	require.Equal(t, "main", press(t, ctx, kb.Enter).Tag)
	require.Equal(t, "Find a tool or capability", press(t, ctx, kb.Tab).Name)
	press(t, ctx, "forge:commit_files"+kb.Enter)
	waitFor(t, ctx, `!!document.querySelector("section.card table button")`)
	tabTo(t, ctx, "Map of")
	var before, after string
	view := func(into *string) chromedp.Action {
		return chromedp.AttributeValue("svg.map", "viewBox", into, nil, chromedp.ByQuery)
	}
	require.NoError(t, chromedp.Run(ctx, view(&before)))
	press(t, ctx, "+"+kb.ArrowLeft)
	require.NoError(t, chromedp.Run(ctx, view(&after)))
	require.NotEqual(t, before, after)
	tabTo(t, ctx, "Episodes with")
	press(t, ctx, kb.Enter)
	waitFor(t, ctx, `!!document.querySelector('[aria-label^="Episodes with"][role="region"]')`)

	visit("Next")
	tabTo(t, ctx, "Tool that was used")
	press(t, ctx, "forge:create_branch"+kb.Enter)
	waitFor(t, ctx, `!!document.querySelector("article svg")`)
	tabTo(t, ctx, "Remove forge:create_branch")
	press(t, ctx, kb.Enter)
	waitFor(t, ctx, `!document.querySelector(".chips")`)

	visit("Plan and runs")
	tabTo(t, ctx, "Intent")
	press(t, ctx, "open a pull request"+kb.Enter)
	waitFor(t, ctx, `!!document.querySelector('svg[aria-label^="DAG"]')`)
	tabTo(t, ctx, "Show what a run would do")

	visit("Proof")
	visit("Changes")
	tabTo(t, ctx, "Compare")
	press(t, ctx, kb.Enter)
	visit("Operations")
	tabTo(t, ctx, "Tools")
	press(t, ctx, kb.Enter)
	waitFor(t, ctx, `!!document.querySelector('[aria-label^="Tools by calls"]')`)

	// The tabulator passes everything on the screen and comes out at its end.
	places := []int{}
	for f := tabTo(t, ctx, "Map"); ; f = press(t, ctx, kb.Tab) {
		if len(places) > 0 && f.Place <= places[len(places)-1] {
			break
		}
		require.Less(t, len(places), 1000, "the focus is caught")
		places = append(places, f.Place)
	}
	require.Greater(t, len(places), 15)
	require.NotEmpty(t, content(t, ctx))
	require.Empty(t, *problems)
}

// A sign-in link signs in once, and leaves neither a key nor its code behind.
func TestBrowserSignsInByALink(t *testing.T) {
	browser(t)
	data := withSample(t)
	waymark := func(args ...string) string {
		out, err := exec.Command(os.Getenv("WAYMARK"), append(args, "--data", data)...).Output()
		require.NoError(t, err)
		return strings.TrimSpace(string(out))
	}
	key := waymark("keys", "create", "--name", "k", "--scopes", "read,write,admin")
	base := serveAt(t, data, "0.0.0.0") // keys are required
	ctx, problems := tab(t)
	require.Contains(t, open(t, ctx, base, "map", "input[type=password]"), "API key")

	fill(t, ctx, "API key", "wmk_wrong")
	clickButton(t, ctx, "Sign in")
	shows(t, ctx, "the credential is unknown or revoked")
	waitFor(t, ctx, `sessionStorage.length === 0 && !document.querySelector("header button")`) // it is not kept
	accessible(t, ctx, "a key that is refused")

	var made struct{ Path string }
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/sign-in-links", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&made))
	link := base + made.Path
	require.Contains(t, link, "/#/sign-in?code=")
	require.NoError(t, chromedp.Run(ctx, chromedp.Navigate(link), chromedp.WaitVisible("svg.map", chromedp.ByQuery)))
	var left string
	require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(`location.href + document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)`, &left)))
	require.NotContains(t, left, "code=")
	require.NotContains(t, left, key)
	require.Contains(t, left, "wms_")
	entries, err := history(ctx)
	require.NoError(t, err)
	for _, e := range entries {
		require.NotContains(t, e, "code=")
	}

	require.NoError(t, chromedp.Run(ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(link), chromedp.WaitVisible("main .problem", chromedp.ByQuery)))
	require.Contains(t, content(t, ctx), "this sign-in link was used already")
	require.Empty(t, *problems)
}

// history are the addresses that the tab can go back to.
func history(ctx context.Context) (urls []string, err error) {
	err = chromedp.Run(ctx, chromedp.ActionFunc(func(ctx context.Context) error {
		_, entries, err := page.GetNavigationHistory().Do(ctx)
		for _, e := range entries {
			urls = append(urls, e.URL)
		}
		return err
	}))
	return urls, err
}

// awaits lets an evaluation end with what its promise gives.
func awaits(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// What is decided on the page is decided by the keyboard alone, and each state of it is accessible: the values of a run,
// its approval, and a proposal that is looked for, edited and approved.
func TestBrowserDecidesWithoutAMouse(t *testing.T) {
	browser(t)
	data, _ := connected(t)
	base, _ := startAt(t, data, "127.0.0.1", "--connect")
	var known struct{ Tools []any }
	require.Eventually(t, func() bool { ask(t, "GET", base+"/v1/tools", "", &known); return len(known.Tools) == 2 }, minute, tick)
	releases(t, base)
	ctx, problems := tab(t)
	said := ""
	chromedp.ListenTarget(ctx, func(ev any) { // a question of the page is answered with yes, as Enter does
		if q, ok := ev.(*page.EventJavascriptDialogOpening); ok {
			said = q.Message
			go func() { _ = chromedp.Run(ctx, page.HandleJavaScriptDialog(true)) }()
		}
	})
	enter := func(button string) {
		t.Helper()
		tabTo(t, ctx, button)
		press(t, ctx, kb.Enter)
	}

	open(t, ctx, base, "plan?profile=seed&intent=shred%20one%20ticket%20for%20ever&max_steps=1", `form[aria-label="Run"]`)
	enter("Run")
	shows(t, ctx, "Some arguments have no value yet")
	require.Equal(t, "Call these tools now?", said)
	tabTo(t, ctx, "t1 desk:shred_ticket: number")
	press(t, ctx, "7")
	accessible(t, ctx, "the form of values")
	enter("Show what a run would do")
	require.Equal(t, "desk:shred_ticket", cells(t, ctx, "A run would")[0][1])
	accessible(t, ctx, "what a run would do")
	enter("Run")
	shows(t, ctx, "waits for approval")
	waitFor(t, ctx, `getComputedStyle(document.querySelector("rect.awaiting_approval")).strokeWidth === "2px"`) // it stands out
	accessible(t, ctx, "a run that waits")
	enter("Approve t1")
	waitFor(t, ctx, `document.querySelector("main strong").textContent === "done"`)
	accessible(t, ctx, "a run that is done")
	var runs struct{ Runs []struct{ State string } }
	ask(t, "GET", base+"/v1/runs", "", &runs)
	require.Equal(t, "done", runs.Runs[0].State)

	open(t, ctx, base, "operations", "#proposals button")
	enter("Look for capabilities in the history")
	waitFor(t, ctx, `!!document.querySelector("#proposals article")`)
	proposed(t, base)
	enter("Edit")
	tabTo(t, ctx, "Id")
	press(t, ctx, kb.End+"_notes")
	tabTo(t, ctx, "Description")
	require.NoError(t, chromedp.Run(ctx, chromedp.KeyEvent("a", chromedp.KeyModifiers(input.ModifierCtrl))))
	press(t, ctx, "Publishes the notes.")
	accessible(t, ctx, "the form of a proposal")
	enter("Approve")
	waitFor(t, ctx, `!document.querySelector("#proposals article")`)
	var all struct {
		Capabilities []struct{ ID, Description string }
	}
	ask(t, "GET", base+"/v1/capabilities", "", &all)
	require.Len(t, all.Capabilities, 1)
	require.True(t, strings.HasSuffix(all.Capabilities[0].ID, "_notes"), all.Capabilities[0].ID)
	require.Equal(t, "Publishes the notes.", all.Capabilities[0].Description)
	require.Empty(t, *problems)
}
