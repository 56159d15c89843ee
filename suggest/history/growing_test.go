package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"waymark/episodic"
	"waymark/internal/codec"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Models already published do not change while episodes grow.
func TestPublishedEpisodesDoNotGrow(t *testing.T) {
	s := NewState()
	e := episodic.Episode{ID: "e", Steps: []episodic.Step{{ID: "1", Tool: "a"}, {ID: "2", Tool: "b"}}}
	step := func(i int) {
		s.Perform(&episodic.Performed{Episode: "e", Number: i + 1, Step: &e.Steps[i]})
	}
	step(0)
	before := s.Freeze()
	step(1)
	step(1) // told twice
	assert.Equal(t, []int32{0}, before.Past.Episode(0).Nodes)
	assert.Equal(t, []int32{0, 1}, s.Freeze().Past.Episode(0).Nodes)
	assert.Equal(t, 1, s.Freeze().Past.N)
	assert.Equal(t, []int{1, 2}, s.Grown("e").Numbers)
}

// As many episodes may grow as there is room for; the others stay as they are.
func TestEpisodesThatMayGrowAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	s := NewState()
	perform := func(episode, step string) {
		s.Perform(&episodic.Performed{Episode: episode, Step: &episodic.Step{ID: step, Tool: "t"}})
	}
	for i := range maxGrowing + 10 {
		perform(fmt.Sprint(i), "1")
	}
	assert.Len(t, s.growing.byID, maxGrowing)
	assert.Nil(t, s.Grown("9"))
	assert.NotNil(t, s.Grown("10"))
	for i := range maxGrowingSteps {
		perform(fmt.Sprint("many", i%500), fmt.Sprint(i))
	}
	assert.LessOrEqual(t, s.growing.steps, maxGrowingSteps)
	n := 0
	for g := range s.growing.all {
		n += len(g.Steps)
	}
	assert.Equal(t, n, s.growing.steps)
}

// A damaged snapshot of what grows is refused.
func TestDamagedGrowthIsRefused(t *testing.T) {
	s := NewState()
	s.Perform(&episodic.Performed{Episode: "e", Step: &episodic.Step{ID: "1", Tool: "tool-x"}})
	var w codec.Writer
	require.NoError(t, s.Image().Write(&w))
	require.NoError(t, func() error { r := codec.NewReader(w.Bytes); ReadState(r); return r.End() }())
	at := bytes.LastIndex(w.Bytes, []byte("tool-x"))
	w.Bytes = slices.Clone(w.Bytes)
	w.Bytes[at] = 'f'
	r := codec.NewReader(w.Bytes)
	ReadState(r)
	assert.ErrorContains(t, r.End(), "never seen")
}

func BenchmarkPerform(b *testing.B) {
	for _, steps := range []int{20, 200, 2000} {
		b.Run(fmt.Sprintf("steps=%d", steps), func(b *testing.B) {
			s := NewState()
			for i := 0; b.Loop(); i++ {
				step := episodic.Step{ID: fmt.Sprint(i % steps), Tool: fmt.Sprint("t", i%17), Outcome: episodic.Success}
				s.Perform(&episodic.Performed{Episode: fmt.Sprint(i / steps), Number: i%steps + 1, Step: &step})
			}
		})
	}
}

// What one episode that may grow takes: 20 steps with 15 digests each.
func BenchmarkGrowingMemory(b *testing.B) {
	var key episodic.DigestKey
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		const episodes, steps = 1000, 20
		s := NewState()
		before := heap()
		for e := range episodes {
			for i := range steps {
				doc := func(n int) json.RawMessage {
					var items []string
					for k := range n {
						items = append(items, fmt.Sprintf("value %d %d %d", e, i, k))
					}
					doc, _ := json.Marshal(map[string]any{"items": items})
					return doc
				}
				step := episodic.Step{ID: fmt.Sprint(i), Tool: fmt.Sprint("t", i), Outcome: episodic.Success, Inputs: key.Digests(doc(3)), Outputs: key.Digests(doc(12))}
				s.Perform(&episodic.Performed{Episode: fmt.Sprint("episode", e), Number: i + 1, Step: &step})
			}
		}
		b.ReportMetric(float64(heap()-before)/episodes, "B/episode")
		runtime.KeepAlive(s)
	}
}
