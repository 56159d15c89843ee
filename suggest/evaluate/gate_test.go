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
	all := twoWays(tasks, true)
	for i := range all {
		all[i].ID = "reversed " + all[i].ID
		steps := all[i].Steps
		steps[2].Tool = map[string]string{"c": "e", "e": "c"}[steps[2].Tool]
	}
	return all
}

// Whether a rebuild loses: against a published model that knew the first so many episodes.
func TestGate(t *testing.T) {
	told := twoWays(200, true)
	for _, c := range []struct {
		name     string
		trial    Trial
		loses    bool
		tests    int // tasks held out
		none     bool
		atLeast  float64 // of the loss
		identity bool
	}{
		{name: "nothing is published", trial: Trial{Episodes: told}, none: true},
		{name: "too little to judge by", trial: Trial{Episodes: told[:50], Old: &suggest.MeasureOptions{}, Known: 50}, none: true},
		{name: "the same again", trial: Trial{Episodes: told, Old: &suggest.MeasureOptions{}, Known: 200}, tests: 40, identity: true},
		{name: "much of the same kind is new", trial: Trial{Episodes: told, Old: &suggest.MeasureOptions{}, Known: 100}, tests: 40},
		{name: "the learned profile is turned off", trial: Trial{Episodes: told, Old: &suggest.MeasureOptions{}, Known: 200,
			New: suggest.MeasureOptions{WithoutLearned: true}}, tests: 40, loses: true, atLeast: .1},
		{name: "a bad batch has come in", trial: Trial{Episodes: slices.Concat(told[:100], reversed(150), told[100:120]),
			Old: &suggest.MeasureOptions{}, Known: 100}, tests: 40, loses: true, atLeast: .1},
		{name: "the world has changed", trial: Trial{Episodes: slices.Concat(told[:100], reversed(200)),
			Old: &suggest.MeasureOptions{}, Known: 100}, tests: 40},
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
			assert.Equal(t, c.tests, gate.Next.Episodes)
			assert.Zero(t, gate.NextIntent)
			assert.InDelta(t, gate.Next.New-gate.Next.Published, gate.Next.Gain, 1e-12)
			if c.loses {
				assert.Less(t, gate.Next.Gain, -c.atLeast)
			}
			if c.identity {
				assert.Zero(t, gate.Next.Gain)
			}
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
