package evaluate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The best baseline is chosen metric by metric; of equal ones the first by name. Only decisive metrics
// lose an evaluation, and only against the best.
func TestComparisonsAndLost(t *testing.T) {
	worse, better := Difference{-0.2, Interval{-0.3, -0.1}}, Difference{0.2, Interval{0.1, 0.3}}
	ci := map[string]Interval{"hit@1": {0, 1}, "mrr": {0.4, 0.6}}
	r := &Report{
		Next:       &NextReport{NextScores: NextScores{Hit1: 0.3, MRR: 0.5}, Tasks: 20, CI: ci},
		NextIntent: &NextReport{NextScores: NextScores{Hit1: 0.4, MRR: 0.6}, Tasks: 20, CI: ci},
		DAG:        &DAGReport{DAGScores{Requests: 20, NodeF1: 0.5}, map[string]Interval{"node_f1": {0.4, 0.6}}},
		Baselines: map[string]Baseline{
			"a":    {NextScores: &NextScores{Hit1: 0.5, MRR: 0.3}, Lead: map[string]Difference{"hit@1": worse, "mrr": better}},
			"b":    {NextScores: &NextScores{Hit1: 0.5, MRR: 0.7}, Lead: map[string]Difference{"hit@1": worse, "mrr": worse}},
			"copy": {DAGBaseline: &DAGBaseline{NodeF1: 0.4}, Lead: map[string]Difference{"node_f1": better}},
		},
	}
	type row struct {
		question, metric, baseline string
		value                      float64
		verdict                    Verdict
	}
	var got []row
	for _, c := range r.Comparisons() {
		got = append(got, row{c.Question, c.Metric, c.Baseline, c.Value, c.Verdict()})
	}
	assert.Equal(t, []row{
		{"next", "hit@1", "a", 0.3, Behind},
		{"next", "mrr", "b", 0.5, Behind},
		{"next_intent", "hit@1", "a", 0.4, Alone},
		{"next_intent", "mrr", "b", 0.6, Alone},
		{"dag", "node_f1", "copy", 0.5, Leads},
	}, got)
	lost := r.decided(Behind)
	require.Len(t, lost, 1)
	assert.Equal(t, "b", lost[0].Baseline)
	assert.Equal(t, &worse, lost[0].Lead)
	assert.NotNil(t, (&Report{}).decided(Behind), "[] in JSON")
	assert.Len(t, r.Decided(), 2)

	r.Next.Tasks, r.DAG.Requests = 3, 14
	assert.Empty(t, r.Decided())
	few := r.decided(tooFew)
	require.Len(t, few, 2)
	assert.Equal(t, []int{3, 14}, []int{few[0].Tasks, few[1].Tasks})
}
