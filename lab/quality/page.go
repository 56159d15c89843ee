package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"waymark/suggest/evaluate"
)

// floor is what a number should at least be, and who reached it.
type floor struct {
	set, among, question, metric string
	value, aim                   float64 // aim is 0 where none is named
	why                          string
}

const floorHeader = "set\tamong\tquestion\tmetric\tfloor\taim\twhy"

// readFloors reads the table: a header, then one floor a line.
func readFloors(text string) ([]floor, error) {
	header, rest, _ := strings.Cut(text, "\n")
	if header != floorHeader {
		return nil, fmt.Errorf("line 1: want the columns %q", floorHeader)
	}
	var floors []floor
	for i, line := range strings.Split(strings.TrimSuffix(rest, "\n"), "\n") {
		cells := strings.Split(line, "\t")
		if len(cells) != 7 {
			return nil, fmt.Errorf("line %d: %d columns, want 7", i+2, len(cells))
		}
		f := floor{set: cells[0], among: cells[1], question: cells[2], metric: cells[3], why: cells[6]}
		var err error
		if f.value, err = strconv.ParseFloat(cells[4], 64); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
		if cells[5] != "-" {
			if f.aim, err = strconv.ParseFloat(cells[5], 64); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+2, err)
			}
		}
		floors = append(floors, f)
	}
	return floors, nil
}

// standing of a value against its floor.
func (f floor) standing(c evaluate.Row) string {
	switch {
	case below(c.Value, f.value) && below(c.CI[1], f.value):
		return "missed"
	case below(c.Value, f.value):
		return "within chance"
	}
	return "reached"
}

// below compares as the page shows: in thousandths, as floors are given.
func below(x, y float64) bool { return rate(x) < rate(y) }

func rate(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }

var questions = map[string]string{
	evaluate.QuestionNext: "next tool", evaluate.QuestionNextIntent: "next tool, intent known", evaluate.QuestionTools: "tools for an intent",
	evaluate.QuestionDAG: "plan for an intent",
}

// writePage writes the whole page: the words are fixed, the numbers are those of the reports.
func writePage(w io.Writer, profile string, cases []sample, floors []floor) {
	fmt.Fprintf(w, `# Quality

Profile `+"`%s`"+` on public data sets that the engine was not made for. None of them is part of this repository; they are read from a
folder (`+"`make quality DIR=folder`"+` writes this page anew and changes numbers only).
Every number is a fraction. Intervals are 95 %%, drawn over episodes. The best baseline is the best of seven simple methods in that one metric; a
lead or a loss is named where its interval lies on one side of 0. A floor ([floors.tsv](floors.tsv)) is what is asked for, or what a better method is known to
reach: missed where the whole interval lies below it, within chance where only the value does.

`, profile)
	writeAsked(w, cases, floors)
	writeMisses(w, cases, floors)
	writeBehind(w, cases)
	writeTrust(w, cases)
	for _, c := range cases {
		writeSet(w, profile, c, floors)
	}
}

// writeMisses says in words where a floor is not reached, the widest gap first.
func writeMisses(w io.Writer, cases []sample, floors []floor) {
	type miss struct {
		gap  float64
		line string
	}
	var misses []miss
	reached, chance, all := 0, 0, 0
	for _, c := range cases {
		for _, x := range c.report.Rows {
			f, ok := find(floors, c, x)
			if !ok {
				continue
			}
			all++
			by := "by more than chance"
			switch f.standing(x) {
			case "reached":
				reached++
				continue
			case "within chance":
				chance++
				by = "within chance (" + between(x.CI) + ")"
			}
			misses = append(misses, miss{f.value - x.Value, fmt.Sprintf("- %s, %s, %s: %s, floor %s, %s: %s.", c, questions[x.Question], x.Metric,
				rate(x.Value), rate(f.value), by, f.why)})
		}
	}
	slices.SortStableFunc(misses, func(a, b miss) int { return cmp.Compare(b.gap, a.gap) })
	fmt.Fprintf(w, "## Where a floor is missed\n\nOf %d floors %d are reached, %d are missed by no more than chance, %d are missed.\n\n", all, reached, chance, len(misses)-chance)
	for _, m := range misses {
		fmt.Fprintln(w, m.line)
	}
	if len(misses) > 0 {
		fmt.Fprintln(w)
	}
}

func find(floors []floor, c sample, x evaluate.Row) (floor, bool) {
	i := slices.IndexFunc(floors, func(f floor) bool {
		return f.set == c.set && f.among == c.among && f.question == x.Question && f.metric == x.Metric
	})
	if i < 0 {
		return floor{}, false
	}
	return floors[i], true
}

// command is what measures it.
func (c sample) command(profile string) string {
	command := "waymark evaluate --profile " + profile + " --dataset $DIR/" + c.set
	if c.among != "-" {
		command += " --distractors $DIR/" + c.among
	}
	return command
}

func writeSet(w io.Writer, profile string, c sample, floors []floor) {
	r := c.report
	episodes := fmt.Sprintf("%d train and %d test episodes", r.TrainEpisodes, r.TestEpisodes)
	if r.LeaveOneOut {
		episodes = fmt.Sprintf("%d episodes, each held out in turn", r.TestEpisodes)
	}
	fmt.Fprintf(w, "## %s\n\n`%s`: %s.\n\n", c, c.command(profile), episodes)
	head(w, "question", "metric", "value", "95 %", "best baseline", "its value", "", "floor", "")
	for _, x := range r.Rows {
		baseline, its, bound, standing := "", "", "", ""
		if x.Baseline != nil {
			baseline, its = x.Baseline.Name, rate(x.Baseline.Value)
		}
		if f, ok := find(floors, c, x); ok {
			bound, standing = rate(f.value), f.standing(x)
		}
		row(w, questions[x.Question], x.Metric, rate(x.Value), between(x.CI), baseline, its, string(x.Verdict), bound, standing)
	}
	fmt.Fprintln(w)
}
