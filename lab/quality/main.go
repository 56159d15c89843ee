// Command quality evaluates every data set in a folder and writes the page of the results.
//
//	folder of data sets ──▶ waymark evaluate --json, one set at a time ──┐
//	docs/lab/floors.tsv ──▶ what each number should at least be ─────────┴──▶ docs/lab/quality.md
//
// The page holds no path and no time, so that a second run changes nothing but what changed in the program or in the data.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"

	"waymark/suggest/evaluate"
)

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", "", "`folder` of the data sets")
	flag.StringVar(&o.program, "program", "bin/waymark", "the `program` to evaluate")
	flag.StringVar(&o.profile, "profile", "learned", "the profile")
	flag.StringVar(&o.floors, "floors", "docs/lab/floors.tsv", "the `file` of floors")
	flag.StringVar(&o.keep, "keep", "", "`folder` that keeps the reports; those it has are not made again")
	flag.StringVar(&o.page, "page", "docs/lab/quality.md", "the `file` to write")
	flag.Parse()
	if o.dir == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "quality:", err)
		os.Exit(1)
	}
}

type options struct{ dir, program, profile, floors, page, keep string }

func run(ctx context.Context, o options) error {
	text, err := os.ReadFile(o.floors)
	if err != nil {
		return err
	}
	floors, err := readFloors(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", o.floors, err)
	}
	cases, err := findCases(o.dir, floors)
	if err != nil {
		return err
	}
	keep, err := os.MkdirTemp("", "waymark-quality-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(keep) // of the temporary folder
	data := filepath.Join(keep, "data")
	if o.keep != "" {
		keep = o.keep
		if err := os.MkdirAll(keep, 0o755); err != nil {
			return err
		}
	}
	for i := range cases {
		c := &cases[i]
		fmt.Fprintf(os.Stderr, "quality: %s (%d of %d)\n", c, i+1, len(cases))
		kept := filepath.Join(keep, c.set+"+"+c.among+"+"+o.profile+".json")
		text, err := os.ReadFile(kept)
		if errors.Is(err, fs.ErrNotExist) {
			if text, err = runEvaluate(ctx, o, *c, data); err == nil {
				err = os.WriteFile(kept, text, 0o644)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		c.report = new(evaluate.Report)
		if err := json.Unmarshal(text, c.report); err != nil {
			return fmt.Errorf("%s: read the report: %w", c, err)
		}
	}
	var page bytes.Buffer
	writePage(&page, o.profile, cases, floors)
	return os.WriteFile(o.page, append(bytes.TrimSpace(page.Bytes()), '\n'), 0o644)
}

// sample is a set to evaluate on, perhaps among the tools of another.
type sample struct {
	set, among string // among is "-" for nothing
	report     *evaluate.Report
}

func (c sample) String() string {
	if c.among == "-" {
		return c.set
	}
	return c.set + " among the tools of " + c.among
}

// findCases lists the folders that hold tasks, and those with distractors that have a floor.
func findCases(dir string, floors []floor) ([]sample, error) {
	folders, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var cases []sample
	for _, f := range folders { // sorted by name
		if !holds(filepath.Join(dir, f.Name()), "episodes.jsonl") {
			continue
		}
		cases = append(cases, sample{set: f.Name(), among: "-"})
		for _, x := range floors {
			c := sample{set: x.set, among: x.among}
			if x.set == f.Name() && x.among != "-" && !slices.Contains(cases, c) && holds(filepath.Join(dir, x.among), "tools.jsonl") {
				cases = append(cases, c)
			}
		}
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("no data set in %s", dir)
	}
	return cases, nil
}

func holds(folder string, files ...string) bool {
	return slices.ContainsFunc(files, func(name string) bool {
		_, err := os.Stat(filepath.Join(folder, name))
		return !errors.Is(err, fs.ErrNotExist)
	})
}

// runEvaluate runs the program and returns the report. That an evaluation is lost is a result like another.
func runEvaluate(ctx context.Context, o options, c sample, data string) ([]byte, error) {
	args := []string{"evaluate", "--json", "--data", data, "--profile", o.profile, "--dataset", filepath.Join(o.dir, c.set)}
	if c.among != "-" {
		args = append(args, "--distractors", filepath.Join(o.dir, c.among))
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, o.program, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(errs.Bytes()))
	}
	return out.Bytes(), nil
}
