// Command peers compares this program with others that do the same, on the same generated data and in the
// same minutes:
//
//	make bench-peers DIR=path
//
// DIR holds the generator and the runners of the peers: go/, a module with the commands gen,
// prbench, aabench, lex and store, generate.sh, js/peers.mjs with its package.json, and
// py/peers.py. It is only read; what is built, installed and generated goes to the scratch folder
// and stays there for the next time. Whatever a peer needs that this machine does not have is said
// at the end, with the way to get it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	source := flag.String("source", "", "folder of the generator and the peers")
	scratch := flag.String("scratch", "", "folder for what is built and generated (default waymark/bench in the user's cache)")
	sizes := flag.String("sizes", "10000 100000", "tools of the graphs")
	tasks := flag.String("tasks", "", "only these, of pagerank aa louvain spectral lex store")
	rounds := flag.Int("rounds", 2, "turns of ours and the peers; the best counts")
	limit := flag.Duration("limit", 5*time.Minute, "for one run of one program")
	cpu := flag.Bool("cpu", false, "compare processor time: for a machine that does other work as well")
	flag.Parse()
	if *source == "" || *rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := compare(ctx, *source, *scratch, strings.Fields(*sizes), strings.Fields(*tasks), *rounds, *limit, *cpu); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, source, scratch string, sizes, tasks []string, rounds int, limit time.Duration, cpu bool) error {
	if scratch == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		scratch = filepath.Join(cache, "waymark", "bench")
	}
	scratch, err := filepath.Abs(scratch)
	if err != nil {
		return err
	}
	w := &workshop{scratch: scratch, limit: limit, cpu: cpu, missing: map[string]string{}}
	if err := w.prepare(ctx, source); err != nil {
		return err
	}
	wanted := func(c contest) bool { return len(tasks) == 0 || slices.Contains(tasks, c.task) }
	var done []outcome
	for _, size := range sizes {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is no number of tools", size)
		}
		if err := w.generate(ctx, n); err != nil {
			return err
		}
		for _, c := range contests {
			if wanted(c) && concerns(c.sizes, n) {
				o, err := w.run(ctx, c, n, rounds)
				if err != nil {
					return err
				}
				fmt.Fprint(os.Stderr, ratios([]outcome{o}, cpu))
				done = append(done, o)
			}
		}
	}
	for _, c := range storeContests {
		if wanted(c) {
			o, err := w.run(ctx, c, 0, rounds)
			if err != nil {
				return err
			}
			done = append(done, o)
		}
	}
	fmt.Print(ratios(done, cpu), "\n", qualities(done), "\n", w.absent())
	return nil
}
