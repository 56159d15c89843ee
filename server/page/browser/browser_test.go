//go:build browser

package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// The page in a browser, on the program as it is built, with the sample. Run it with `make test-browser`.

// hostile is what a tool may say of itself.
const hostile = "<script>document.title='run'</script><img src=x onerror=\"document.title='run'\">\u202egnp.exe " // and as much more as is taken

// stored is a small report of an evaluation.
const stored = `{"dataset":"default","profile":"learned","train_episodes":100,"test_episodes":40,"leave_one_out":false,"lost":[],"too_few":[],
"rows":[{"question":"next","metric":"mrr","tasks":40,"questions":50,"value":0.6123,"ci":[0.5,0.7],"baseline":{"name":"popular","value":0.3,"lead":{"mean":0.3,"interval":[0.2,0.4]}},"verdict":"leads"}],
"confidence":{"next":{"claims":50,"ece":0.1,"ece_band":[0,0.1],"calibrated":true,"reliability":[{"confidence":0.4,"right":0.4321,"claims":25},{"confidence":0.8,"right":0.9,"claims":25}]}}}`

func browser(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no chromium on this machine: apt-get install chromium")
	return ""
}

// importSample imports the bundled sample into a data directory that all tests copy: the import fits for seconds.
var importSample = sync.OnceValue(func() (err error) {
	if imported, err = os.MkdirTemp("", "waymark-browser-"); err == nil {
		err = exec.Command(os.Getenv("WAYMARK"), "import", "sample", "--data", imported).Run()
	}
	return err
})

var imported string // the directory that TestMain removes

// withSample returns a data directory with the sample.
func withSample(t *testing.T) string {
	require.NoError(t, importSample())
	data := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.CopyFS(data, os.DirFS(imported)))
	return data
}

// serve starts the program named by WAYMARK with an empty data directory and returns where it answers.
func serve(t *testing.T) string {
	return serveAt(t, filepath.Join(t.TempDir(), "data"), "127.0.0.1")
}

func serveAt(t *testing.T, data, host string, args ...string) string {
	base, _ := startAt(t, data, host, args...)
	return base
}

const minute, tick = time.Minute, 20 * time.Millisecond

// startAt also returns what stops the program, and waits for its end.
func startAt(t *testing.T, data, host string, args ...string) (base string, stop func()) {
	program := os.Getenv("WAYMARK")
	require.NotEmpty(t, program, "make test-browser names the program in WAYMARK")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(ln.Addr().String())
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	cmd := exec.Command(program, append([]string{"serve", "--data", data, "--addr", host + ":" + port}, args...)...)
	require.NoError(t, cmd.Start())
	stop = func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() }
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	base = "http://127.0.0.1:" + port
	require.Eventually(t, func() bool {
		r, err := http.Get(base + "/readyz")
		if err == nil {
			_ = r.Body.Close()
		}
		return err == nil && r.StatusCode == http.StatusOK
	}, 5*minute, tick) // on a busy machine
	return base, stop
}

// tab opens a browser; the errors of the page end up in the slice.
func tab(t *testing.T, more ...chromedp.ExecAllocatorOption) (context.Context, *[]string) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser(t)), chromedp.NoSandbox, chromedp.Flag("enable-unsafe-swiftshader", true))
	options = append(options, more...)
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, 3*time.Minute) // bounds a hang; other work on the machine slows a browser down
	t.Cleanup(stop)
	problems := new([]string)
	chromedp.ListenTarget(ctx, func(ev any) {
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			*problems = append(*problems, e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError {
				*problems = append(*problems, string(e.Args[0].Value))
			}
		}
	})
	return ctx, problems
}

// open shows a screen and waits until an element is there.
func open(t *testing.T, ctx context.Context, base, address, wait string) string {
	t.Helper()
	var text string
	require.NoError(t, chromedp.Run(ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(base+"/#/"+address),
		chromedp.WaitVisible(`html[data-ready="true"]`, chromedp.ByQuery), chromedp.WaitVisible(wait, chromedp.ByQuery), chromedp.Text("main", &text, chromedp.ByQuery)))
	return text
}

func ask(t *testing.T, method, url, body string, answer any) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	got, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer got.Body.Close()
	require.Less(t, got.StatusCode, 300)
	if answer != nil {
		require.NoError(t, json.NewDecoder(got.Body).Decode(answer))
	}
}

