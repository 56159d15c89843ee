package evaluate

import (
	"path/filepath"
	"slices"
	"time"
)

// Kept is the last report on the history of a workspace, stored in the file KeptFile.
type Kept struct {
	At     time.Time `json:"at" doc:"Time of the report."`
	Report Report    `json:"report" doc:"The output of waymark evaluate --json."`
}

// KeptFile returns the path of the last report of a workspace in a data directory.
func KeptFile(data, workspace string) string {
	return filepath.Join(data, "evaluations", workspace+".json")
}

// Report is the result of an evaluation: a table. Every rate is a fraction in [0, 1].
type Report struct {
	Dataset       string                  `json:"dataset"`
	Profile       string                  `json:"profile"`
	TrainEpisodes int                     `json:"train_episodes"` // 0 if each test episode is held out in turn
	TestEpisodes  int                     `json:"test_episodes"`
	LeaveOneOut   bool                    `json:"leave_one_out"`
	Rows          []Row                   `json:"rows"`
	Confidence    map[string]*Calibration `json:"confidence,omitempty"` // of first suggestions, by question
	Lost          []Row                   `json:"lost"`                 // decisive rows with the verdict behind
	TooFew        []Row                   `json:"too_few"`              // decisive rows with the verdict too few

	Baselines map[string]map[string]float64 `json:"baselines,omitempty"` // by name and metric, for next, tools and dag
}

// Row is one metric of one kind of question, with the other predictors on the same questions.
type Row struct {
	Question string    `json:"question"`
	Metric   string    `json:"metric"`
	Tasks    int       `json:"tasks"`     // held-out tasks with a value
	Asked    int       `json:"questions"` // values of these tasks
	Value    float64   `json:"value"`
	CI       Interval  `json:"ci"`
	Seed     *Compared `json:"seed,omitempty"`
	Baseline *Compared `json:"baseline,omitempty"` // the best one, on ties the first
	Verdict  Verdict   `json:"verdict,omitempty"`  // against the best baseline
}

// Compared is the result of another predictor. Lead is the advantage of the profile over it, with the interval of the
// paired bootstrap.
type Compared struct {
	Name  string     `json:"name"`
	Value float64    `json:"value"`
	Lead  Difference `json:"lead"`
}

// Verdict states whether the profile is better than the best baseline by more than chance, worse, or neither.
type Verdict string

const (
	leads  Verdict = "leads"
	even   Verdict = "even"
	Behind Verdict = "behind"
	tooFew Verdict = "too few" // fewer tasks than [LeastCompared]
)

// LeastCompared is the least number of held-out tasks for a verdict. The bootstrap resamples tasks, and
// resamples of few tasks are mostly alike: if five baselines are as good as the profile, the best of them
// seems better by more than chance in 21 % of evaluations with 5 tasks, in 12 % with 15 and
// in 11 % with 30.
const LeastCompared = leastJudged

// decisive lists, by question, the metrics in which an evaluation can be lost.
var decisive = map[string][]string{
	QuestionNext: {"mrr"}, QuestionTools: {"ndcg@10"}, QuestionDAG: {"node_f1", "link_f1"},
}

// add adds the rows of a question. The first predictor is the profile.
func (r *Report) add(q *question, seed uint64) {
	if len(q.answers) == 0 {
		return
	}
	mine, others := q.answers[0], q.answers[1:]
	for _, m := range kinds[q.name].metrics {
		s := mine.samples[m]
		row := Row{Question: q.name, Metric: m, Tasks: s.tasks(), Asked: s.values(), Value: s.Mean()}
		if row.Tasks == 0 {
			continue
		}
		same := slices.DeleteFunc(slices.Clone(others), func(a *answers) bool { return a.samples[m].tasks() == 0 })
		samples := make([]Sample, len(same))
		for i, a := range same {
			samples[i] = a.samples[m]
		}
		var all []Difference
		row.CI, all = bootstrap(seed, s, samples...)
		for i, a := range same {
			c := &Compared{a.name, samples[i].Mean(), all[i]}
			if !a.baseline {
				row.Seed = c
				continue
			}
			if row.Baseline == nil || c.Value > row.Baseline.Value {
				row.Baseline = c
			}
			if decisive[q.name] == nil {
				continue
			}
			if r.Baselines[a.name] == nil {
				r.Baselines[a.name] = map[string]float64{}
			}
			r.Baselines[a.name][m] = c.Value
		}
		row.Verdict = row.verdict()
		r.Rows = append(r.Rows, row)
		switch {
		case !slices.Contains(decisive[q.name], m):
		case row.Verdict == Behind:
			r.Lost = append(r.Lost, row)
		case row.Verdict == tooFew:
			r.TooFew = append(r.TooFew, row)
		}
	}
	if claims := slices.Concat(mine.claims...); len(claims) > 0 {
		if r.Confidence == nil {
			r.Confidence = map[string]*Calibration{}
		}
		r.Confidence[q.name] = Calibrate(claims, seed)
	}
}

func (r Row) verdict() Verdict {
	switch {
	case r.Baseline == nil:
		return ""
	case r.Tasks < LeastCompared:
		return tooFew
	case r.Baseline.Lead.Interval[0] > 0:
		return leads
	case r.Baseline.Lead.Interval[1] < 0:
		return Behind
	}
	return even
}
