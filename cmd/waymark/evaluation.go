package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"waymark/suggest/evaluate"
)

// questions are what a report calls them to people.
var questions = map[string]string{
	evaluate.QuestionNext: "next tool", evaluate.QuestionNextIntent: "next tool, intent known", evaluate.QuestionTools: "tools for an intent",
	evaluate.QuestionDAG: "plan for an intent", evaluate.QuestionOfficial: "plan, official metric",
}

// rate prints a fraction the way the tables of an evaluation show it.
func rate(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }

func signed(x float64) string { return fmt.Sprintf("%+.3f", x) }

func between(i *evaluate.Interval) string {
	if i == nil {
		return "-"
	}
	return rate(i[0]) + "–" + rate(i[1])
}

// showEvaluation prints a report: what depends on the data first, times last.
func (a *app) showEvaluation(r *evaluate.Report) {
	history := fmt.Sprintf("%d train episodes, %d test episodes", r.TrainEpisodes, r.TestEpisodes)
	if r.LeaveOneOut {
		history = fmt.Sprintf("%d episodes, each held out in turn", r.TestEpisodes)
	}
	a.printf("%s, profile %s: %s\n", clean(r.Dataset), r.Profile, history)

	var rows [][]string
	for _, c := range r.Comparisons() {
		row := []string{questions[c.Question], c.Metric, rate(c.Value), between(c.CI), "-", "-", "-", "-", "-"}
		if c.Baseline != "" {
			row[4], row[5] = c.Baseline, rate(c.BaselineValue)
		}
		if c.Lead != nil {
			row[6], row[7], row[8] = signed(c.Lead.Mean), signed(c.Lead.Interval[0])+" to "+signed(c.Lead.Interval[1]), string(c.Verdict())
		}
		rows = append(rows, row)
	}
	a.below([]string{"question", "metric", r.Profile, "95 %", "best baseline", "value", "lead", "95 % of lead", ""}, rows)

	a.showMethods(r, evaluate.QuestionNext, "mrr", "hit@1", "hit@3", "hit@5", "mrr")
	a.showMethods(r, evaluate.QuestionTools, "ndcg@10", "recall@5", "ndcg@10", "map@10")
	a.showMethods(r, evaluate.QuestionDAG, "node_f1", "node_f1", "link_f1", "accuracy")
	a.showMethods(r, evaluate.QuestionOfficial, "n_f1", "n_f1", "l_f1", "accuracy")
	a.showTrust("next tool", r.Next)
	a.showTrust("next tool, intent known", r.NextIntent)
	if s := r.Stop; s != nil {
		a.printf("\nend of the task: error %s over %d steps, %s (a perfect model of this size: %s)\n",
			rate(s.ECE), s.Positions, calibrated(s.Calibrated), between(&s.Band))
	}

	a.showFirstContact(r.FirstContact)
	a.printf("\n")
	var few []string
	for _, c := range r.TooFew {
		few = append(few, fmt.Sprintf("%s %s (%d)", questions[c.Question], c.Metric, c.Tasks))
	}
	if len(few) > 0 {
		a.printf("too few tasks to tell, at least %d are needed: %s\n", evaluate.LeastCompared, strings.Join(few, ", "))
	}
	if decided := r.Decided(); len(r.Lost) == 0 && len(decided) > 0 {
		var names []string
		for _, c := range decided {
			names = append(names, questions[c.Question]+" "+c.Metric)
		}
		a.printf("not lost: no baseline is better by more than chance at %s\n", strings.Join(names, ", "))
	}
	for _, c := range r.Lost {
		a.printf("lost: %s is better at %s %s by %s (%s to %s)\n", c.Baseline, questions[c.Question], c.Metric,
			rate(-c.Lead.Mean), rate(-c.Lead.Interval[1]), rate(-c.Lead.Interval[0]))
	}
	a.showTimes(r)
}

// showMethods prints the baselines that were asked a question, the profile first, the others by the metric lead.
func (a *app) showMethods(r *evaluate.Report, question, lead string, metrics ...string) {
	mine := []string{r.Profile}
	tasks := map[string]int{} // by metric
	for _, m := range metrics {
		cell := "-"
		for _, c := range r.Comparisons() {
			if c.Question == question && c.Metric == m {
				cell, tasks[m] = rate(c.Value), c.Tasks
			}
		}
		mine = append(mine, cell)
	}
	rows := [][]string{append(mine, "", "", "")}
	key := lead
	if question == evaluate.QuestionOfficial {
		key = "official " + lead
	}
	names := r.BaselineNames()
	slices.SortStableFunc(names, func(x, y string) int {
		vx, _ := r.Baselines[x].Value(question, lead)
		vy, _ := r.Baselines[y].Value(question, lead)
		return cmp.Compare(vy, vx)
	})
	for _, name := range names {
		row, asked := []string{name}, false
		for _, m := range metrics {
			cell := "-"
			if v, ok := r.Baselines[name].Value(question, m); ok {
				cell, asked = rate(v), true
			}
			row = append(row, cell)
		}
		if !asked {
			continue
		}
		if d, ok := r.Baselines[name].Lead[key]; ok {
			row = append(row, signed(d.Mean), signed(d.Interval[0])+" to "+signed(d.Interval[1]), string(evaluate.Comparison{Lead: &d, Tasks: tasks[lead]}.Verdict()))
		}
		rows = append(rows, row)
	}
	if len(rows) == 1 {
		return
	}
	a.printf("\n%s\n", questions[question])
	columns(a.out, slices.Concat([]string{"method"}, metrics, []string{"lead in " + lead, "95 %", ""}), rows)
}

