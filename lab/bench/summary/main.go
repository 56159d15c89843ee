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
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *keep); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run passes the lines on as they come, so that progress can be seen, and ends with the tables. A
// run that failed gives no tables.
func run(in io.Reader, out io.Writer, keep string) error {
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
	_, err := io.WriteString(out, all.compared()+all.grown()+all.units())
	return err
}
