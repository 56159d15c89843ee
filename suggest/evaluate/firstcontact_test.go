package evaluate

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest"
)

// repeating are tasks of six templates, each with eight near copies, and as many that stand alone.
func repeating() *Data {
	d := &Data{Name: "repeating"}
	for _, name := range []string{"fetch_page", "send_mail", "read_file", "post_message"} {
		d.Tools = append(d.Tools, catalog.Tool{ID: "x:" + name, Name: name, Description: "Uses " + name + " for one."})
	}
	add := func(intent string, tools ...string) {
		e := episodic.Episode{ID: fmt.Sprintf("e%03d", len(d.Examples)), Intent: intent, Outcome: episodic.Success}
		for i, tool := range tools {
			s := episodic.Step{ID: fmt.Sprint("s", i), Tool: "x:" + tool}
			if i > 0 {
				s.DependsOn = []string{fmt.Sprint("s", i-1)}
			}
			e.Steps = append(e.Steps, s)
		}
		split := Train
		if len(d.Examples)%5 == 4 {
			split = Test
		}
		d.Examples = append(d.Examples, Example{Episode: e, Split: split, Next: true, Intent: true})
	}
	alone := []string{"red", "green", "blue", "black", "white", "brown"}
	for i := range 48 {
		add(fmt.Sprintf("%s the page of order %d for Dana", []string{"fetch", "get", "load", "show", "open", "view"}[i%6], i), "fetch_page", "send_mail")
		if i < 6 {
			add("paint the wall "+alone[i], "read_file", "post_message")
		}
	}
	return d
}

func TestFirstContact(t *testing.T) {
	d := repeating()
	var histories [][]*Example
	train := func(ctx context.Context, d *Data, history []*Example) (Predictor, error) {
		histories = append(histories, history)
		return Suggester(suggest.ProfileSeed, suggest.MeasureOptions{})(ctx, d, history)
	}
	r, err := Evaluate(t.Context(), d, train, Options{Profile: suggest.ProfileSeed, FirstContact: true})
	require.NoError(t, err)
	f := r.FirstContact
	require.NotNil(t, f)
	assert.InDelta(t, 48./54, f.Repeated, 1e-9)
	require.NotNil(t, f.Grouped)
	require.NotNil(t, f.Random)
	grouped := histories[1] // after the one of the report itself
	copies := map[string]int{}
	for _, x := range d.Examples {
		copies[template(x.Episode.Intent)]++
	}
	kept := map[string]int{}
	for _, x := range grouped {
		kept[template(x.Episode.Intent)]++
	}
	for template, n := range kept {
		assert.Equal(t, copies[template], n, "%q stands on both sides", template)
	}
	assert.Equal(t, len(d.Examples)-len(grouped), f.Grouped.Tasks)
	require.Len(t, f.Curve, 2)
	assert.Equal(t, []int{10, 30}, []int{f.Curve[0].History, f.Curve[1].History})
	assert.GreaterOrEqual(t, f.Needs.Hit1, .85, "a tool is found by its own text")
	assert.Greater(t, f.Unseen.Of, 0)
	require.NotNil(t, f.Foreign)
	assert.LessOrEqual(t, f.Foreign.Mistaken, 0.15, "but for a word that nobody said before, the history's own words are not foreign")
	assert.Greater(t, f.Foreign.Recognised, 0.9)
}

// A step could come now if all it depends on is done.
func TestReady(t *testing.T) {
	e := episodic.Episode{ID: "e", Steps: []episodic.Step{
		{ID: "1", Tool: "a"}, {ID: "2", Tool: "b", DependsOn: []string{"1"}}, {ID: "3", Tool: "c", DependsOn: []string{"1"}},
		{ID: "4", Tool: "d", DependsOn: []string{"2", "3"}},
	}}
	k := newTask(&Example{Episode: e})
	require.Equal(t, []string{"a", "b", "c", "d"}, k.seq)
	assert.True(t, k.ready(1, "b"))
	assert.True(t, k.ready(1, "c"), "in another order")
	assert.False(t, k.ready(1, "d"), "it needs b and c")
	assert.True(t, k.ready(3, "d"))
	assert.False(t, k.ready(3, "b"), "it is done")
	assert.False(t, k.ready(1, "z"))
}
