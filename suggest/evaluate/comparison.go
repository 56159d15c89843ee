package evaluate

import (
	"cmp"
	"slices"
)

// The questions of a report.
const (
	QuestionNext       = "next"
	QuestionNextIntent = "next_intent"
	QuestionTools      = "tools"
	QuestionDAG        = "dag"
	QuestionOfficial   = "official"
)

// LeastCompared is from how many held-out tasks on a lead is said to be more than chance. The bootstrap draws
// tasks again, and of a few tasks most draws are alike: among five baselines that are as good as the profile,
// the best of them seems better by more than chance in 21 % of evaluations with 5 tasks, in 12 % with 15 and
// in 11 % with 30.
const LeastCompared = leastJudged

// Comparison is one metric of one question beside the best baseline in it. Baseline is "" where none
// was asked the same. CI and Lead are nil where there is no interval.
type Comparison struct {
	Question      string      `json:"question"`
	Metric        string      `json:"metric"`
	Tasks         int         `json:"tasks"` // held out, that have a value
	Value         float64     `json:"value"`
	CI            *Interval   `json:"ci"`
	Baseline      string      `json:"baseline,omitempty"`
	BaselineValue float64     `json:"baseline_value"`
	Lead          *Difference `json:"lead"`
}

// Verdict of a comparison.
type Verdict string

// Whether the profile is better than the best baseline by more than chance, worse, or neither.
const (
	Leads  Verdict = "leads"
	even   Verdict = "even"
	Behind Verdict = "behind"
	tooFew Verdict = "too few" // tasks to tell: fewer than [LeastCompared]
	Alone  Verdict = ""        // nothing to compare with
)

// Verdict reads the interval of the lead.
func (c Comparison) Verdict() Verdict {
	switch {
	case c.Lead == nil:
		return Alone
	case c.Tasks < LeastCompared:
		return tooFew
	case c.Lead.Interval[0] > 0:
		return Leads
	case c.Lead.Interval[1] < 0:
		return Behind
	}
	return even
}

// decisive are the metrics in which an evaluation can be lost, one or two a question.
var decisive = map[string][]string{
	QuestionNext: {"mrr"}, QuestionTools: {"ndcg@10"}, QuestionDAG: {"node_f1", "link_f1"},
}

// decided lists the decisive comparisons with a verdict.
func (r *Report) decided(v Verdict) []Comparison {
	list := []Comparison{}
	for _, c := range r.Comparisons() {
		if slices.Contains(decisive[c.Question], c.Metric) && c.Verdict() == v {
			list = append(list, c)
		}
	}
	return list
}

// Decided lists the decisive comparisons of enough tasks.
func (r *Report) Decided() []Comparison {
	return slices.Concat(r.decided(Leads), r.decided(even), r.decided(Behind))
}

// Comparisons lists every metric the profile was measured in, in the order of the report. The best
// baseline is the one with the largest value, of equal ones the first by name. Where the intent is known,
// baselines of the next tool that do not hear of it are to be beaten, too.
func (r *Report) Comparisons() []Comparison {
	var all []Comparison
	add := func(question string, tasks int, ci map[string]Interval, metrics []string, values ...float64) {
		for i, m := range metrics {
			c := Comparison{Question: question, Metric: m, Tasks: tasks, Value: values[i]}
			if m == "link_f1" {
				c.Tasks = r.DAG.Linked
			}
			interval, ok := ci[m]
			if !ok {
				continue // never asked, as links where no test has one
			}
			c.CI = &interval
			r.compare(&c)
			all = append(all, c)
		}
	}
	next := func(question string, n *NextReport) {
		if n != nil {
			add(question, n.Tasks, n.CI, nextMetrics, n.Hit1, n.Hit3, n.Hit5, n.MRR)
		}
	}
	next(QuestionNext, r.Next)
	next(QuestionNextIntent, r.NextIntent)
	if t := r.Tools; t != nil {
		add(QuestionTools, t.Queries, t.CI, toolMetrics, t.Recall5, t.NDCG10, t.MAP10)
	}
	if d := r.DAG; d != nil {
		link := 0.0
		if d.LinkF1 != nil {
			link = *d.LinkF1
		}
		add(QuestionDAG, d.Requests, d.CI, dagMetrics, d.NodeF1, link, d.Accuracy)
	}
	if o := r.Official; o != nil {
		add(QuestionOfficial, o.Requests, o.CI, officialMetrics, o.NodeF1, o.LinkF1, o.Accuracy)
	}
	return all
}

// compare finds the best baseline that was asked the same.
func (r *Report) compare(c *Comparison) {
	for _, name := range r.BaselineNames() {
		b := r.Baselines[name]
		value, ok := b.Value(c.Question, c.Metric)
		if !ok || c.Baseline != "" && value <= c.BaselineValue {
			continue
		}
		c.Baseline, c.BaselineValue, c.Lead = name, value, nil
		key := c.Metric
		switch c.Question {
		case QuestionOfficial:
			key = official + key
		case QuestionNextIntent:
			key = withIntent + key
		}
		if lead, ok := b.Lead[key]; ok {
			c.Lead = &lead
		}
	}
}

// BaselineNames lists the baselines that were asked, by name.
func (r *Report) BaselineNames() []string {
	var names []string
	for name := range r.Baselines {
		names = append(names, name)
	}
	slices.SortFunc(names, cmp.Compare)
	return names
}

// Value of a baseline in a metric of a question, if it was asked that.
func (b Baseline) Value(question, metric string) (float64, bool) {
	n, t, d, o := b.NextScores, b.ToolsScores, b.DAGBaseline, b.Official
	if question == QuestionNextIntent {
		if question = QuestionNext; b.NextIntent != nil {
			n = b.NextIntent
		}
	}
	switch {
	case question == QuestionNext && n != nil:
		return pick(metric, nextMetrics, n.Hit1, n.Hit3, n.Hit5, n.MRR)
	case question == QuestionTools && t != nil:
		return pick(metric, toolMetrics, t.Recall5, t.NDCG10, t.MAP10)
	case question == QuestionDAG && d != nil:
		if metric == "link_f1" && d.LinkF1 == nil {
			return 0, false
		}
		link := 0.0
		if d.LinkF1 != nil {
			link = *d.LinkF1
		}
		return pick(metric, dagMetrics, d.NodeF1, link, d.Accuracy)
	case question == QuestionOfficial && o != nil:
		return pick(metric, officialMetrics, o.NodeF1, o.LinkF1, o.Accuracy)
	}
	return 0, false
}

func pick(metric string, metrics []string, values ...float64) (float64, bool) {
	i := slices.Index(metrics, metric)
	if i < 0 {
		return 0, false
	}
	return values[i], true
}
