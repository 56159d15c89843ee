package plan

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// handedOn are the features that no signal has for itself.
var handedOn = struct{ next, set []string }{
	next: []string{"first", "rank", "share"},
	set:  []string{"odds", "odds/size", "prefix", "likelihood gap", "least odds"},
}

// Every feature belongs to a signal, or hands on what an earlier stage found.
func TestEveryFeatureHasASignal(t *testing.T) {
	for stage, x := range map[string]struct {
		names, handedOn []string
		of              func(signal) []string
	}{
		"base": {baseNames, nil, func(s signal) []string { return s.base }},
		"next": {nextNames, handedOn.next, func(s signal) []string { return s.next }},
		"set":  {setNames, handedOn.set, func(s signal) []string { return s.set }},
		"link": {linkNames, nil, func(s signal) []string { return s.link }},
	} {
		named := slices.Clone(x.handedOn)
		for _, s := range signals {
			named = append(named, x.of(s)...)
		}
		for _, name := range x.names {
			assert.Contains(t, named, name, stage)
		}
		for _, name := range named {
			assert.Contains(t, x.names, name, stage)
		}
	}
}

// The planner without a signal gives its features no weight and answers nevertheless.
func TestVariantsOfThePlanner(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	tools, needs, tasks := workshop()
	s := FitStudy(NewTexts(tools), needs, tasks, Options{})
	told := 0.0
	variants := s.Ablate(func() bool { return false }, func(done float64) { assert.Greater(t, done, told); told = done })
	assert.Equal(t, 1.0, told)
	require.Len(t, variants, len(signals)+1)
	for i, v := range variants {
		if i == 0 {
			assert.Empty(t, v.Without)
			continue
		}
		out := signals[i-1]
		require.Equal(t, out.name, v.Without)
		for _, w := range v.model.kinds {
			for _, k := range columns(baseNames, out.base) {
				assert.Zero(t, w.first.Slope[k], "%s: %s", out.name, baseNames[k])
				assert.Zero(t, w.second.Slope[k], "%s: %s", out.name, baseNames[k])
				assert.Zero(t, w.target.Slope[k], "%s: %s", out.name, baseNames[k])
			}
			for _, k := range columns(nextNames, out.next) {
				assert.Zero(t, w.second.Slope[len(baseNames)+k], "%s: %s", out.name, nextNames[k])
			}
			for _, k := range columns(setNames, out.set) {
				assert.Zero(t, w.chooser.Slope[k], "%s: %s", out.name, setNames[k])
			}
		}
		for _, k := range columns(linkNames, out.link) {
			assert.Zero(t, v.model.linker.Slope[k], "%s: %s", out.name, linkNames[k])
		}
	}
	// The history is short: all of it is studied, and the reference is the model, but for where a search ends.
	answered := 0
	s.Answer(tasks[0].Text, variants, func(i int, a *Answer) {
		answered++
		assert.NotEmpty(t, a.Steps)
		if i == 0 {
			assert.Equal(t, s.Model.Plan(tasks[0].Text, nil).Steps[0].Tool, a.Steps[0].Tool)
		}
	})
	assert.Equal(t, len(variants), answered)
	assert.Nil(t, s.Ablate(func() bool { return true }, func(float64) {}))
}

func TestNothingWasLearnedNothingIsAblated(t *testing.T) {
	tools, needs, _ := workshop()
	assert.Nil(t, FitStudy(NewTexts(tools), needs, nil, Options{}).Ablate(func() bool { return false }, func(float64) {}))
}
