package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/lab/bench"
)

func TestVerdict(t *testing.T) {
	for ratio, want := range map[float64]string{2.49: "floor missed", 2.5: "floor reached", 4.99: "floor reached", 5: "aim reached"} {
		assert.Equal(t, want, mark{2.5, 5}.verdict(ratio), "%v", ratio)
	}
}

func TestTables(t *testing.T) {
	pageRank := contests[0]
	done := []outcome{{
		contest: pageRank, n: 100_000,
		ours:  bench.Result{Least: .05, LeastCPU: .04, L1Error: 6e-6},
		peers: map[string]bench.Result{"igraph": {Least: .2, LeastCPU: .08}, "scipy": {Least: .075, LeastCPU: .08}, "gonumsparse": {Least: 2, LeastCPU: 3}},
		not:   map[string]string{"graphology": "needs node"},
	}}
	assert.Equal(t, `| task | tools | peer | ours | peer's | ratio | floor | aim | |
|---|--:|---|--:|--:|--:|--:|--:|---|
| PageRank | 100,000 | igraph | 50 ms | 200 ms | 4 | 2.5 | 5 | floor reached |
| PageRank | 100,000 | scipy | 50 ms | 75 ms | 1.5 | – | – | |
| PageRank | 100,000 | gonumsparse | 50 ms | 2 s | 40 | 20 | 40 | aim reached |
| PageRank | 100,000 | graphology | 50 ms | – | – | – | – | needs node |
`, ratios(done, false))
	assert.Contains(t, ratios(done, true), "| igraph | 40 ms | 80 ms | 2 | 2.5 | 5 | floor missed |")
	assert.Contains(t, qualities(done), "| PageRank | 100,000 | L1 error ≤ 5e-6 | 6.0e-06 | fails |")
}

func TestGates(t *testing.T) {
	g := atLeast("Q", func(r bench.Result) float64 { return r.Modularity }, .001, "leidenalg")
	ours := bench.Result{Modularity: .8}
	for theirs, want := range map[float64]bool{.7: true, .8005: true, .802: false} {
		said, ok := g.check(ours, map[string]bench.Result{"leidenalg": {Modularity: theirs}})
		assert.Equal(t, want, ok, said)
	}
	said, _ := g.check(ours, nil)
	assert.Equal(t, "not compared", said)
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int]string{0: "–", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, tools(n))
	}
	for s, want := range map[float64]string{2.5: "2.5 s", .0125: "12.5 ms", 3e-6: "3 µs"} {
		assert.Equal(t, want, duration(s))
	}
}

func TestParseTakesTheLastLine(t *testing.T) {
	r, err := parse("ref iterations 12\n{\"task\":\"aa\",\"peer\":\"igraph\",\"cpu_us\":3.5,\"load1\":\"2.1\"}\n")
	require.NoError(t, err)
	assert.Equal(t, bench.Result{Task: "aa", Peer: "igraph", QueryCPU: 3.5}, r)
	_, err = parse("nothing\n")
	assert.ErrorContains(t, err, "no line of JSON")
}

// The sources may be read-only, and packages installed there are used where they are.
func TestCopyTree(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "src")
	require.NoError(t, os.MkdirAll(filepath.Join(from, "js", "node_modules", "x"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "js", "peers.mjs"), []byte("1"), 0o444))
	require.NoError(t, os.WriteFile(filepath.Join(from, "js", "node_modules", "x", "a"), []byte("x"), 0o444))
	for _, want := range []string{"1", "2"} { // the second time over the first
		require.NoError(t, copyTree(to, from))
		got, err := os.ReadFile(filepath.Join(to, "js", "peers.mjs"))
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
		require.NoError(t, os.WriteFile(filepath.Join(to, "js", "package-lock.json"), nil, 0o644), "the copy can be written to")
		require.NoError(t, os.Remove(filepath.Join(from, "js", "peers.mjs")))
		require.NoError(t, os.WriteFile(filepath.Join(from, "js", "peers.mjs"), []byte("2"), 0o444))
	}
	link, err := os.Readlink(filepath.Join(to, "js", "node_modules"))
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(from, "js", "node_modules"), link)
}

// A workshop whose programs are shell scripts: ours takes 2 s, then 1 s; the peer always 3 s.
func TestRunTakesTurns(t *testing.T) {
	w := &workshop{scratch: t.TempDir(), limit: 30 * time.Second, missing: map[string]string{"node": "install it"}}
	script := func(name, text string) {
		require.NoError(t, os.MkdirAll(w.at("bin"), 0o755))
		require.NoError(t, os.WriteFile(w.at("bin", name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	script("ours", `echo run >>`+w.at("runs")+`; echo "{\"min_s\":$((3-$(wc -l <`+w.at("runs")+`)))}"`)
	script("slow", `echo "{\"min_s\":3}"`)
	script("broken", `echo "no such graph" >&2; exit 3`)
	script("stuck", `exec sleep 60`)
	c := contest{task: "pagerank", cost: solve, peers: []peer{
		{name: "slow", program: "slow"}, {name: "broken", program: "broken"}, {name: "graphology", kind: node}, {name: "dense", program: "slow", most: 500},
	}}
	o, err := w.run(context.Background(), c, 1000, 2)
	require.NoError(t, err)
	assert.Equal(t, 1., o.ours.Least, "the better of two")
	assert.Equal(t, map[string]bench.Result{"slow": {Least: 3}}, o.peers)
	assert.Equal(t, map[string]string{"broken": "no such graph", "graphology": "needs node", "dense": "takes too long"}, o.not)
	assert.Contains(t, w.absent(), "- node: install it")

	w.limit = 3 * time.Second
	c.peers = []peer{{name: "stuck", program: "stuck"}}
	o, err = w.run(context.Background(), c, 1000, 2)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"stuck": "stopped after 3s"}, o.not)
}
