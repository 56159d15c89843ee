package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"waymark/suggest/evaluate"
)

// row writes one row of a table.
func row(w io.Writer, cells ...string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }

// head writes the head of a table.
func head(w io.Writer, cells ...string) {
	row(w, cells...)
	fmt.Fprintf(w, "|%s\n", strings.Repeat("---|", len(cells)))
}

// writeAsked writes what is asked for: a row for every floor of a set that was measured.
func writeAsked(w io.Writer, cases []sample, floors []floor) {
	fmt.Fprint(w, "## What is asked for\n\n")
	head(w, "set", "question", "metric", "value", "95 %", "floor", "", "aim", "best simple")
	for _, c := range cases {
		for _, x := range c.report.Rows {
			f, ok := find(floors, c, x)
			if !ok {
				continue
			}
			aim, best := "", ""
			if f.aim > 0 {
				aim = rate(f.aim)
			}
			if x.Baseline != nil {
				best = rate(x.Baseline.Value) + " " + x.Baseline.Name
			}
			row(w, c.String(), questions[x.Question], x.Metric, rate(x.Value), between(x.CI), rate(f.value), f.standing(x), aim, best)
		}
	}
	fmt.Fprintln(w)
}

func between(ci evaluate.Interval) string { return rate(ci[0]) + "–" + rate(ci[1]) }

// writeBehind lists the metrics in which some simple baseline is better.
func writeBehind(w io.Writer, cases []sample) {
	fmt.Fprint(w, "## Where a simple baseline is better\n\n")
	any := false
	for _, c := range cases {
		for _, x := range c.report.Rows {
			if x.Baseline == nil || !below(x.Value, x.Baseline.Value) {
				continue
			}
			any = true
			chance := "within chance"
			if x.Verdict == evaluate.Behind {
				chance = "by more than chance"
			}
			fmt.Fprintf(w, "- %s, %s, %s: %s, %s has %s, %s.\n", c, questions[x.Question], x.Metric, rate(x.Value), x.Baseline.Name, rate(x.Baseline.Value), chance)
		}
	}
	if !any {
		fmt.Fprintln(w, "Nowhere.")
	}
	fmt.Fprintln(w)
}

// writeTrust says how far confidence can be trusted.
func writeTrust(w io.Writer, cases []sample) {
	fmt.Fprint(w, "## Confidence\n\nOf the first suggestion, beside whether it was the next step. It passes with an error of at most .05, or within the 90 % band of a\n"+
		"perfectly calibrated model that makes as many claims.\n\n")
	head(w, "set", "question", "claims", "error", "a perfect model", "")
	for _, c := range cases {
		for _, question := range []string{evaluate.QuestionNext, evaluate.QuestionNextIntent} {
			if t := c.report.Confidence[question]; t != nil {
				says := "calibrated"
				switch {
				case t.Calibrated == nil:
					says = "too few claims"
				case !*t.Calibrated:
					says = "**not calibrated**"
				}
				row(w, c.String(), questions[question], strconv.Itoa(t.Claims), rate(t.ECE), between(t.Band), says)
			}
		}
	}
	fmt.Fprintln(w)
}