// calibrated says in words whether confidence is; nil: there are too few claims to tell.
func calibrated(passed *bool) string {
	switch {
	case passed == nil:
		return fmt.Sprintf("too few claims to tell (at least %d are needed)", evaluate.LeastClaims)
	case *passed:
		return "calibrated"
	}
	return "not calibrated"
}

// showTrust prints how far the confidence of first suggestions can be trusted.
func (a *app) showTrust(what string, n *evaluate.NextReport) {
	if n == nil || n.ECE == nil {
		return
	}
	a.printf("\nconfidence, %s: error %s over %d claims, %s (a perfect model of this size: %s); area under risk-coverage %s\n",
		what, rate(*n.ECE), n.Claims, calibrated(n.Calibrated), between(n.Band), rate(*n.AURC))
	width := max(len(n.Reliability), len(n.RiskCoverage)/2)
	var rows [][]string
	for i := range width {
		row := []string{"", "", "", "", "", ""}
		if i < len(n.Reliability) {
			b := n.Reliability[i]
			row[0], row[1], row[2] = rate(b.Confidence), rate(b.Right), strconv.Itoa(b.Claims)
		}
		if j := 2*i + 1; j < len(n.RiskCoverage) {
			p := n.RiskCoverage[j]
			row[3], row[4], row[5] = rate(p.Coverage), rate(p.Risk), rate(p.Confidence)
		}
		rows = append(rows, row)
	}
	columns(a.out, []string{"confidence", "right", "claims", "coverage", "risk", "from confidence"}, rows)
}

// showTimes prints the only numbers that differ from run to run.
func (a *app) showTimes(r *evaluate.Report) {
	var parts []string
	add := func(name string, x *float64, unit string) {
		if x != nil {
			parts = append(parts, fmt.Sprintf("%s %.0f %s", name, *x, unit))
		}
	}
	add("build", r.BuildMS, "ms")
	if l := r.Latency; l != nil {
		add("next p50", l.NextP50, "µs")
		add("p99", l.NextP99, "µs")
		add("dag p50", l.DAGP50, "µs")
		add("p99", l.DAGP99, "µs")
	}
	a.printf("\ntimes: %s\n", strings.Join(parts, ", "))
}

// showFirstContact prints how what the history does not resemble is answered.
func (a *app) showFirstContact(f *evaluate.FirstContact) {
	if f == nil {
		return
	}
	a.printf("\nfirst contact: %s of the tasks have a near copy in the history\n", rate(f.Repeated))
	var rows [][]string
	row := func(name string, c *evaluate.ContactScores) {
		if c != nil {
			rows = append(rows, []string{name, fmt.Sprint(c.Tasks), rateOrDash(c.MRR), rateOrDash(c.Ready), rateOrDash(c.MRRIntent), rateOrDash(c.NDCG10), rateOrDash(c.NodeF1)})
		}
	}
	row("tasks held out one by one", f.Random)
	row("tasks held out with all near copies", f.Grouped)
	for _, p := range f.Curve {
		row(fmt.Sprintf("newest tasks, the first %d learned from", p.History), &p.ContactScores)
	}
	if len(rows) > 0 {
		columns(a.out, []string{"", "tasks", "next mrr", "could come now", "next mrr, intent", "tools ndcg@10", "plan node_f1"}, rows)
	}
	if u := f.Unseen; u != nil && u.Steps > 0 {
		a.printf("tools that the history never used: %d of %d steps, hit@5 %s\n", u.Steps, u.Of, rate(u.Hit5))
	}
	if n := f.Needs; n != nil {
		a.printf("search for tools by their own name or first sentence: hit@1 %s, hit@5 %s of %d\n", rate(n.Hit1), rate(n.Hit5), n.Queries)
	}
	if n := f.Foreign; n != nil {
		a.printf("requests that software rarely serves: %s of %d recognised; %s of the test requests taken for one\n", rate(n.Recognised), n.Requests, rate(n.Mistaken))
	}
}

// rateOrDash is a rate, or a dash where there is none.
func rateOrDash(x *float64) string {
	if x == nil {
		return "-"
	}
	return rate(*x)
}
