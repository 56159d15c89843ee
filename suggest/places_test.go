package suggest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/wire"
)

func TestMasses(t *testing.T) {
	examined := []float64{1, .5, .2}
	assert.Equal(t, []float32{1, 1, 2, 5, 5}, masses([]uint8{0, 1, 2, 3, 9}, examined))
	assert.Nil(t, masses(nil, examined), "nobody knows where it stood")
	assert.Nil(t, masses([]uint8{1, 2}, nil), "nobody knows what a place is worth")
}

// What was chosen from further down counts more in the fit, where it is known what a place is worth; the
// places come back from a snapshot, and with them the same fit.
func TestPlacesWeighInTheFit(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	w := planted(t, 60)
	for i := range 60 {
		e := episodic.Episode{ID: "shown", Steps: []episodic.Step{{Tool: "x:a"}, {Tool: "x:b", Shown: 1}, {Tool: []string{"x:c", "x:d"}[i%2], Shown: 1 + 2*(i%2)}}}
		w.Record(&e)
	}
	last := w.episodes().at(int(w.totals.episodes) - 1)
	assert.Equal(t, []uint8{0, 1, 3}, last.shown)
	examined := []float64{1, .6, .25}
	measured := func(s *State, o MeasureOptions) (*Counts, *Measures) {
		o.Learn = true
		c := s.Freeze()
		m, err := Measure(t.Context(), c, o)
		require.NoError(t, err)
		return c, m
	}
	c, plain := measured(w.State, MeasureOptions{})
	_, weighed := measured(w.State, MeasureOptions{Examined: examined})
	assert.NotEqual(t, written(plain.learning.fitted()), written(weighed.learning.fitted()))
	hash := func(c *Counts, m *Measures) string {
		model, err := NewModel(c, m, Stamp{})
		require.NoError(t, err)
		return model.Hash()
	}
	assert.NotEqual(t, hash(c, plain), hash(c, weighed))

	var b bytes.Buffer
	to := &wire.Writer{To: &b}
	require.NoError(t, w.Image().Write(to))
	unfitted, err := Measure(t.Context(), c, MeasureOptions{Examined: examined})
	require.NoError(t, err)
	unfitted.Write(to)
	require.NoError(t, to.Flush())
	r := wire.NewReader(b.Bytes())
	s := ReadState(r)
	for i := range w.totals.episodes {
		assert.Equal(t, w.past.At(int32(i)), s.past.At(int32(i)))
	}
	again := s.Freeze()
	m := ReadMeasures(r, again, nil)
	require.NoError(t, r.End())
	m.Examine(examined)
	assert.Equal(t, hash(c, weighed), hash(again, m))
	m.Warm(never)
	m.learning.get()
	assert.Equal(t, written(weighed.learning.fitted()), written(m.learning.fitted()))
}
