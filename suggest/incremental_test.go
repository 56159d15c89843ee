package suggest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest/history"
)

// event is one thing that can happen to a state.
type event func(s *history.State)

// history draws events: episodes, feedback, tools and capabilities put and removed. Tools go by
// several spellings, and the catalog that makes one tool of them may come before or after. Some are of a host.
func randomEvents(t testing.TB, r *rand.Rand, n int) []event {
	spellings := []string{"%s:%s", "%s.%s", "mcp__%s__%s", "%s/%s"}
	id := func(spelling string) string {
		return fmt.Sprintf(spelling, string(rune('a'+r.IntN(3))), string(rune('p'+r.IntN(5))))
	}
	any := func() string {
		if r.IntN(12) == 0 {
			return fmt.Sprintf("cap:%d", r.IntN(3))
		}
		if r.IntN(12) == 0 {
			return []string{"Bash", "Read"}[r.IntN(2)]
		}
		return id(spellings[min(len(spellings)-1, int(r.ExpFloat64()))])
	}
	outcome := func() episodic.Outcome {
		return []episodic.Outcome{episodic.Unknown, episodic.Success, episodic.Failure}[r.IntN(3)]
	}
	events := make([]event, n)
	for i := range events {
		at := time.Unix(1_700_000_000+int64(r.IntN(1e7)), 0).UTC()
		switch p := r.IntN(20); {
		case p == 0:
			tool := catalog.Tool{ID: id("%s:%s"), Description: fmt.Sprintf("does %d", r.IntN(9))}
			if r.IntN(8) == 0 {
				tool.ID = "Bash"
			}
			events[i] = func(s *history.State) { s.PutTool(tool) }
		case p == 1:
			c := catalog.Capability{ID: fmt.Sprintf("cap:%d", r.IntN(3)), Tools: []string{any(), any(), any()}}
			events[i] = func(s *history.State) { s.PutCapability(c) }
		case p == 2:
			gone := any()
			events[i] = func(s *history.State) { s.Remove(gone) }
		case p < 6:
			before, tool, o, source := any(), any(), outcome(), fmt.Sprint(r.IntN(5))
			events[i] = func(s *history.State) { s.Feedback([]string{before}, tool, o, at, source) }
		default:
			e := episodic.Episode{ID: fmt.Sprint(i), Time: at, Source: fmt.Sprint(r.IntN(5)), Intent: fmt.Sprintf("do %d", r.IntN(7)), Outcome: outcome()}
			if r.IntN(4) == 0 {
				e.Time = time.Time{}
			}
			for range 1 + r.IntN(6) {
				e.Steps = append(e.Steps, episodic.Step{Tool: any(), Outcome: outcome()})
			}
			require.NoError(t, e.Normalise())
			events[i] = func(s *history.State) { s.Record(&e) }
		}
	}
	return events
}

// Whatever happens, and however often it was shown in between: a model is the one of a state that
// folded the same events and was frozen once. Models shown before stay as they are.
func TestModelsDoNotDependOnWhatWasShownBefore(t *testing.T) {
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 7))
		events := randomEvents(t, r, 150)
		s := history.NewState()
		type shown struct {
			*Model
			parts []Part
		}
		var models []shown
		for i, e := range events {
			e(s)
			if r.IntN(20) > 0 && i < len(events)-1 {
				continue
			}
			fresh := history.NewState()
			for _, e := range events[:i+1] {
				e(fresh)
			}
			want, got := fresh.Freeze(), s.Freeze()
			measures, err := Measure(context.Background(), got, MeasureOptions{WithoutSpectral: true, WithoutLearned: true})
			require.NoError(t, err)
			again, err := Measure(context.Background(), want, MeasureOptions{WithoutSpectral: true, WithoutLearned: true})
			require.NoError(t, err)
			m, err := NewModel(got, measures, Stamp{})
			require.NoError(t, err)
			w, err := NewModel(want, again, Stamp{})
			require.NoError(t, err)
			require.Equal(t, w.Parts(), m.Parts(), "seed %d, %d events", seed, i+1)
			require.Equal(t, w.Info(), m.Info())
			require.Equal(t, w.Stats(), m.Stats())
			require.Equal(t, w.Start(), m.Start())
			for n := range int32(len(w.IDs)) {
				require.Equal(t, []any{w.Removed(n), w.Kind(n), w.CapabilityTools(n), w.ToolCapabilities(n)}, []any{m.Removed(n), m.Kind(n), m.CapabilityTools(n), m.ToolCapabilities(n)})
			}
			before, err := w.Export("", 0)
			require.NoError(t, err)
			after, err := m.Export("", 0)
			require.NoError(t, err)
			require.Equal(t, before, after)
			models = append(models, shown{m, m.Parts()})
		}
		for i, m := range models {
			require.Equal(t, m.parts, m.Parts(), "seed %d, model %d changed after it was shown", seed, i)
		}
	}
}

// Readers ask a model while its state goes on; what they are told does not change.
func TestReadersOfOlderModels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	events := randomEvents(t, r, 160)
	s := history.NewState()
	for _, e := range events[:80] {
		e(s)
	}
	measures, err := Measure(context.Background(), s.Freeze(), MeasureOptions{})
	require.NoError(t, err)
	ask := func(m *Model) []any {
		var answers []any
		for _, id := range []string{"a:p", "b.q", "c:r", "mcp__a__s", "cap:1"} {
			n, err := m.Next(NextRequest{Context: []string{id}, Limit: 20})
			if assert.NoError(t, err) {
				answers = append(answers, n)
			}
		}
		d, err := m.Plan(DAGRequest{Intent: "do 3"})
		if assert.NoError(t, err) {
			answers = append(answers, d)
		}
		return append(answers, m.Stats())
	}
	var readers sync.WaitGroup
	for i, e := range events[80:] {
		m, err := NewModel(s.Freeze(), measures, Stamp{Version: fmt.Sprint(i)})
		require.NoError(t, err)
		if i%10 == 0 {
			first := ask(m)
			readers.Go(func() {
				for range 5 {
					assert.Equal(t, first, ask(m))
				}
			})
		}
		e(s)
	}
	readers.Wait()
}
