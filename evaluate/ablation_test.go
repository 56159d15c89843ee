package evaluate

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/suggest"
)

// parts is a predictor with two parts: without "good" what comes next stands second, and the intent's tools
// are not found; "idle" has a say after the first step alone, and changes nothing.
type parts struct {
	spied
	histories *[]int
}

func (p parts) Ablate(_ func() bool, tell func(float64)) (Ablation, error) {
	*p.histories = append(*p.histories, len(p.history))
	tell(1)
	return p, nil
}

func (p parts) Next(q Question, _ string) (int, map[string]int, bool, error) {
	without := map[string]int{"good": 2}
	if len(q.Context) == 1 {
		without["idle"] = 1
	}
	return 1, without, q.Intent != "", nil
}

func (p parts) Needs(_ string, visit func(string, []string, *Plan)) (bool, error) {
	visit("", []string{"fetch"}, &Plan{Tools: []string{"fetch", "mail"}, Links: []Link{{"fetch", "mail"}}})
	visit("good", []string{"other", "fetch"}, &Plan{})
	return true, nil
}

func TestAblation(t *testing.T) {
	s := &spy{histories: map[string][]string{}, of: small()}
	var histories []int
	train := func(ctx context.Context, d *Data, history []*Example) (Predictor, error) {
		p, err := s.train(ctx, d, history)
		x := parts{p.Ranker.(spied), &histories}
		return Predictor{x, x, x}, err
	}
	r, err := Evaluate(t.Context(), small(), train, Options{})
	require.NoError(t, err)
	assert.Equal(t, []int{3}, histories)
	var names []string
	for _, x := range r.Ablation {
		names = append(names, x.Question+" "+x.Without)
	}
	assert.Equal(t, []string{"next good", "next idle", "next_intent good", "next_intent idle", "dag good"}, names)
	good, idle, needs := r.Ablation[0], r.Ablation[1], r.Ablation[4]
	assert.Equal(t, 0.5, good.MRR)
	assert.Equal(t, Difference{0.5, Interval{0.5, 0.5}}, good.Loss)
	assert.Equal(t, 4, good.Questions)
	assert.False(t, good.Refitted)
	assert.True(t, r.Ablation[2].Refitted)
	assert.Equal(t, 1.0, idle.MRR)
	assert.Equal(t, 0.5, needs.MRR)
	require.NotNil(t, needs.NodeF1)
	// fetch, parse, store and fetch, mail: Node-F1 .4 and 1, nothing without.
	assert.InDelta(t, 0, needs.NodeF1.Value, 1e-12)
	assert.InDelta(t, 0.7, needs.NodeF1.Loss.Mean, 1e-12)
	assert.InDelta(t, 0.5, needs.LinkF1.Loss.Mean, 1e-12)

	histories = nil
	r, err = Evaluate(t.Context(), small(), train, Options{WithoutAblation: true})
	require.NoError(t, err)
	assert.Empty(t, r.Ablation)
	assert.Empty(t, histories)
}

// Where each test is held out in turn, an ablation learns from a few shares of them.
func TestAblationOfFolds(t *testing.T) {
	d := small()
	for i := range 12 {
		d.Examples = append(d.Examples, chain(fmt.Sprint("x", i), Test, "mail it", "fetch", "mail"))
	}
	for i := range d.Examples {
		d.Examples[i].Split = Test
	}
	s := &spy{histories: map[string][]string{}, of: d}
	var histories []int
	r, err := Evaluate(t.Context(), d, func(ctx context.Context, d *Data, history []*Example) (Predictor, error) {
		p, err := s.train(ctx, d, history)
		x := parts{p.Ranker.(spied), &histories}
		return Predictor{x, x, x}, err
	}, Options{})
	require.NoError(t, err)
	assert.Equal(t, []int{13, 13, 14, 14, 14}, histories)
	assert.Equal(t, r.Next.Positions, r.Ablation[0].Questions, "each test is asked once")
	assert.Len(t, r.Ablation, 5)
}

// The profile that answers is taken apart: learned weights are fitted anew, the seed's terms left out. The
// bits do not depend on how many processors there are.
func TestAblationOfTheEngine(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	d := &Data{Name: "planted", Tools: tools("a", "b", "c", "d", "e", "f")}
	for i := range 140 {
		steps, intent := []string{"a", "b", "c"}, "sort the red apples"
		if i*7%5 < 2 {
			steps, intent = []string{"d", "b", "e"}, "count blue boats"
		}
		if i%3 == 0 {
			steps = append(steps, "f")
		}
		split := Train
		if i%7 == 0 {
			split = Test
		}
		d.Examples = append(d.Examples, chain(fmt.Sprint(i), split, fmt.Sprint(intent, " ", i%9), steps...))
	}
	report := func(profile string, processors int) []AblationReport {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		r, err := Evaluate(t.Context(), d, Suggester(profile, suggest.MeasureOptions{Study: true}), Options{Profile: profile})
		require.NoError(t, err)
		return r.Ablation
	}
	named := func(all []AblationReport, question string) (names []string) {
		for _, x := range all {
			if x.Question == question {
				names = append(names, x.Without)
			}
		}
		return names
	}
	learned := report(suggest.ProfileLearned, 2)
	for _, x := range learned {
		assert.True(t, x.Refitted, "%s %s", x.Question, x.Without)
	}
	assert.Contains(t, named(learned, QuestionNext), "chain")
	assert.NotContains(t, named(learned, QuestionNext), "words", "a signal of the request")
	assert.Contains(t, named(learned, QuestionNextIntent), "words")
	assert.Contains(t, named(learned, QuestionDAG), "request_words")
	want, err := json.Marshal(learned)
	require.NoError(t, err)
	got, err := json.Marshal(report(suggest.ProfileLearned, 1))
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))

	seed := report(suggest.ProfileSeed, 2)
	assert.False(t, slices.ContainsFunc(seed, func(x AblationReport) bool { return x.Refitted }))
	assert.Contains(t, named(seed, QuestionNext), "cooccurrence")
	assert.Contains(t, named(seed, QuestionNextIntent), "semantic")
	assert.Contains(t, named(seed, QuestionDAG), "semantic")
}
