package suggest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/internal/codec"
	"waymark/suggest/history"
)

func writtenState(t testing.TB, i *history.Image) []byte {
	w := &codec.Writer{}
	require.NoError(t, i.Write(w))
	return w.Bytes
}

func modelOf(t testing.TB, s *history.State, m *Measures) *Model {
	c := s.Freeze()
	if m == nil {
		var err error
		m, err = Measure(context.Background(), c, MeasureOptions{WithoutLearned: true})
		require.NoError(t, err)
	}
	model, err := NewModel(c, m, Stamp{})
	require.NoError(t, err)
	return model
}

// A state that was written and read is the state it was at that moment, though it went on meanwhile;
// and both go the same way from there.
func TestStateIsReadAsItWas(t *testing.T) {
	for seed := range uint64(3) {
		events := randomEvents(t, rand.New(rand.NewPCG(seed, 11)), 150)
		then := 20 + int(seed)*50
		s := history.NewState()
		for _, e := range events[:then] {
			e(s)
		}
		was := modelOf(t, s, nil)
		image := s.Image()
		for i, e := range events[then:] {
			e(s)
			if i%9 == 0 {
				s.Freeze()
			}
		}
		r := codec.NewReader(writtenState(t, image))
		again := history.ReadState(r)
		require.NoError(t, r.End())
		now := modelOf(t, again, nil)
		require.Equal(t, was.Parts(), now.Parts(), "seed %d", seed)
		require.Equal(t, was.Stats(), now.Stats())
		require.Equal(t, writtenState(t, image), writtenState(t, again.Image()))
		for _, e := range events[then:] {
			e(again)
		}
		require.Equal(t, modelOf(t, s, nil).Parts(), modelOf(t, again, nil).Parts(), "seed %d goes on", seed)
	}
}

func TestMeasuresAreReadAsWritten(t *testing.T) {
	star := newWorld(t) // one community of more members than a question looks at, which ends with the important ones
	for i := range 2 * related {
		star.episode("", fmt.Sprintf("s:leaf%d", i), "s:hub")
	}
	for _, s := range []*world{big(t, 120, 200), star} {
		testMeasuresRead(t, s)
	}
}

func testMeasuresRead(t *testing.T, s *world) {
	c := s.Freeze()
	m, err := Measure(context.Background(), c, MeasureOptions{WithoutLearned: true})
	require.NoError(t, err)
	w := &codec.Writer{}
	m.Write(w)
	r := codec.NewReader(w.Bytes)
	again := ReadMeasures(r, c, nil)
	require.NoError(t, r.End())
	was, now := modelOf(t, s.State, m), modelOf(t, s.State, again)
	assert.Equal(t, was.Parts(), now.Parts())
	assert.Equal(t, was.Stats(), now.Stats())
	for _, q := range []NextRequest{{}, {Context: []string{s.Freeze().IDs[3]}}, {Intent: "restart a queue"}, {Context: []string{s.Freeze().IDs[5]}, Intent: "merge the branch"}} {
		a, err := was.Next(q)
		require.NoError(t, err)
		b, err := now.Next(q)
		require.NoError(t, err)
		assert.Equal(t, a, b)
	}
	before, err := was.Export("", 0)
	require.NoError(t, err)
	after, err := now.Export("", 0)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	again2 := &codec.Writer{}
	again.Write(again2)
	assert.Equal(t, w.Bytes, again2.Bytes)

	s.episode("", "other:tool", "one:more")
	r = codec.NewReader(w.Bytes)
	ReadMeasures(r, s.Freeze(), nil)
	assert.ErrorContains(t, r.Err(), "measures of", "of other counts")
}

// Whatever the bytes: an error, or a state that can be shown and asked.
func FuzzReadState(f *testing.F) {
	s := history.NewState()
	for _, e := range randomEvents(f, rand.New(rand.NewPCG(1, 1)), 40) {
		e(s)
	}
	f.Add(writtenState(f, s.Image()))
	f.Add(writtenState(f, history.NewState().Image()))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := history.ReadState(codec.NewReader(b))
		s.Freeze()
	})
}
