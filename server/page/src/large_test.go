//go:build browser

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// A map of many tools opens with its backbone and says how many there are; TOOLS is how many.
func TestBrowserLargeMap(t *testing.T) {
	tools := 1000
	if s := os.Getenv("TOOLS"); s != "" {
		_, err := fmt.Sscan(s, &tools)
		require.NoError(t, err)
	}
	browser(t)
	dir := t.TempDir()
	file, data := filepath.Join(dir, "large.ndjson"), filepath.Join(dir, "data")
	require.NoError(t, os.WriteFile(file, generate(tools), 0o600))
	out, err := exec.Command(os.Getenv("WAYMARK"), "import", file, "--data", data).CombinedOutput()
	require.NoError(t, err, string(out))
	base := serveAt(t, data, "127.0.0.1")
	ctx, problems := tab(t)
	var stats struct{ Tools int }
	ask(t, "GET", base+"/v1/stats", "", &stats)
	require.Equal(t, tools, stats.Tools)

	began := time.Now()
	ask(t, "GET", base+"/v1/map", "", nil)
	first := time.Since(began)
	began = time.Now()
	text := open(t, ctx, base, "map", "svg.map")
	opened := time.Since(began)
	require.Contains(t, text, fmt.Sprintf("of %d nodes", tools))
	require.True(t, strings.Contains(text, fmt.Sprintf("of %d transitions", 4*tools)), "the map counts what it leaves out")
	began = time.Now()
	require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(`location.hash = "#/map?nodes=50&paths=20"`, nil), chromedp.Poll(`document.querySelector("#counts").textContent.startsWith("`+fmt.Sprint(min(2000, tools)/2)+` of")`, nil)))
	filter := time.Since(began)
	var heap float64
	require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(`performance.memory.usedJSHeapSize / 1048576`, &heap)))
	t.Logf("%d tools, %d transitions: laid out and answered in %v, page ready in %v, filtered in %v, %.0f MiB of JavaScript heap", tools, 4*tools, first.Round(time.Millisecond), opened.Round(time.Millisecond), filter.Round(time.Millisecond), heap)
	require.Empty(t, *problems)
}
