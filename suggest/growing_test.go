package suggest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/internal/codec"
	"waymark/suggest/history"
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
		s := episodic.Step{ID: fmt.Sprint("c", i), Tool: fmt.Sprint("t:", r.IntN(7)), Outcome: outcomes[r.IntN(3)]}
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

// grow folds an episode step by step, in the given order; the first begun steps are recorded at once.
func grow(s *history.State, e *episodic.Episode, begun int, order []int, between func()) {
	head := *e
	head.Steps, head.Outcome = e.Steps[:begun:begun], ""
	g := &episodic.Grown{Episode: head}
	if begun > 0 {
		s.Record(&head)
		for i := range begun {
			g.Numbers = append(g.Numbers, i+1)
		}
		if begun == len(e.Steps) && !e.Outcome.Known() {
			return
		}
	}
	s.Open(g)
	for _, i := range order[begun:] {
		between()
		step := e.Steps[i]
		s.Perform(&episodic.Performed{Episode: e.ID, Source: e.Source, Time: e.Time, Number: i + 1, Step: &step})
	}
	s.Perform(&episodic.Performed{Episode: e.ID, Source: e.Source, Time: e.Time, Outcome: e.Outcome})
}

// unmeasured is a model of what is counted, with the measures of nothing.
func unmeasured(t *testing.T, s *history.State) *Model {
	t.Helper()
	measures, err := Measure(t.Context(), history.NewState().Freeze(), MeasureOptions{WithoutLearned: true})
	require.NoError(t, err)
	m, err := NewModel(s.Freeze(), measures, Stamp{})
	require.NoError(t, err)
	return m
}

// An episode that came step by step, or was recorded as far as it was done and continued, counts as one that came whole,
// bit for bit: whatever is asked on the way, and through a snapshot in the middle.
func TestGrownEpisodesCountAsWholeOnes(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	for round := range 30 {
		whole, bySteps := history.NewState(), history.NewState()
		between := func() {
			switch r.IntN(6) {
			case 0:
				bySteps.Freeze()
			case 1:
				read := codec.NewReader(writtenState(t, bySteps.Image()))
				*bySteps = *history.ReadState(read)
				require.NoError(t, read.End())
			}
		}
		for i := range 12 {
			e := randomEpisode(r, fmt.Sprint("e", i))
			whole.Record(&e)
			order := make([]int, len(e.Steps))
			for i := range order {
				order[i] = i
			}
			switch r.IntN(5) {
			case 0:
				bySteps.Record(&e)
			case 1, 2:
				grow(bySteps, &e, 1+r.IntN(len(e.Steps)), order, between)
			default:
				grow(bySteps, &e, 0, order, between)
			}
		}
		require.Equal(t, unmeasured(t, whole).Parts(), unmeasured(t, bySteps).Parts(), "round %d", round)
	}
}

// Steps of one group end in any order: the graph is that of the whole episode.
func TestStepsEndInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 2))
	for range 20 {
		whole, bySteps := history.NewState(), history.NewState()
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
			grow(bySteps, &e, 0, order, func() {})
		}
		a, b := unmeasured(t, whole), unmeasured(t, bySteps)
		require.Equal(t, edgesByID(a), edgesByID(b))
		for i, id := range a.IDs {
			j, ok := b.Find(id)
			require.True(t, ok)
			require.Equal(t, a.Usage.At(int32(i)), b.Usage.At(j), id)
		}
		require.Equal(t, a.Totals, b.Totals)
		require.Equal(t, ratesByID(a), ratesByID(b))
		for i := range a.Past.N {
			require.Equal(t, names(a, a.Past.Episode(i).Nodes), names(b, b.Past.Episode(i).Nodes))
			require.Equal(t, a.Past.Episode(i).Before, b.Past.Episode(i).Before)
		}
	}
}

func edgesByID(m *Model) map[[2]string][2]float64 {
	edges := map[[2]string][2]float64{}
	for e := range m.Graph.Edges {
		edges[[2]string{m.IDs[e.From], m.IDs[e.To]}] = [2]float64{e.Weight, float64(e.Count)}
	}
	return edges
}

func ratesByID(m *Model) map[[2]string]episodic.Rate {
	rates := map[[2]string]episodic.Rate{}
	m.Rates.All(func(tool, before int32, r episodic.Rate) bool {
		name := ""
		if before != episodic.NoTool {
			name = m.IDs[before]
		}
		r.Success, r.Failure = 0, 0 // sums of powers, in another order
		rates[[2]string{m.IDs[tool], name}] = r
		return true
	})
	return rates
}

func names(m *Model, nodes []int32) (ids []string) {
	for _, n := range nodes {
		ids = append(ids, m.IDs[n])
	}
	return ids
}
