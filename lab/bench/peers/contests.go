package main

import (
	"fmt"
	"math"

	"waymark/lab/bench"
)

// A contest is one task, which ours and the peers do on the same data.
type contest struct {
	task  string
	k     int      // planted clusters, where the task has them
	args  []string // for ours, beyond the task and the data
	sizes []int    // tools it makes sense at; nil is any
	cost  cost
	peers []peer
	gates []gate
}

// A peer is another program. Its cost divided by ours is the ratio.
type peer struct {
	name    string
	kind    kind
	program string       // the runner's name where the kind is goRunner
	modules []string     // what Python must have
	args    []string     // beyond those that every runner of the kind has
	most    int          // tools beyond which it takes too long; 0 is none
	marks   map[int]mark // by tools, ratios asked for
}

type kind int

const (
	goRunner kind = iota
	python
	node
)

// A mark is the ratio that must be reached and the one that is aimed at.
type mark struct{ floor, aim float64 }

// A gate is what a result must be like for its speed to count.
type gate struct {
	name  string
	sizes []int // nil is any
	check func(ours bench.Result, peers map[string]bench.Result) (said string, ok bool)
}

// A cost is in seconds: of the clock, or of the processor.
type cost func(r bench.Result, processor bool) float64

func solve(r bench.Result, processor bool) float64 {
	if processor {
		return r.LeastCPU
	}
	return r.Least
}

// Queries are so short that only processor time is free of interruptions.
func query(r bench.Result, _ bool) float64 { return r.QueryCPU / 1e6 }

// Durable events wait for the disk.
func event(r bench.Result, _ bool) float64 { return 1 / r.EventsPerSecond }

const tenK, hundredK, million = 10_000, 100_000, 1_000_000

var contests = []contest{
	{
		task: "pagerank", cost: solve,
		peers: []peer{
			{name: "igraph", kind: python, modules: []string{"igraph"}, marks: map[int]mark{hundredK: {2.5, 5}}},
			{name: "scipy", kind: python, modules: []string{"scipy"}},
			{name: "gonumsparse", kind: goRunner, program: "prbench", args: []string{"-tol", "1e-6", "-reps", "3"}, most: hundredK, marks: map[int]mark{hundredK: {20, 40}}},
			{name: "graphology", kind: node, most: hundredK, marks: map[int]mark{hundredK: {25, 50}}},
		},
		gates: []gate{{name: "L1 error ≤ 5e-6", check: func(ours bench.Result, _ map[string]bench.Result) (string, bool) {
			return fmt.Sprintf("%.1e", ours.L1Error), ours.L1Error <= 5e-6
		}}},
	},
	{
		task: "aa", cost: query,
		peers: []peer{
			{name: "graphology", kind: node, most: hundredK, marks: map[int]mark{tenK: {35, 60}, hundredK: {65, 120}}},
			{name: "igraph", kind: python, modules: []string{"igraph"}, most: hundredK},
		},
		gates: []gate{
			{name: "sum of the best scores as graphology's", check: func(ours bench.Result, peers map[string]bench.Result) (string, bool) {
				theirs, known := peers["graphology"]
				off := math.Abs(ours.Check-theirs.Check) / theirs.Check
				if !known {
					return "not compared", true
				}
				return fmt.Sprintf("%.0e apart", off), off < 1e-9
			}},
			{name: "p99 ≤ 2 ms, aim .5", sizes: []int{hundredK}, check: func(ours bench.Result, _ map[string]bench.Result) (string, bool) {
				return duration(ours.P99 / 1e6), ours.P99 <= 2000
			}},
		},
	},
	{
		task: "louvain", cost: solve,
		peers: []peer{
			{name: "igraph-leiden", kind: python, modules: []string{"igraph", "scipy", "sklearn"}, marks: map[int]mark{tenK: {1.25, 3}, hundredK: {1.4, 3}, million: {1.6, 3}}},
			{name: "leidenalg", kind: python, modules: []string{"leidenalg", "igraph", "scipy", "sklearn"}, most: hundredK},
			{name: "graphology", kind: node, most: hundredK},
		},
		gates: []gate{atLeast("Q", func(r bench.Result) float64 { return r.Modularity }, .001, "leidenalg")},
	},
	coClustering(8, mark{1.3, 4}),
	coClustering(32, mark{1.1, 3}),
	{
		task: "lex", cost: query, sizes: []int{1000, tenK, hundredK},
		peers: []peer{{name: "bleve", kind: goRunner, program: "lex", marks: map[int]mark{tenK: {20, 40}, hundredK: {20, 40}}}},
		gates: []gate{atLeast("recall@10", func(r bench.Result) float64 { return r.Recall }, .004, "bleve")},
	},
}

func coClustering(k int, m mark) contest {
	peers := []peer{{name: "reg-arpack", kind: python, modules: []string{"scipy", "sklearn"}, marks: map[int]mark{hundredK: m}},
		{name: "spectral-arpack", kind: python, modules: []string{"scipy", "sklearn"}, most: 1000}}
	tools, capabilities := func(r bench.Result) float64 { return r.NMITools }, func(r bench.Result) float64 { return r.NMICaps }
	gates := []gate{
		atLeast("NMI of tools", tools, .005, "reg-arpack"), atLeast("NMI of capabilities", capabilities, .005, "reg-arpack"),
		atLeast("NMI of tools", tools, .02, "spectral-arpack"), atLeast("NMI of capabilities", capabilities, .02, "spectral-arpack"),
	}
	return contest{task: "spectral", k: k, args: []string{"-k", fmt.Sprint(k)}, cost: solve, peers: peers, gates: gates}
}

// Durable commits: the writers wait for the disk. They need no generated data.
var storeContests = []contest{
	{
		task: "store", cost: event, args: []string{"-conc", "64", "-batch", "1", "-n", "20000"},
		peers: []peer{{name: "badger, one by one", kind: goRunner, program: "store",
			args: []string{"-engine", "badger", "-sync", "-batch", "1", "-conc", "64", "-n", "20000"}, marks: everywhere(mark{10, 25})}},
	},
	{
		task: "store", cost: event, args: []string{"-conc", "1", "-batch", "1000", "-n", "200000"},
		peers: []peer{{name: "badger, commits of 1,000", kind: goRunner, program: "store",
			args: []string{"-engine", "badger", "-sync", "-batch", "1000", "-n", "200000"}, marks: everywhere(mark{.8, .95})}},
	},
}

func everywhere(m mark) map[int]mark {
	return map[int]mark{0: m, tenK: m, hundredK: m, million: m}
}

func atLeast(name string, of func(bench.Result) float64, slack float64, than string) gate {
	return gate{name: fmt.Sprintf("%s ≥ that of %s − %g", name, than, slack), check: func(ours bench.Result, peers map[string]bench.Result) (string, bool) {
		theirs, known := peers[than]
		if !known {
			return "not compared", true
		}
		return fmt.Sprintf("%.4f, %.4f", of(ours), of(theirs)), of(ours) >= of(theirs)-slack
	}}
}