func TestBrowserScreensShowWhatTheAPIAnswers(t *testing.T) {
	browser(t)
	data := withSample(t)
	base := serveAt(t, data, "127.0.0.1")
	changed(t, base) // before the tab, whose time is limited
	ctx, problems := tab(t)

	var mapped struct {
		Nodes []struct{ ID string }
		Total int `json:"total_edges"`
	}
	ask(t, "GET", base+"/v1/map", "", &mapped)
	text := open(t, ctx, base, "map", "svg.map")
	require.Contains(t, text, fmt.Sprintf("%d of %d nodes", len(mapped.Nodes), len(mapped.Nodes)))
	var circles int
	require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(`document.querySelectorAll("svg.map circle").length`, &circles)))
	require.Equal(t, len(mapped.Nodes), circles)
	require.Contains(t, open(t, ctx, base, "map?nodes=10&id=forge:commit_files", "section.card button"), fmt.Sprintf("%d of %d nodes", (len(mapped.Nodes)+9)/10+1, len(mapped.Nodes)), "the chosen one is shown as well")
	require.NoError(t, chromedp.Run(ctx, chromedp.Click("section.card table button", chromedp.ByQuery), chromedp.WaitVisible(`[aria-label^="Episodes with"][role="region"]`, chromedp.ByQuery)))

	var next struct {
		Suggestions []struct {
			ID         string
			Confidence float64
		}
	}
	ask(t, "POST", base+"/v1/next", `{"context":["forge:create_branch","forge:commit_files"],"profile":"seed"}`, &next)
	text = open(t, ctx, base, "next?profile=seed&context=forge:create_branch&context=forge:commit_files", "article svg")
	for _, s := range next.Suggestions {
		require.Contains(t, text, s.ID)
		require.Contains(t, text, digits(s.Confidence))
	}
	require.Contains(t, text, "The terms add up to the score")

	var plan struct {
		DAG struct{ Tasks []struct{ ID, Tool string } }
	}
	ask(t, "POST", base+"/v1/dag", `{"intent":"open a pull request","profile":"seed"}`, &plan)
	require.NotEmpty(t, plan.DAG.Tasks)
	text = open(t, ctx, base, "plan?profile=seed&intent=open%20a%20pull%20request", `svg[aria-label^="DAG"]`)
	for _, task := range plan.DAG.Tasks {
		require.Contains(t, text, task.Tool)
	}

	report := filepath.Join(data, "evaluations", "default.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(report), 0o700))
	require.NoError(t, os.WriteFile(report, []byte(`{"at":"2026-11-01T00:00:00Z","report":`+stored+`}`), 0o600))
	var kept struct {
		Report struct{ Rows []struct{ Value any } }
	}
	ask(t, "GET", base+"/v1/evaluation", "", &kept)
	require.NotEmpty(t, kept.Report.Rows)
	require.NoError(t, chromedp.Run(ctx, emulation.SetTimezoneOverride("Asia/Tokyo")))
	text = open(t, ctx, base, "proof", `svg[aria-label^="Reliability"]`)
	require.Contains(t, text, "Decision of the rebuild gate")
	var rows int
	require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(`document.querySelectorAll('[aria-label^="Metrics beside"] tbody tr').length`, &rows)))
	require.Equal(t, len(kept.Report.Rows), rows)
	for _, shown := range []string{"0.612", "popular", "leads", "2026-11-01 09:00:00"} {
		require.Contains(t, text, shown)
	}
	shows(t, ctx, "0.432") // in a table that is closed
	var diff struct {
		Answers []struct {
			After, Intent string
			Why           []struct{ ID string }
		} `json:"answers_changed"`
	}
	ask(t, "GET", base+"/v1/graph/diff", "", &diff)
	require.NotEmpty(t, diff.Answers)
	text = open(t, ctx, base, "changes", "article.card ol")
	for _, a := range diff.Answers {
		require.Contains(t, text, a.After+a.Intent)
	}
	require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(`document.querySelector("article.card details").open = true`, nil)))
	shows(t, ctx, diff.Answers[0].Why[0].ID)
	open(t, ctx, base, "changes?from=current&context=forge:create_branch", "main h2")
	shows(t, ctx, "This request has the same answer.")
	var stats struct {
		Episodes int
		Tools    []struct {
			ID                         string
			Calls, Successes, Failures int
		}
	}
	ask(t, "GET", base+"/v1/tool-stats", "", &stats)
	text = open(t, ctx, base, "operations/tools", `[aria-label^="Tools by calls"]`)
	require.Contains(t, text, fmt.Sprintf("%d episodes", stats.Episodes))
	var shown [][]string
	require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(`[...document.querySelectorAll('[aria-label^="Tools by calls"] tbody tr')].map((r) => [...r.cells].slice(0, 4).map((c) => c.textContent))`, &shown)))
	require.NotEmpty(t, shown)
	for i, row := range shown {
		one := stats.Tools[i]
		row[0] = strings.TrimSuffix(row[0], " (not in the catalog)")
		require.Equal(t, []string{one.ID, fmt.Sprint(one.Calls), fmt.Sprint(one.Successes), fmt.Sprint(one.Failures)}, row)
	}
	require.Empty(t, *problems)
}

