// Command summary reads what `go test -bench` prints and writes tables from it: how programs compare that
// did the same in one run, what a unit of work costs, and how cost grows with size.
//
//	go test -run '^$' -bench . ./graph | go run ./lab/bench/summary -keep bench.out
//
// Names are those that benchstat understands, key=value: of=waymark beside of=gonum is a
// comparison, tools=1000, tools=10000 are the sizes. For the difference between two runs use benchstat.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	keep := flag.String("keep", "", "also write the input to this file, for benchstat")
	var recorded recorded
	flag.StringVar(&recorded.file, "guard", "", "compare with the ratios recorded in this file; fail where one fell by a fifth")
	flag.BoolVar(&recorded.write, "record", false, "write the ratios into that file instead")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *keep, recorded); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// recorded are the ratios of an earlier run; no file: none.
type recorded struct {
	file  string
	write bool
}

// run passes the lines on as they come, so that progress can be seen, and ends with the tables. A
// run that failed gives no tables.
func run(in io.Reader, out io.Writer, keep string, earlier recorded) error {
	copies := []io.Writer{out}
	if keep != "" {
		f, err := os.Create(keep)
		if err != nil {
			return err
		}
		defer f.Close()
		copies = append(copies, f)
	}
	all, failed := benchmarks{}, false
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if _, err := fmt.Fprintln(io.MultiWriter(copies...), lines.Text()); err != nil {
			return err
		}
		all.add(lines.Text())
		failed = failed || strings.HasPrefix(lines.Text(), "FAIL") || strings.HasPrefix(lines.Text(), "--- FAIL")
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if failed {
		return fmt.Errorf("a benchmark failed")
	}
	if _, err := io.WriteString(out, all.compared()+all.grown()+all.units()); err != nil || earlier.file == "" {
		return err
	}
	report, slow := all.guard(earlier.file, earlier.write)
	if _, err := io.WriteString(out, report); err != nil {
		return err
	}
	return slow
}
