package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const printed = `goos: linux
pkg: waymark/graph
BenchmarkPageRank/tolerance=1e-06/tools=1000/of=waymark-2   	 100	    300000 ns/op	   17 sweeps	  250000 edges/op	 1.2 ns/edge
BenchmarkPageRank/tolerance=1e-06/tools=10000/of=waymark-2  	  10	   4000000 ns/op	   2500000 edges/op	 0 B/op
BenchmarkPageRank/tolerance=1e-06/tools=10000/of=waymark-2  	  10	   3000000 ns/op	   2500000 edges/op	 0 B/op
BenchmarkPageRank/tolerance=1e-06/tools=10000/of=waymark-2  	  10	   9000000 ns/op	   2500000 edges/op	 0 B/op
BenchmarkPageRank/tolerance=1e-06/tools=10000/of=gonum-2    	  10	 100000000 ns/op
BenchmarkPageRank/tolerance=1e-06/tools=100000/of=waymark-2 	   1	  40000000 ns/op	  50000000 edges/op
BenchmarkPageRank/tolerance=1e-06/tools=1000000/of=waymark  	   1	 400000000 ns/op	1000000000 edges/op
BenchmarkHops/tools=10000	 1	 77 ns/op
BenchmarkWarm/tools=10000/of=waymark	 1	 900 ns/op	 20 cpu-ns/op
BenchmarkWarm/tools=10000/of=gonum	 1	 70 ns/op	 60 cpu-ns/op
ok  	waymark/graph	1.5s
`

func TestRun(t *testing.T) {
	keep := filepath.Join(t.TempDir(), "bench.out")
	var out strings.Builder
	require.NoError(t, run(strings.NewReader(printed), &out, keep, recorded{}))
	kept, err := os.ReadFile(keep)
	require.NoError(t, err)
	assert.Equal(t, printed, string(kept))
	assert.Equal(t, printed+`
In one run, time of the peer / ours

| benchmark | peer | ours | peer's | ratio |
|---|--:|--:|--:|--:|
| PageRank/tolerance=1e-06/tools=10000 | gonum | 4 ms | 100 ms | 25 |
| Warm/tools=10000 | gonum | 20 ns | 60 ns | 3 |

Growth exponent: cost ~ tools to this power

| benchmark | tools | time | edges walked |
|---|--:|--:|--:|
| PageRank/tolerance=1e-06/of=waymark | 10000–1000000 | 1.00 | 1.30 |

Per edge

| benchmark | ns | bytes |
|---|--:|--:|
| PageRank/tolerance=1e-06/tools=1000/of=waymark | 1.2 | – |
`, out.String())
}

func TestRunOfAFailure(t *testing.T) {
	for _, line := range []string{"FAIL\twaymark/graph\t0.1s", "--- FAIL: BenchmarkNew"} {
		var out strings.Builder
		assert.Error(t, run(strings.NewReader(printed+line+"\n"), &out, "", recorded{}))
		assert.NotContains(t, out.String(), "ratio")
	}
}

func TestLinesThatAreNoResults(t *testing.T) {
	var b benchmarks
	for _, line := range []string{"", "BenchmarkNew", "Benchmark of x 3 ns/op", "BenchmarkNew-2 1 5", "PASS a b c"} {
		b.add(line)
	}
	assert.Empty(t, b.list)
	b.add("BenchmarkNew/order=a-b 5 2.5e+06 ns/op") // a hyphen that no number follows is part of the name
	require.Len(t, b.list, 1)
	assert.Equal(t, "New/order=a-b", b.list[0].name)
	median, _ := b.list[0].of("ns/op")
	assert.Equal(t, 2.5e6, median)
}

func TestExponent(t *testing.T) {
	for _, tt := range []struct {
		y    []float64
		want float64
	}{
		{[]float64{3, 30, 300}, 1},
		{[]float64{5, 5, 5}, 0},
		{[]float64{1, 100, 10000}, 2},
		{[]float64{1, 10, 1000}, 1.5}, // by hand: the middle point does not turn the line
	} {
		assert.InDelta(t, tt.want, exponent([]float64{10, 100, 1000}, tt.y), 1e-12)
	}
}

func TestShort(t *testing.T) {
	for ns, want := range map[float64]string{.5: "0.5 ns", 1234: "1.23 µs", 1.5e8: "150 ms", 2.5e12: "2500 s"} {
		assert.Equal(t, want, nanoseconds(ns))
	}
}

func TestGuard(t *testing.T) {
	var b benchmarks
	for line := range strings.Lines(printed) {
		b.add(line)
	}
	const pageRank = "PageRank/tolerance=1e-06/tools=10000/of=waymark\tPageRank/tolerance=1e-06/tools=10000/of=gonum\t"
	file := filepath.Join(t.TempDir(), "ratios.tsv")
	for ratios, fault := range map[string]string{
		"# least of three runs: 100/3\n" + pageRank + "41\n": "", // a fifth slower at most
		pageRank + "42\n": "takes 1/33.3 of the time of PageRank/tolerance=1e-06/tools=10000/of=gonum, recorded is 1/42",
		"Warm/tools=10000/of=waymark\tWarm/tools=10000/of=gonum\t3": "", // processor time where there is one
		"Gone\tHops/tools=10000\t3":                                 "Gone or its control Hops/tools=10000 was not measured",
		"Hops/tools=10000\t3":                                       "want a benchmark",
		"Hops/tools=10000\tHops/tools=10000\t-1":                    "positive ratio",
	} {
		require.NoError(t, os.WriteFile(file, []byte(ratios), 0o644))
		_, err := b.guard(file, false)
		if fault == "" {
			assert.NoError(t, err, ratios)
		} else {
			assert.ErrorContains(t, err, fault, ratios)
		}
	}
	require.NoError(t, os.WriteFile(file, []byte("# kept\n"+pageRank+"42\n"), 0o644))
	_, err := b.guard(file, true)
	require.NoError(t, err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "# kept\n"+pageRank+"33.3\n", string(text))
}
