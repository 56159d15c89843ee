package evaluate

import (
	"slices"
	"time"
)

// summarise turns what was measured into the report. All means and intervals over the same tests share
// the draws of one bootstrap.
func (r *run) summarise() {
	mine := samples{}
	if a := r.mine.next; a != nil {
		collect(mine, "", a.samples())
	}
	if a := r.mine.nextIntent; a != nil {
		collect(mine, withIntent, a.samples())
	}
	s := r.summary(mine, r.nextMethods)
	if a := r.mine.next; a != nil {
		r.report.Next = r.nextReport(a, s, "")
	}
	if a := r.mine.nextIntent; a != nil {
		r.report.NextIntent = r.nextReport(a, s, withIntent)
	}
	r.report.Stop = r.stopReport()

	mine = samples{}
	collect(mine, "", r.mine.tools)
	collect(mine, "", r.mine.dag)
	collect(mine, official, r.mine.official)
	s = r.summary(mine, r.intentMethods)
	queries := len(r.intents.tests)
	if r.mine.tools != nil {
		r.report.Tools = &ToolsReport{toolsScores(mine, queries), s.intervals(toolMetrics, "")}
	}
	if r.mine.dag != nil {
		r.report.DAG = &DAGReport{dagScores(mine, queries), s.intervals(dagMetrics, "")}
	}
	if r.mine.official != nil {
		r.report.Official = &OfficialReport{officialScores(mine), s.intervals(officialMetrics, official)}
	}
	r.report.Lost, r.report.TooFew = r.report.decided(Behind), r.report.decided(tooFew)
}

// withIntent sets the metrics of the next tool apart from those without the intent.
const withIntent = "with intent "

// summary holds the replicates of the predictor's samples.
type summary struct{ draws map[string][]float64 }

// intervals are the middle of the replicates of each metric; metrics without a value have none.
func (s summary) intervals(metrics []string, prefix string) map[string]Interval {
	ci := map[string]Interval{}
	for _, m := range metrics {
		if draws, ok := s.draws[prefix+m]; ok {
			ci[m] = middle(draws)
		}
	}
	return ci
}

// summary draws episodes for the predictor and the baselines together, and reports the latter.
func (r *run) summary(mine samples, methods []method) summary {
	all := []method{{"", mine}}
	all = append(all, methods...)
	var list []Sample
	var names [][]string
	for _, m := range all {
		metrics := m.samples.measured()
		names = append(names, metrics)
		for _, name := range metrics {
			list = append(list, m.samples[name])
		}
	}
	drawn := replicate(list, r.o.Seed)
	s := summary{map[string][]float64{}}
	at := 0
	for i, m := range all {
		b := baselineReport(m.samples)
		for _, name := range names[i] {
			if i == 0 {
				s.draws[name] = drawn[at]
			} else {
				b.CI[name] = middle(drawn[at])
				b.leads(name, mine, m.samples[name], s.draws, drawn[at])
				if slices.Contains(nextMetrics, name) { // with the intent known there is the same to beat
					b.leads(withIntent+name, mine, m.samples[name], s.draws, drawn[at])
				}
			}
			at++
		}
		if i > 0 {
			r.report.Baselines[m.name] = b
		}
	}
	return s
}

// leads notes by how much the predictor is better in a metric, if it was measured in it.
func (b *Baseline) leads(metric string, mine samples, theirs Sample, draws map[string][]float64, drawn []float64) {
	of, ok := draws[metric]
	if !ok {
		return
	}
	if b.Lead == nil {
		b.Lead = map[string]Difference{}
	}
	b.Lead[metric] = paired(mine[metric].Mean()-theirs.Mean(), of, drawn)
}

// baselineReport fills in the kinds of scores that the baseline answered; the others stay absent from the
// report.
func baselineReport(s samples) Baseline {
	b := Baseline{CI: map[string]Interval{}}
	if _, ok := s["mrr"]; ok {
		n := nextScores(s, "")
		b.NextScores = &n
	}
	if _, ok := s[withIntent+"mrr"]; ok {
		n := nextScores(s, withIntent)
		b.NextIntent = &n
	}
	if _, ok := s["ndcg@10"]; ok {
		t := toolsScores(s, len(s["ndcg@10"].Sum))
		b.ToolsScores = &t
	}
	if _, ok := s["node_f1"]; ok {
		d := dagScores(s, 0)
		b.DAGBaseline = &DAGBaseline{d.NodeF1, d.LinkF1, d.Accuracy}
	}
	if _, ok := s[official+"n_f1"]; ok {
		o := officialScores(s)
		b.Official = &o
	}
	return b
}

