package live

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/storage"
	"waymark/suggest"
)

// seedFirst leaves profile auto to the seed until profiles are judged, as in a long history.
func seedFirst(t testing.TB) {
	before := suggest.ShortSteps
	suggest.ShortSteps = 0
	t.Cleanup(func() { suggest.ShortSteps = before })
}

// The step that was chosen from an answer is known by its place there, if the answer is.
func TestShownPlaces(t *testing.T) {
	ep := func(tools ...string) *episodic.Episode { e := episode("x", tools...); return &e }
	e := workspace(t, storage.NewMemory(), Options{})
	for i := range 60 {
		record(t, e, episode(fmt.Sprint("b", i), fmt.Sprint("start", i%10), []string{"u", "u", "u", "v", "v", "w", "x"}[i%7], "end"))
	}
	require.NoError(t, e.Wait(ctx, e.Counted()))
	for _, c := range []struct {
		context []string
		steps   []string
		want    int // -1: none
	}{
		{nil, []string{"u", "v"}, 0},
		{[]string{"a"}, []string{"a", "b", "c"}, 1},
		{[]string{"a", "b"}, []string{"a", "b", "c"}, 2},
		{[]string{"a", "b"}, []string{"x", "b", "c"}, 2},
		{[]string{"a", "b"}, []string{"a", "b"}, -1},
		{[]string{"b"}, []string{"a", "b"}, -1},
		{[]string{"z"}, []string{"a", "b"}, 0},
	} {
		i, ok := (&served{Context: c.context}).followedBy(ep(c.steps...), e.Model())
		if assert.Equal(t, c.want >= 0, ok, "%+v", c) && ok {
			assert.Equal(t, c.want, i, "%+v", c)
		}
	}

	a, err := e.Next(e.Model(), nil, suggest.NextRequest{Context: []string{"start1"}})
	require.NoError(t, err)
	second := a.Suggestions[1].ID
	told := episode("told", "start1", second, "end")
	told.SuggestionID = a.SuggestionID
	told.Steps[0].Shown = 9 // nobody else says so
	record(t, e, told)
	told.Steps[0].Shown = 0
	unknown := episode("unknown", "start1", "u")
	unknown.SuggestionID, unknown.Steps[1].Shown = "sg_unknown", 3
	record(t, e, unknown)
	places := map[string][]int{}
	for item, err := range e.Items(ctx) {
		require.NoError(t, err)
		for _, s := range item.Episode.Steps {
			places[item.Episode.ID] = append(places[item.Episode.ID], s.Shown)
		}
	}
	assert.Equal(t, []int{0, 2, 0}, places["told"])
	assert.Equal(t, []int{0, 0}, places["unknown"])
	e.answers = servedAnswers{} // as after a restart
	assert.Equal(t, 1, record(t, e, told).Duplicates, "an answer that is forgotten makes no other episode")
}
