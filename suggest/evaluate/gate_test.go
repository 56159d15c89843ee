package evaluate

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/suggest"
)

// reversed are tasks in which the other thing follows.
func reversed(tasks int) []episodic.Episode {
	all := twoWays(tasks)
	for i := range all {
		all[i].ID = "reversed " + all[i].ID
		steps := all[i].Steps
		steps[2].Tool = map[string]string{"c": "e", "e": "c"}[steps[2].Tool]
	}
	return all
}

// Whether a rebuild loses: against a published model that knew the first so many episodes.
func TestGate(t *testing.T) {
	told := twoWays(200)
	for _, c := range []struct {
		name  string
		trial Trial
		loses bool
		none  bool
		same  bool
	}{
		{name: "nothing is published", trial: Trial{Episodes: told}, none: true},
		{name: "too little to judge by", trial: Trial{Episodes: told[:50], Old: &suggest.MeasureOptions{}, Known: 50}, none: true},
		{name: "the same again", trial: Trial{Episodes: told, Old: &suggest.MeasureOptions{}, Known: 200}, same: true},
		{name: "much of the same kind is new", trial: Trial{Episodes: told, Old: &suggest.MeasureOptions{}, Known: 100}},
		{name: "the learned profile is turned off", trial: Trial{Episodes: told, Old: &suggest.MeasureOptions{}, Known: 200,
			New: suggest.MeasureOptions{WithoutLearned: true}}, loses: true},
		{name: "a bad batch has come in", trial: Trial{Episodes: slices.Concat(told[:100], reversed(150), told[100:120]),
			Old: &suggest.MeasureOptions{}, Known: 100}, loses: true},
		{name: "the world has changed", trial: Trial{Episodes: slices.Concat(told[:100], reversed(200)),
			Old: &suggest.MeasureOptions{}, Known: 100}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.trial.Episodes = dated(c.trial.Episodes)
			gate, err := Judge(t.Context(), c.trial)
			require.NoError(t, err)
			if c.none {
				assert.Nil(t, gate)
				return
			}
			require.NotNil(t, gate)
			assert.Equal(t, c.loses, gate.Loses())
			assert.Equal(t, c.loses, strings.HasPrefix(gate.String(), "WORSE after a context (mrr "), gate.String())
			assert.Equal(t, 40, gate.Next.Episodes, "tasks held out")
			assert.Zero(t, gate.NextIntent)
			assert.InDelta(t, gate.Next.New-gate.Next.Published, gate.Next.Gain, 1e-12)
			assert.Equal(t, c.loses, gate.Next.Gain < -.1)
			assert.True(t, !c.same || gate.Next.Gain == 0)
			if !c.loses {
				return
			}
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			again, err := Judge(t.Context(), c.trial)
			require.NoError(t, err)
			assert.Equal(t, gate, again)
		})
	}
}
