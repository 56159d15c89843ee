package evaluate

import (
	"fmt"
	"strings"

	"waymark/suggest/history"
)

// Gate is the result of judging a rebuild on held-out tasks: the metrics of the published model and of the new one on
// the same questions, asked without naming a profile. A kind of question that was not asked has no metric.
type Gate struct {
	Next       Change `json:"next"`          // after a context
	NextIntent Change `json:"next_intent"`   // after a context, the intent known
	Intent     Change `json:"intent"`        // the tools that an intent needs
	Seq        uint64 `json:"seq,omitempty"` // sequence number of the last known event

	Source *history.NewSource `json:"source,omitempty"` // a new key that recorded most of the new episodes
}

// Change holds the values of one metric before and after a rebuild.
type Change struct {
	Metric    string   `json:"metric,omitempty"` // mrr or ndcg@10
	Episodes  int      `json:"episodes,omitempty"`
	Questions int      `json:"questions,omitempty"`
	Published float64  `json:"published"` // of the published model
	New       float64  `json:"new"`
	Gain      float64  `json:"gain"`     // of the new model; a loss is negative
	Interval  Interval `json:"interval"` // of the gain, 95 %
}

// leastLost is the least number of tasks for refusing a rebuild: with fewer, the interval is too narrow.
const leastLost = 30

// Loses reports whether the new model is worse by more than noise.
func (c Change) Loses() bool { return c.Episodes >= leastLost && c.Interval[1] < 0 }

// Loses reports whether the new model is worse by more than noise at any kind of question.
func (g *Gate) Loses() bool {
	return g != nil && (g.Next.Loses() || g.NextIntent.Loses() || g.Intent.Loses())
}

// Refuses reports whether the rebuild is published only by force: it loses, or one new key recorded most new episodes.
func (g *Gate) Refuses() bool { return g.Loses() || g != nil && g.Source != nil }

// String returns the gate in one line.
func (g *Gate) String() string {
	var parts []string
	if g.Source != nil {
		parts = append(parts, g.Source.String())
	}
	for _, k := range []struct {
		name string
		Change
	}{{"after a context", g.Next}, {"with the intent", g.NextIntent}, {"for an intent", g.Intent}} {
		if k.Metric == "" {
			continue
		}
		verdict := "no worse"
		if k.Loses() {
			verdict = "WORSE"
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s %.3f, was %.3f; %+.3f … %+.3f)",
			verdict, k.name, k.Metric, k.New, k.Published, k.Interval[0], k.Interval[1]))
	}
	if len(parts) == 0 {
		return "nothing to compare with"
	}
	return strings.Join(parts, ", ")
}
