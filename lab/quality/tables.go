package main

import (
	"fmt"
	"io"
	"math"
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
		for _, x := range c.report.Comparisons() {
			f, ok := find(floors, c, x)
			if !ok {
				continue
			}
			aim, best := "", ""
			if f.aim > 0 {
				aim = rate(f.aim)
			}
			if x.Baseline != "" {
				best = rate(x.BaselineValue) + " " + x.Baseline
			}
			row(w, c.String(), questions[x.Question], x.Metric, rate(x.Value), between(x.CI), rate(f.value), f.standing(x), aim, best)
		}
	}
	fmt.Fprintln(w)
}

func between(ci *evaluate.Interval) string {
	if ci == nil {
		return ""
	}
	return rate(ci[0]) + "–" + rate(ci[1])
}

// writeBehind lists the metrics in which some simple baseline is better.
func writeBehind(w io.Writer, cases []sample) {
	fmt.Fprint(w, "## Where a simple baseline is better\n\n")
	any := false
	for _, c := range cases {
		for _, x := range c.report.Comparisons() {
			if x.Baseline == "" || !below(x.Value, x.BaselineValue) {
				continue
			}
			any = true
			chance := "within chance"
			if x.Verdict() == evaluate.Behind {
				chance = "by more than chance"
			}
			fmt.Fprintf(w, "- %s, %s, %s: %s, %s has %s, %s.\n", c, questions[x.Question], x.Metric, rate(x.Value), x.Baseline, rate(x.BaselineValue), chance)
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
		"perfectly calibrated model that makes as many claims. The area is that under the risk-coverage curve: the mean share of wrong answers over all\nshares of questions answered, the most confident first.\n\n")
	head(w, "set", "question", "claims", "error", "a perfect model", "", "area")
	for _, c := range cases {
		for _, t := range []struct {
			question string
			next     *evaluate.NextReport
		}{{evaluate.QuestionNext, c.report.Next}, {evaluate.QuestionNextIntent, c.report.NextIntent}} {
			if n := t.next; n != nil && n.ECE != nil {
				says := "calibrated"
				switch {
				case n.Calibrated == nil:
					says = "too few claims"
				case !*n.Calibrated:
					says = "**not calibrated**"
				}
				row(w, c.String(), questions[t.question], strconv.Itoa(n.Claims), rate(*n.ECE), between(n.Band), says, rate(*n.AURC))
			}
		}
	}
	fmt.Fprintln(w)
}

// writeTimes writes what depends on the machine, roughly.
func writeTimes(w io.Writer, cases []sample) {
	fmt.Fprint(w, "## Times\n\nOf the machine that wrote this page, two digits: the only part that changes from run to run. Single questions in process, one after the other, five suggestions\n"+
		"or one plan, in milliseconds. To build is to judge the profiles by held-out tasks, to fit, and to index, in seconds.\n\n")
	head(w, "set", "next p50", "next p99", "plan p50", "plan p99", "build")
	for _, c := range cases {
		if l := c.report.Latency; l != nil {
			row(w, c.String(), ms(l.NextP50, 1e3), ms(l.NextP99, 1e3), ms(l.DAGP50, 1e3), ms(l.DAGP99, 1e3), ms(c.report.BuildMS, 1e3))
		}
	}
	fmt.Fprintln(w)
}

// ms divides and rounds to two digits.
func ms(x *float64, by float64) string {
	if x == nil {
		return ""
	}
	v := *x / by
	if v == 0 {
		return "0"
	}
	digits := max(0, 1-int(math.Floor(math.Log10(math.Abs(v)))))
	return strconv.FormatFloat(v, 'f', digits, 64)
}
