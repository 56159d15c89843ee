// Command validation asks held-out tasks which constants of the seed's formulas matter, and writes the page
// of the answers.
//
//	folder of data sets ──train part──▶ history ──▶ model ──▶ situations ──▶ raw signals ─┐
//	                         └──────▶ held-out episodes ──▶ what really came next         │
//	                                             └──────── the formulas, one constant ◀───┘
//	                                                       changed ──▶ a page and a table
//
// The signals of a situation do not depend on the constants, so they are worked out once and every value
// of every constant ranks the same candidates of the same questions. The page holds no time and no path:
// a second run changes nothing but what changed in the program or in the data.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", "", "`folder` of the data sets; only train episodes are read")
	flag.IntVar(&o.most, "questions", 2000, "at most so many `questions` of each kind and set")
	flag.StringVar(&o.page, "page", "validation.md", "the `file` to write")
	flag.StringVar(&o.table, "table", "validation.tsv", "the `file` of all numbers to write")
	flag.Parse()
	if o.dir == "" || o.most < 1 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "validation:", err)
		os.Exit(1)
	}
}

type options struct {
	dir, page, table string
	most             int
}

func run(ctx context.Context, o options) error {
	folders, err := os.ReadDir(o.dir)
	if err != nil {
		return err
	}
	var r report
	r.most = o.most
	for _, f := range folders { // sorted by name
		folder := filepath.Join(o.dir, f.Name())
		if _, err := os.Stat(filepath.Join(folder, "episodes.jsonl")); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		fmt.Fprintln(os.Stderr, "validation: ask", f.Name())
		s, err := ask(ctx, folder, o.most)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
		if s == nil {
			r.untrained = append(r.untrained, f.Name())
			continue
		}
		r.sets = append(r.sets, s)
	}
	if len(r.sets) == 0 {
		return fmt.Errorf("no data set with train episodes in %s", o.dir)
	}
	if err := r.measure(ctx); err != nil {
		return err
	}
	var page, table bytes.Buffer
	r.writePage(&page)
	r.writeTable(&table)
	if err := os.WriteFile(o.page, append(bytes.TrimSpace(page.Bytes()), '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(o.table, table.Bytes(), 0o644)
}
