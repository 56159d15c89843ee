package next

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func never() bool { return false }

// A request decides what comes third, and only its words tell: without one signal of the request the
// others learn to, without the history there is nothing.
func TestAnAblationFitsTheOthersAnew(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	tasks := forks(120)
	h := observe(tasks)
	w, _, study := Fit(catalog(), tasks, false, never)
	told := 0.0
	all := study.Ablate(never, func(done float64) { assert.Greater(t, done, told); told = done })
	require.Len(t, all, int(signalCount))
	assert.Equal(t, 1.0, told)
	var s FeatureValues
	now := line(0, 1)
	h.Compute(now.Tools, now.Parents, 2, h.Ask([]Word{{1, 1}}, nil), &s)
	require.Equal(t, 1, h.Place(&s, w.Asked, 2))
	for k, x := range all {
		assert.Equal(t, Signal(k), x.Signal)
		assert.Equal(t, x.Signal.OfRequest(), x.Plain == nil, "a signal of the request has no say without one")
		require.NotNil(t, x.Asked)
		for level := range uint8(levels) {
			for used := range uint8(classes) {
				assert.Zero(t, Weight(x.Asked, x.Signal, level, used))
			}
		}
		assert.Equal(t, 1, h.Place(&s, x.Asked, 2), "others make up for signal %d", k)
	}
	assert.NotEqual(t, w.Asked[int(signalWords)*parts], all[signalPastNext].Asked[int(signalWords)*parts], "what is left was fitted anew")
	assert.Nil(t, study.Ablate(func() bool { return true }, func(float64) {}))
}

func TestPlaceIsThatOfTheRanking(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	tasks := forks(60)
	h, w := observe(tasks), fitWeights(catalog(), tasks, false)
	var s FeatureValues
	now := line(0, 1, 2)
	h.Compute(now.Tools, now.Parents, 3, nil, &s)
	for i, r := range h.Rank(&s, w.Plain, nil) {
		assert.Equal(t, i+1, h.Place(&s, w.Plain, r.Tool))
	}
}

func TestThePriorHasNoAblation(t *testing.T) {
	_, _, study := Fit(catalog(), nil, false, never)
	assert.Nil(t, study.Ablate(never, func(float64) {}))
}

// A prior is used for many fits; none may change it.
func TestAFitLeavesItsPriorAlone(t *testing.T) {
	prior := priorBelief()
	plain, asked := slices.Clone(prior.Mean.Plain), slices.Clone(prior.Mean.Asked)
	var tasks []*Task
	for i := range 40 {
		tasks = append(tasks, line(0, 1, 2))
		tasks[i].Group = uint64(i)
	}
	FitFrom(prior, catalog(), tasks, false, never)
	assert.Equal(t, plain, prior.Mean.Plain)
	assert.Equal(t, asked, prior.Mean.Asked)
}
