//go:build browser

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// generate writes tools and episodes whose transitions differ: each tool is followed by the four after it.
func generate(tools int) []byte {
	var b bytes.Buffer
	for i := range tools {
		fmt.Fprintf(&b, `{"kind":"tool","id":"s%d:tool_%d","description":"Does thing %d."}`+"\n", i%50, i, i)
	}
	id := func(i int) string { i %= tools; return fmt.Sprintf("s%d:tool_%d", i%50, i) }
	for i := range tools {
		for k := 1; k <= 4; k++ {
			fmt.Fprintf(&b, `{"kind":"episode","id":"e%d-%d","steps":[{"tool":%q},{"tool":%q}]}`+"\n", i, k, id(i), id(i+k))
		}
	}
	return b.Bytes()
}

// A map of many tools opens with its backbone and says how many there are; TOOLS is how many, DATA a directory that has
// them already.
func TestBrowserLargeMap(t *testing.T) {
	tools := 1000
	if s := os.Getenv("TOOLS"); s != "" {
		_, err := fmt.Sscan(s, &tools)
		require.NoError(t, err)
	}
	browser(t)
	data := os.Getenv("DATA")
	if data == "" {
		dir := t.TempDir()
		file := filepath.Join(dir, "large.ndjson")
		data = filepath.Join(dir, "data")
		require.NoError(t, os.WriteFile(file, generate(tools), 0o600))
		out, err := exec.Command(os.Getenv("WAYMARK"), "import", file, "--data", data).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	base := serveAt(t, data, "127.0.0.1")
	ctx, problems := tab(t)
	var stats struct{ Tools int }
	ask(t, "GET", base+"/v1/stats", "", &stats)
	require.Equal(t, tools, stats.Tools)

	require.NoError(t, chromedp.Run(ctx, performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks))) // starts the browser
	began := time.Now()
	ask(t, "GET", base+"/v1/map", "", nil)
	first := time.Since(began)
	began = time.Now()
	text := open(t, ctx, base, "map", "svg.map")
	opened := time.Since(began)
	require.Contains(t, text, fmt.Sprintf("of %d nodes", tools))
	require.NotContains(t, text, " 0 of", "the backbone has transitions")
	require.True(t, strings.Contains(text, fmt.Sprintf("of %d transitions", 4*tools)), "the map counts what it leaves out")
	var filters []string
	for _, f := range []struct{ nodes, paths int }{{100, 100}, {50, 20}, {10, 100}, {100, 5}} {
		began = time.Now()
		before := busy(t, ctx)
		require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(fmt.Sprintf(`location.hash = "#/map?nodes=%d&paths=%d"`, f.nodes, f.paths), nil),
			chromedp.Poll(fmt.Sprintf(`(() => { const n = %d, shown = document.querySelectorAll("svg.map circle").length; return shown === n && document.querySelector("#counts").textContent.startsWith(n + " of") && document.querySelector('input[max="100"][min="0"]').value === "%d"; })()`,
				min(2000, tools)*f.nodes/100, f.paths), nil), chromedp.Evaluate(`new Promise((done) => requestAnimationFrame(() => setTimeout(done)))`, nil, awaits))) // painted
		filters = append(filters, fmt.Sprintf("%d %% of tools, %d %% of paths: %v, of them %v busy", f.nodes, f.paths, time.Since(began).Round(time.Millisecond), busy(t, ctx)-before))
	}
	var heap float64
	require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(`performance.memory.usedJSHeapSize / 1048576`, &heap)))
	t.Logf("%d tools, %d transitions: laid out and answered in %v, page ready in %v, filtered in %s, %.0f MiB of JavaScript heap", tools, 4*tools, first.Round(time.Millisecond), opened.Round(time.Millisecond), strings.Join(filters, "; "), heap)
	if tools >= 10_000 {
		opening := func(n int) func() { // opens the map n times
			return func() {
				for range n {
					open(t, ctx, base, "map", "svg.map")
				}
			}
		}
		asking := func() { // what the page asks for it, without a browser on the same processors
			for range 3 {
				ask(t, "GET", base+"/v1/stats", "", nil)
				ask(t, "GET", base+"/v1/map", "", nil)
				time.Sleep(time.Second)
			}
		}
		var alone, asked, opened []time.Duration
		for range 4 { // in turns, for other work on the machine changes
			alone = append(alone, nexts(t, base, func() { time.Sleep(3 * time.Second) })...)
			asked = append(asked, nexts(t, base, asking)...)
			opened = append(opened, nexts(t, base, opening(3))...)
		}
		a := float64(p99(alone))
		t.Logf("next: p99 %v of %d alone; %v of %d (%.2f times) while the requests of the map are asked, %v of %d (%.2f times) while chromium shows it", p99(alone), len(alone),
			p99(asked), len(asked), float64(p99(asked))/a, p99(opened), len(opened), float64(p99(opened))/a)
	}
	require.Empty(t, *problems)
}

// busy is the processor time that the thread of the page has taken, which other work on the machine does not lengthen.
func busy(t *testing.T, ctx context.Context) (took time.Duration) {
	t.Helper()
	require.NoError(t, chromedp.Run(ctx, chromedp.ActionFunc(func(ctx context.Context) error {
		metrics, err := performance.GetMetrics().Do(ctx)
		for _, m := range metrics {
			if m.Name == "TaskDuration" {
				took = time.Duration(m.Value*1000) * time.Millisecond
			}
		}
		return err
	})))
	return took
}

// nexts asks what comes next, fifty times a second, as long as another thing goes on.
func nexts(t *testing.T, base string, meanwhile func()) (took []time.Duration) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			began := time.Now()
			r, err := http.Post(base+"/v1/next", "application/json", strings.NewReader(fmt.Sprintf(`{"context":["s%d:tool_%d"]}`, i%50, i)))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
			took = append(took, time.Since(began))
		}
	}()
	meanwhile()
	close(stop)
	<-ended
	return took
}

func p99(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)*99/100].Round(10 * time.Microsecond)
}
