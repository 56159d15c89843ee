package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"waymark/evaluate"
)

// Plots are in units of their own view box. A rate of 0 lies at the left or at the bottom, 1 at the
// right or at the top.
const (
	labelWidth = 150 // of a bar
	barLength  = 400
	barPitch   = 26
	square     = 260 // of a diagram
	margin     = 40
)

// bars compare the profile with the baselines in one metric.
type bars struct {
	Question, Metric string
	Height           int
	List             []bar
}

// bar is a value with its interval, if it has one.
type bar struct {
	Name            string
	Mine            bool
	Value           float64
	Y               int
	Length, Lo, Hi  string
	Interval        *evaluate.Interval
	TextAt, MiddleY string
}

// bars adds a chart, best first, where the profile was measured.
func (v *view) bars(question, metric string) {
	b := bars{Question: question, Metric: metric}
	for _, c := range v.Rows {
		if c.Question == question && c.Metric == metric {
			b.List = append(b.List, bar{Name: v.Profile, Mine: true, Value: c.Value, Interval: c.CI})
		}
	}
	if len(b.List) == 0 {
		return
	}
	key := metric
	if question == evaluate.QuestionOfficial {
		key = "official " + metric
	}
	for _, name := range v.BaselineNames() {
		if value, ok := v.Baselines[name].Value(question, metric); ok {
			x := bar{Name: name, Value: value}
			if ci, ok := v.Baselines[name].CI[key]; ok {
				x.Interval = &ci
			}
			b.List = append(b.List, x)
		}
	}
	slices.SortStableFunc(b.List, func(x, y bar) int { return cmp.Compare(y.Value, x.Value) })
	for i := range b.List {
		x := &b.List[i]
		x.Y = i*barPitch + 4
		x.MiddleY = at(float64(x.Y + barPitch/2 - 4))
		x.Length = at(x.Value * barLength)
		end := x.Value
		if x.Interval != nil {
			x.Lo, x.Hi = along(x.Interval[0]), along(x.Interval[1])
			end = max(end, x.Interval[1])
		}
		x.TextAt = at(labelWidth + float64(end*barLength) + 8)
	}
	b.Height = len(b.List)*barPitch + 8
	v.Bars = append(v.Bars, b)
}

// trust shows how far the confidence of first suggestions can be trusted.
type trust struct {
	Question string
	*evaluate.NextReport
	Points []point // reliability
	Curve  string  // risk-coverage, as the points of a polyline
	Risk   []point
}

// point of a diagram, with what it says.
type point struct{ X, Y, R, Title string }

func newTrust(question string, n *evaluate.NextReport) trust {
	t := trust{Question: question, NextReport: n}
	for _, b := range n.Reliability {
		t.Points = append(t.Points, point{across(b.Confidence), up(b.Right), "5",
			rate(b.Confidence) + " claimed, " + rate(b.Right) + " right, " + strconv.Itoa(b.Claims) + " claims"})
	}
	var line []string
	for _, p := range n.RiskCoverage {
		line = append(line, across(p.Coverage)+","+up(p.Risk))
		t.Risk = append(t.Risk, point{across(p.Coverage), up(p.Risk), "3",
			rate(p.Coverage) + " of the questions answered, " + rate(p.Risk) + " of those wrong, from confidence " + rate(p.Confidence)})
	}
	t.Curve = strings.Join(line, " ")
	return t
}

func along(x float64) string  { return at(labelWidth + float64(x*barLength)) }
func across(x float64) string { return at(margin + float64(x*square)) }
func up(y float64) string     { return at(margin/2 + float64((1-y)*square)) }

// at prints a coordinate; a tenth of a unit is finer than a screen.
func at(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
