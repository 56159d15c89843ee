// Command ours runs one task of the comparison with other programs at one size, and prints one line of
// JSON ([bench.Result]) as their runners do:
//
//	go run ./lab/bench/ours -dir data/10000 -task pagerank
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"waymark/graph"
	"waymark/internal/numeric"
	"waymark/lab/bench"
	"waymark/spectral"
	"waymark/suggest/semantic"
)

var tasks = map[string]func(r *bench.Result, o options) error{
	"pagerank": pageRank, "aa": adamicAdar, "louvain": communities, "spectral": coClusters, "lex": search, "store": store,
}

type options struct {
	dir            string
	k, reps        int
	tolerance      float64
	writers, batch int
	events         int
}

func main() {
	var o options
	task := flag.String("task", "", "pagerank, aa, louvain, spectral, lex or store")
	flag.StringVar(&o.dir, "dir", "", "folder of the generated data; for store, one to write in")
	flag.IntVar(&o.k, "k", 8, "clusters, for spectral")
	flag.IntVar(&o.reps, "reps", 5, "repetitions")
	flag.Float64Var(&o.tolerance, "tol", 1e-6, "L1 change at which PageRank stops")
	flag.IntVar(&o.writers, "conc", 64, "writers, for store")
	flag.IntVar(&o.batch, "batch", 1, "events of a commit, for store")
	flag.IntVar(&o.events, "n", 20000, "events, for store")
	flag.Parse()
	run, known := tasks[*task]
	if !known || o.reps < 1 || o.writers < 1 || o.batch < 1 || o.events < 1 {
		flag.Usage()
		os.Exit(2)
	}
	r := bench.Result{Task: *task, Peer: "waymark"}
	if err := run(&r, o); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", *task, err)
		os.Exit(1)
	}
	r.PeakMiB = math.Round(bench.PeakMiB())
	line, err := json.Marshal(r)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(line))
}

func read(r *bench.Result, o options) (bench.Transitions, []graph.Edge, *graph.Graph, error) {
	t, err := bench.ReadTransitions(o.dir)
	if err != nil {
		return t, nil, nil, err
	}
	edges := make([]graph.Edge, len(t.From))
	for i := range edges {
		edges[i] = graph.Edge{From: t.From[i], To: t.To[i], Weight: float64(t.Weight[i]), Count: uint64(t.Weight[i])}
	}
	begin := time.Now()
	g, err := graph.New(t.Tools, edges)
	if err != nil {
		return t, nil, nil, err
	}
	r.Build, r.N, r.M = time.Since(begin).Seconds(), g.Len(), g.Size()
	return t, edges, g, nil
}

func pageRank(r *bench.Result, o options) error {
	_, _, g, err := read(r, o)
	if err != nil {
		return err
	}
	reference, err := bench.ReadRanks(o.dir)
	if err != nil {
		return err
	}
	var ranking graph.Ranking
	r.Time(o.reps, func() { ranking, err = graph.PageRank(g, graph.PageRankOptions{Tolerance: o.tolerance}) })
	r.Sweeps = ranking.Sweeps
	for v, rank := range ranking.Ranks {
		r.L1Error += math.Abs(rank - reference[v])
	}
	return err
}

func adamicAdar(r *bench.Result, o options) error {
	_, _, g, err := read(r, o)
	if err != nil {
		return err
	}
	asked, err := bench.ReadInts(filepath.Join(o.dir, "aaq.i32"))
	if err != nil {
		return err
	}
	asked = asked[:min(200, len(asked))]
	var s graph.Scratch
	var top []graph.Scored
	for _, u := range asked {
		top = graph.AdamicAdarTop(g, u, 50, &s, top)
		for _, c := range top[:min(10, len(top))] {
			r.Check += c.Score
		}
	}
	r.Latencies(o.reps, len(asked), func(i int) { top = graph.AdamicAdarTop(g, asked[i], 50, &s, top) })
	return nil
}

func communities(r *bench.Result, o options) error {
	t, _, g, err := read(r, o)
	if err != nil {
		return err
	}
	var label []int32
	r.Time(o.reps, func() { label = graph.Communities(g, 1) })
	r.Modularity, r.NMI = graph.Modularity(g, label, 1), bench.NMI(label, t.Community)
	return nil
}

func coClusters(r *bench.Result, o options) error {
	h, err := bench.ReadIncidence(o.dir, o.k)
	if err != nil {
		return err
	}
	entries := make([]numeric.Entry, len(h.Tool))
	for i := range entries {
		entries[i] = numeric.Entry{Row: h.Tool[i], Col: h.Capability[i], Weight: 1}
	}
	H, err := numeric.NewMatrix(len(h.ToolCluster), len(h.CapabilityCluster), entries)
	if err != nil {
		return err
	}
	r.N, r.M, r.K = H.Rows, len(H.Col), o.k
	var found spectral.Result
	r.Time(o.reps, func() { found, err = spectral.Cluster(H, spectral.Options{K: o.k}) })
	r.Sweeps, r.NMITools, r.NMICaps = found.Steps, bench.NMI(found.Rows, h.ToolCluster), bench.NMI(found.Cols, h.CapabilityCluster)
	return err
}

// search is by words alone, as the others have it.
func search(r *bench.Result, o options) error {
	tools, asked, err := bench.ReadTexts(o.dir)
	if err != nil {
		return err
	}
	docs := make([]semantic.Document, len(tools))
	for i, t := range tools {
		docs[i] = semantic.Document{Name: t.Name, Text: t.Description}
	}
	begin := time.Now()
	m := semantic.NewMatcher(docs, nil, nil, nil)
	r.Build, r.N = time.Since(begin).Seconds(), len(docs)
	var hits []semantic.Hit
	search := func(text string) {
		x := m.Match(text)
		hits = x.Top(hits[:0], 10, 0)
		x.Close()
	}
	found := 0
	for _, q := range asked {
		search(q.Text)
		if slices.ContainsFunc(hits, func(h semantic.Hit) bool { return h.Doc == q.Target }) {
			found++
		}
	}
	r.Recall = float64(found) / float64(len(asked))
	r.Latencies(o.reps, len(asked), func(i int) { search(asked[i].Text) })
	return nil
}
