// Package report draws an evaluation as a page.
//
//	evaluate.Report ─▶ tables · bars with intervals · reliability diagram · risk-coverage curve ─▶ one HTML file
//
// The page needs nothing but itself: no script, no font, no address. The same report gives the same
// bytes.
package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"

	"waymark/evaluate"
)

//go:embed page.html
var page string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"rate": rate, "signed": signed, "between": between, "question": question,
	"percent":    func(x float64) string { return strconv.FormatFloat(100*x, 'f', 0, 64) + " %" },
	"calibrated": calibrated, "leastCompared": func() int { return evaluate.LeastCompared },
	"round": func(x *float64) string { return strconv.FormatFloat(*x, 'f', 0, 64) },
}).Parse(page))

// WriteHTML writes a report as one self-contained page that is HTML and well-formed XML.
func WriteHTML(w io.Writer, r *evaluate.Report) error {
	v := view{Report: r, Rows: r.Comparisons()}
	v.bars(evaluate.QuestionNext, "mrr")
	v.bars(evaluate.QuestionTools, "ndcg@10")
	v.bars(evaluate.QuestionDAG, "node_f1")
	v.bars(evaluate.QuestionDAG, "link_f1")
	v.bars(evaluate.QuestionOfficial, "n_f1")
	for _, t := range []struct {
		question string
		next     *evaluate.NextReport
	}{{evaluate.QuestionNext, r.Next}, {evaluate.QuestionNextIntent, r.NextIntent}} {
		if t.next != nil && t.next.ECE != nil {
			v.Trust = append(v.Trust, newTrust(t.question, t.next))
		}
	}
	for _, question := range []string{evaluate.QuestionNext, evaluate.QuestionNextIntent, evaluate.QuestionDAG} {
		if parts := r.AblationOf(question); len(parts) > 0 {
			v.Ablations = append(v.Ablations, ablation{question, parts[0].Refitted, parts[0].Questions, parts[0].NodeF1 != nil, parts})
		}
	}
	if err := pageTemplate.Execute(w, v); err != nil {
		return fmt.Errorf("write report on %s: %w", r.Dataset, err)
	}
	return nil
}

// view is what the page shows.
type view struct {
	*evaluate.Report
	Rows  []evaluate.Comparison
	Bars  []bars
	Trust []trust

	Ablations []ablation
}

// ablation is what each part is worth at one kind of question, the most worth first.
type ablation struct {
	Question  string
	Refitted  bool
	Questions int
	Plans     bool // plans were asked for, too
	Parts     []evaluate.AblationReport
}

func rate(x float64) string   { return strconv.FormatFloat(x, 'f', 3, 64) }
func signed(x float64) string { return fmt.Sprintf("%+.3f", x) }

func between(i *evaluate.Interval) string {
	if i == nil {
		return "–"
	}
	return rate(i[0]) + " – " + rate(i[1])
}

// calibrated says in words whether confidence is; nil: there are too few claims to tell.
func calibrated(passed *bool) string {
	switch {
	case passed == nil:
		return fmt.Sprintf("too few claims to tell, at least %d are needed", evaluate.LeastClaims)
	case *passed:
		return "calibrated"
	}
	return "not calibrated"
}

// question is what people call it.
func question(name string) string {
	switch name {
	case evaluate.QuestionNext:
		return "Next tool"
	case evaluate.QuestionNextIntent:
		return "Next tool, intent known"
	case evaluate.QuestionTools:
		return "Tools for an intent"
	case evaluate.QuestionDAG:
		return "Plan for an intent"
	case evaluate.QuestionOfficial:
		return "Plan, official metric"
	}
	return name
}