// changed records tasks that change answers of the sample.
func changed(t *testing.T, base string) {
	t.Helper()
	var lines []string
	for i := range 60 {
		lines = append(lines, fmt.Sprintf(`{"id":"more-%d","intent":"tidy up","session":"m%d","steps":[{"tool":"forge:create_branch"},{"tool":"chat:post_message"},{"tool":"notes:tidy"}]}`, i, i))
	}
	ask(t, "POST", base+"/v1/episodes", "["+strings.Join(lines, ",")+"]", nil)
	ask(t, "POST", base+"/v1/rebuild", `{"force":true}`, nil)
	require.Eventually(t, func() bool { // 404 until there is a second build to compare with
		var diff struct {
			Answers []any `json:"answers_changed"`
		}
		got, err := http.Get(base + "/v1/graph/diff")
		if err != nil {
			return false
		}
		defer got.Body.Close()
		return got.StatusCode == http.StatusOK && json.NewDecoder(got.Body).Decode(&diff) == nil && len(diff.Answers) > 0
	}, 5*minute, tick) // the fits of a judged rebuild on a busy machine
}

func TestBrowserShowsHostileTextsAsText(t *testing.T) {
	browser(t)
	base := serve(t)
	tool := func(description string) {
		body, err := json.Marshal([]any{map[string]any{"id": "evil:tool", "name": "<b>tool</b>", "description": description}})
		require.NoError(t, err)
		ask(t, "PUT", base+"/v1/tools", string(body), nil)
	}
	tool("Reads <i>a file</i>.")
	body := `[{"id":"evil:long","description":"` + strings.Repeat("x", 70_000) + `"}]`
	r, err := http.NewRequest("PUT", base+"/v1/tools", strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	refused, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, refused.Body.Close())
	require.Equal(t, http.StatusUnprocessableEntity, refused.StatusCode, "70,000 bytes are too long a text")
	tool(hostile + strings.Repeat("x", 8000))
	ctx, problems := tab(t)
	for _, address := range []string{"map?id=evil:tool", "next?intent=tool"} {
		open(t, ctx, base, address, "main h1")
	}
	text := open(t, ctx, base, "operations", "article.card .text")
	require.Contains(t, text, "<script>document.title='run'</script>")
	contracts := cells(t, ctx, "Difference of the contracts")
	require.Equal(t, []string{"description", "`Reads <i>a file</i>.`"}, contracts[0][:2])
	require.Contains(t, contracts[0][2], "<img src=x")
	var title string
	var elements int
	require.NoError(t, chromedp.Run(ctx, chromedp.Title(&title), chromedp.Evaluate(`document.querySelectorAll("main script, main img, main b, main i").length`, &elements)))
	require.Equal(t, "Operations · Waymark", title)
	require.Zero(t, elements)

	require.NoError(t, chromedp.Run(ctx, chromedp.Click("article.card > button", chromedp.ByQuery), chromedp.WaitNotPresent("article.card .text", chromedp.ByQuery)))
	var withheld struct{ Tools []any }
	ask(t, "GET", base+"/v1/quarantine", "", &withheld)
	require.Empty(t, withheld.Tools)
	require.Empty(t, *problems)
}
