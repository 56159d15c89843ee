package learn

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/suggest"
)

// held are tasks each of which is held out in turn.
func held(episodes []episodic.Episode) *Data {
	d := &Data{}
	for _, e := range episodes {
		d.Examples = append(d.Examples, Example{Episode: e, Split: Test, Next: true, Intent: true})
	}
	return d
}

// except are all examples but one.
func except(d *Data, i int) []*Example {
	var history []*Example
	for k := range d.Examples {
		if k != i {
			history = append(history, &d.Examples[k])
		}
	}
	return history
}

// What a task was has no part in what is decided for it.
func TestATaskLeftOutDecidesNothingForItself(t *testing.T) {
	choose := func(l *leftOut, d *Data, i int) suggest.Choice {
		choice, ok, err := l.judge(t.Context(), d, except(d, i), Recipe{})
		require.NoError(t, err)
		require.True(t, ok)
		return choice
	}
	d := held(twoWays(100, true))
	var shared leftOut
	seventh := choose(&shared, d, 7)
	assert.Equal(t, suggest.ProfileLearned, seventh.Next.Profile)
	assert.Equal(t, 19, seventh.Next.Episodes, "a fifth, without the task itself")
	assert.Equal(t, 20*2-2, seventh.Next.Questions)
	assert.NotEqual(t, seventh.Next.Questions, 0)
	twelfth := choose(&shared, d, 12) // of the same part

	other := held(twoWays(100, true))
	other.Examples[7].Episode.Steps = []episodic.Step{{Tool: "x"}, {Tool: "y"}, {Tool: "z"}, {Tool: "a"}}
	assert.Equal(t, seventh, choose(&leftOut{}, other, 7))
	assert.NotEqual(t, twelfth, choose(&leftOut{}, other, 12), "but for the others")
	assert.Equal(t, twelfth, choose(&leftOut{}, d, 12), "whoever was asked before")
}

func TestWhereNothingIsLeftOutItIsJudgedAsEver(t *testing.T) {
	d := held(twoWays(100, true))
	split := slices.Clone(d.Examples)
	for _, tt := range []struct {
		name    string
		data    *Data
		history []*Example
	}{
		{"all", d, except(d, -1)},
		{"two left out", d, except(d, 3)[:98]},
		{"too few", &Data{Examples: split[:50]}, except(&Data{Examples: split[:50]}, 3)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, ok, err := new(leftOut).judge(t.Context(), tt.data, tt.history, Recipe{})
			require.NoError(t, err)
			assert.False(t, ok)
		})
	}
	dated := held(dated(twoWays(100, true)))
	_, ok, err := new(leftOut).judge(t.Context(), dated, except(dated, 3), Recipe{})
	require.NoError(t, err)
	assert.False(t, ok, "the newest are held out where there are times")
}
