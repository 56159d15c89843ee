package suggest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/internal/codec"
)

// randomEpisode has groups, dependencies, failures and repeated tools.
func randomEpisode(r *rand.Rand, id string) episodic.Episode {
	outcomes := []episodic.Outcome{episodic.Unknown, episodic.Success, episodic.Failure}
	e := episodic.Episode{ID: id, Source: fmt.Sprint("source", r.IntN(4)), Session: "s", Outcome: outcomes[r.IntN(3)]}
	if r.IntN(3) > 0 {
		e.Intent = fmt.Sprint("intent ", r.IntN(5))
	}
	if r.IntN(4) > 0 {
		e.Time = time.Date(2026, 1, 1+r.IntN(200), r.IntN(24), 0, 0, 0, time.UTC)
	}
	group := 0
	for i := range 1 + r.IntN(9) {
		s := episodic.Step{ID: fmt.Sprint("c", i), Tool: fmt.Sprint("t:", r.IntN(7)), Outcome: outcomes[r.IntN(3)], Shown: max(0, r.IntN(6)-3)}
		if r.IntN(3) == 0 {
			group++
		}
		if r.IntN(4) > 0 {
			s.Group = fmt.Sprint(group)
		} else {
			group++ // what comes after it is another layer
		}
		if r.IntN(2) == 0 {
			s.Inputs = episodic.Digests{"id": {value(r)}}
			s.Outputs = episodic.Digests{"items[].id": {value(r), value(r)}, "id": {value(r)}}
		}
		if i > 0 && r.IntN(4) == 0 {
			s.DependsOn = []string{}
			for range r.IntN(3) {
				s.DependsOn = append(s.DependsOn, fmt.Sprint("c", r.IntN(i)))
			}
		}
		e.Steps = append(e.Steps, s)
	}
	if err := e.Normalise(); err != nil {
		panic(err)
	}
	return e
}

// value is the digest of one of a few values.
func value(r *rand.Rand) string {
	return episodic.DigestKey{}.Digests(json.RawMessage(fmt.Sprintf(`"value %d"`, r.IntN(12))))[""][0]
}

// grow folds an episode step by step, in the given order.
func grow(s *State, e *episodic.Episode, order []int, between func()) {
	head := *e
	head.Steps, head.Outcome = nil, ""
	s.Begin(&head)
	for _, i := range order {
		between()
		step := e.Steps[i]
		s.Perform(&episodic.Performed{Episode: e.ID, Source: e.Source, Time: e.Time, Number: i + 1, Step: &step})
	}
	s.Perform(&episodic.Performed{Episode: e.ID, Source: e.Source, Time: e.Time, Outcome: e.Outcome})
}

// unmeasured is a model of what is counted, with the measures of nothing.
func unmeasured(t *testing.T, s *State) *Model {
	t.Helper()
	measures, err := Measure(t.Context(), NewState().Freeze(), MeasureOptions{})
	require.NoError(t, err)
	m, err := NewModel(s.Freeze(), measures, Stamp{})
	require.NoError(t, err)
	return m
}

// An episode that came step by step counts as one that came whole, bit for bit: whatever is asked on the
// way, and through a snapshot in the middle.
func TestGrownEpisodesCountAsWholeOnes(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	for round := range 60 {
		whole, bySteps := NewState(), NewState()
		for i := range 12 {
			e := randomEpisode(r, fmt.Sprint("e", i))
			whole.Record(&e)
			if r.IntN(4) == 0 {
				bySteps.Record(&e)
				continue
			}
			order := make([]int, len(e.Steps))
			for i := range order {
				order[i] = i
			}
			grow(bySteps, &e, order, func() {
				switch r.IntN(6) {
				case 0:
					bySteps.Freeze()
				case 1:
					var w codec.Writer
					require.NoError(t, bySteps.Image().Write(&w))
					read := codec.NewReader(w.Bytes)
					*bySteps = *ReadState(read)
					require.NoError(t, read.End())
				}
			})
		}
		require.Equal(t, unmeasured(t, whole).Parts(), unmeasured(t, bySteps).Parts(), "round %d", round)
	}
}

// Steps of one group end in any order: the graph is that of the whole episode.
func TestStepsEndInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 2))
	for range 60 {
		whole, bySteps := NewState(), NewState()
		for i := range 10 {
			e := randomEpisode(r, fmt.Sprint("e", i))
			for i := range e.Steps {
				e.Steps[i].DependsOn = nil
			}
			whole.Record(&e)
			var order []int
			for i := 0; i < len(e.Steps); {
				end := i + 1
				for end < len(e.Steps) && e.Steps[i].Group != "" && e.Steps[end].Group == e.Steps[i].Group {
					end++
				}
				part := make([]int, 0, end-i)
				for ; i < end; i++ {
					part = append(part, i)
				}
				r.Shuffle(len(part), func(a, b int) { part[a], part[b] = part[b], part[a] })
				order = append(order, part...)
			}
			// The first of a layer to end may be followed by the next layer before the others end.
			for i := 1; i < len(order); i++ {
				a, b := e.Steps[order[i-1]], e.Steps[order[i]]
				if i > 1 && a.Group != "" && a.Group != b.Group && e.Steps[order[i-2]].Group == a.Group && r.IntN(2) == 0 {
					order[i-1], order[i] = order[i], order[i-1]
				}
			}
			grow(bySteps, &e, order, func() {})
		}
		a, b := unmeasured(t, whole), unmeasured(t, bySteps)
		require.Equal(t, edgesByID(a), edgesByID(b))
		for i, id := range a.ids {
			j, ok := b.find(id)
			require.True(t, ok)
			require.Equal(t, a.uses.At(int32(i)), b.uses.At(j), id)
		}
		require.Equal(t, a.totals, b.totals)
		require.Equal(t, ratesByID(a), ratesByID(b))
		for i := range a.past.n {
			require.Equal(t, names(a, a.past.at(i).nodes), names(b, b.past.at(i).nodes))
			require.Equal(t, a.past.at(i).after, b.past.at(i).after)
		}
	}
}

func edgesByID(m *Model) map[[2]string][2]float64 {
	edges := map[[2]string][2]float64{}
	for e := range m.g.Edges {
		edges[[2]string{m.ids[e.From], m.ids[e.To]}] = [2]float64{e.Weight, float64(e.Count)}
	}
	return edges
}

func ratesByID(m *Model) map[[2]string]episodic.Rate {
	rates := map[[2]string]episodic.Rate{}
	m.rates.All(func(tool, before int32, r episodic.Rate) bool {
		name := ""
		if before != episodic.NoTool {
			name = m.ids[before]
		}
		r.Success, r.Failure = 0, 0 // sums of powers, in another order
		rates[[2]string{m.ids[tool], name}] = r
		return true
	})
	return rates
}

func names(m *Model, nodes []int32) (ids []string) {
	for _, n := range nodes {
		ids = append(ids, m.ids[n])
	}
	return ids
}

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
	assert.Equal(t, []int32{0}, before.past.at(0).nodes)
	assert.Equal(t, []int32{0, 1}, s.Freeze().past.at(0).nodes)
	assert.Equal(t, 1, s.Freeze().past.n)
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