// measured lists, in order, the metrics that have a value.
func (s samples) measured() []string {
	var metrics []string
	for name, sample := range s {
		if sample.values() > 0 {
			metrics = append(metrics, name)
		}
	}
	slices.Sort(metrics)
	return metrics
}

func nextScores(s samples, prefix string) NextScores {
	return NextScores{
		s[prefix+"mrr"].values(), s[prefix+"hit@1"].Mean(), s[prefix+"hit@3"].Mean(), s[prefix+"hit@5"].Mean(), s[prefix+"mrr"].Mean(),
	}
}

func toolsScores(s samples, queries int) ToolsScores {
	return ToolsScores{queries, s["recall@5"].Mean(), s["ndcg@10"].Mean(), s["map@10"].Mean()}
}

// dagScores leaves the link score out where no test has links: a zero would read as all wrong.
func dagScores(s samples, requests int) DAGScores {
	d := DAGScores{Requests: requests, Linked: s["link_f1"].values(), NodeF1: s["node_f1"].Mean(), Accuracy: s["accuracy"].Mean()}
	if d.Linked > 0 {
		mean := s["link_f1"].Mean()
		d.LinkF1 = &mean
	}
	return d
}

func officialScores(s samples) OfficialScores {
	return OfficialScores{s[official+"n_f1"].values(), s[official+"n_f1"].Mean(), s[official+"l_f1"].Mean(), s[official+"accuracy"].Mean()}
}

// nextReport adds calibration to the scores, unless the ranker states no confidence.
func (r *run) nextReport(a *nextAnswers, s summary, prefix string) *NextReport {
	n := &NextReport{NextScores: nextScores(a.samples(), ""), CI: s.intervals(nextMetrics, prefix)}
	for _, positions := range a.samples()["mrr"].Count {
		if positions > 0 {
			n.Tasks++
		}
	}
	claims := slices.Concat(a.claims...)
	n.Claims = len(claims)
	curve, area := riskCoverage(claims, n.Positions)
	n.RiskCoverage, n.AURC = curve, &area
	if len(claims) > 0 {
		c := Calibrate(claims, r.o.Seed)
		n.Reliability = reliability(claims)
		n.ECE, n.Band, n.Calibrated = &c.ECE, &c.Band, c.verdict()
	}
	return n
}

// At most this many questions are timed, evenly taken from all.
const timedQuestions = 1000

// shortList is how many suggestions a host usually asks for.
const shortList = 5

// latency asks single questions, one after the other.
func (r *run) latency(p Predictor) error {
	if r.o.Now == nil {
		return nil
	}
	var next, intents []Question
	if p.Ranker != nil {
		for _, t := range r.next.tests {
			for i := 1; i < len(t.seq); i++ {
				next = append(next, Question{Context: t.seq[:i:i]})
			}
		}
	}
	if p.Planner != nil {
		for _, t := range r.intents.tests {
			intents = append(intents, Question{Intent: t.Episode.Intent})
		}
	}
	l := &Latency{}
	var err error
	if l.NextP50, l.NextP99, err = r.timed(next, func(q Question) error { _, err := p.Rank(q, shortList); return err }); err != nil {
		return err
	}
	if l.DAGP50, l.DAGP99, err = r.timed(intents, func(q Question) error { _, err := p.Plan(q.Intent); return err }); err != nil {
		return err
	}
	r.report.Latency = l
	return nil
}

// timed returns the median and the 99th percentile in microseconds, nil without a question.
func (r *run) timed(questions []Question, ask func(Question) error) (p50, p99 *float64, err error) {
	n := min(timedQuestions, len(questions))
	if n == 0 {
		return nil, nil, nil
	}
	took := make([]float64, n)
	for i := range took {
		if r.ctx.Err() != nil {
			return nil, nil, r.ctx.Err()
		}
		began := r.o.Now()
		if err := ask(questions[i*len(questions)/n]); err != nil {
			return nil, nil, err
		}
		took[i] = float64(r.o.Now().Sub(began).Nanoseconds()) / 1e3
	}
	both := quantiles(took, 0.5, 0.99)
	return &both[0], &both[1], nil
}

func (r *run) now() time.Time {
	if r.o.Now == nil {
		return time.Time{}
	}
	return r.o.Now()
}

func (r *run) built(began time.Time) {
	if r.o.Now != nil {
		ms := float64(r.o.Now().Sub(began).Microseconds()) / 1e3
		r.report.BuildMS = &ms
	}
}
