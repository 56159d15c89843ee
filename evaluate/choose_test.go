package evaluate

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/suggest"
)

// twoWays are tasks in which what follows b depends on what came before it, if told, and is a coin's
// fall if not.
func twoWays(tasks int, told bool) (all []episodic.Episode) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range tasks {
		steps := []string{"a", "b", "c"}
		if r.IntN(2) == 0 {
			steps = []string{"d", "b", "e"}
		}
		if !told {
			steps = []string{"b", []string{"c", "e"}[r.IntN(2)]}
		}
		e := episodic.Episode{ID: fmt.Sprint(i)}
		for _, s := range steps {
			e.Steps = append(e.Steps, episodic.Step{Tool: s})
		}
		all = append(all, e)
	}
	return all
}

// dated gives episodes a time, the same one: their order counts, their age does not.
func dated(episodes []episodic.Episode) []episodic.Episode {
	episodes = slices.Clone(episodes)
	for i := range episodes {
		episodes[i].Time = time.Unix(1_700_000_000, 0).UTC()
	}
	return episodes
}

func TestJudge(t *testing.T) {
	judge := func(episodes []episodic.Episode) suggest.Choice {
		v, gate, err := Judge(t.Context(), Trial{Episodes: episodes})
		require.NoError(t, err)
		require.Nil(t, gate, "nothing is published")
		return v
	}
	v := judge(twoWays(500, true))
	assert.Equal(t, suggest.ProfileLearned, v.Next.Profile, "%+v", v)
	assert.Equal(t, 100, v.Next.Episodes)
	assert.Equal(t, 200, v.Next.Questions)
	assert.Greater(t, v.Next.Interval[0], .1, "only the step before tells them apart")
	assert.Equal(t, v.Next.Learned-v.Next.Seed, v.Next.Lead)
	assert.Zero(t, v.NextIntent.Questions)

	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	assert.Equal(t, v, judge(twoWays(500, true)))

	v = judge(twoWays(500, false))
	assert.Equal(t, suggest.ProfileLearned, v.Next.Profile, "where there is nothing to know, neither leads: %+v", v)
	assert.LessOrEqual(t, v.Next.Interval[0], 0.)
	assert.Equal(t, 100, v.Next.Questions)
	assert.Equal(t, suggest.Choice{}, judge(twoWays(60, true)), "too few tasks to judge by")
}

// In a short history one fifth is enough where it is clear; else every task is asked about once.
func TestJudgeOfShortHistory(t *testing.T) {
	told, _, err := Judge(t.Context(), Trial{Episodes: twoWays(81, true)})
	require.NoError(t, err)
	assert.Equal(t, suggest.ProfileLearned, told.Next.Profile, "%+v", told)
	assert.Equal(t, 16, told.Next.Episodes)
	for name, episodes := range map[string][]episodic.Episode{"in no order": twoWays(81, false), "dated": dated(twoWays(83, false))} {
		t.Run(name, func(t *testing.T) {
			v, _, err := Judge(t.Context(), Trial{Episodes: episodes})
			require.NoError(t, err)
			assert.Equal(t, len(episodes), v.Next.Episodes)

			trial := Trial{Episodes: episodes}
			examples, err := trial.split()
			require.NoError(t, err)
			all := folds(examples)
			require.Len(t, all, 5)
			asked := make([]int, len(episodes))
			for _, turn := range all {
				held := 0
				for i, x := range turn {
					if x.Split == Test {
						asked[i]++
						held++
					}
				}
				assert.InDelta(t, len(episodes)/5, held, 1)
			}
			assert.Equal(t, []int{1}, slices.Compact(asked))
		})
	}
}

// A held-out task of tools that nobody has met is a question about its intent, which may be too few to
// learn from.
func TestJudgeOfUnknownTools(t *testing.T) {
	episodes := twoWays(200, true)
	episodes[190] = episodic.Episode{ID: "odd", Intent: "something else", Steps: []episodic.Step{{Tool: "f"}, {Tool: "g"}}}
	v, _, err := Judge(t.Context(), Trial{Episodes: dated(episodes)})
	require.NoError(t, err)
	assert.Equal(t, suggest.ProfileLearned, v.Next.Profile)
	assert.Equal(t, 1, v.NextIntent.Questions)
}

func TestBoundedSpreadsEvenly(t *testing.T) {
	var tests []*task
	for i := range 100 {
		tests = append(tests, &task{seq: make([]string, 1+i%3)})
	}
	some := bounded(tests, 20, func(t *task) int { return len(t.seq) - 1 })
	questions := 0
	for _, t := range some {
		questions += len(t.seq) - 1
	}
	assert.InDelta(t, 20, questions, 3)
	assert.Len(t, bounded(tests, 1000, func(t *task) int { return len(t.seq) - 1 }), 66, "those without a question are left out")
}
