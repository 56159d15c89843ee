package live

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest"
)

// answersOf is all that a model says, but for which model it is.
func answersOf(t *testing.T, m *suggest.Model) string {
	x, err := m.Export("", 0)
	require.NoError(t, err)
	x.Model = suggest.ModelInfo{}
	var all []any
	all = append(all, m.Hash(), x)
	s := m.Stats()
	s.Model = suggest.ModelInfo{Nodes: s.Model.Nodes, Edges: s.Model.Edges, Density: s.Model.Density}
	all = append(all, s)
	for _, n := range x.Nodes {
		a, err := m.Next(suggest.NextRequest{Context: []string{n.ID}})
		require.NoError(t, err)
		a.Model = suggest.ModelInfo{}
		a.SuggestionID = ""
		all = append(all, a)
	}
	a, err := m.Search(suggest.SearchRequest{Query: "thing kind two"})
	require.NoError(t, err)
	a.Model = suggest.ModelInfo{}
	a.SuggestionID = ""
	all = append(all, a)
	b, err := json.MarshalIndent(all, "", " ")
	require.NoError(t, err)
	return string(b)
}

// Whatever is recorded, put, removed, forgotten, built, canceled and restarted, in odd spellings: the running
// model, a replay and a restart hash alike and give the same answers.
func TestWhateverHappens(t *testing.T) {
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 77))
		store := memory(t)
		e, end := reopened(t, store)
		ids := []string{}
		for i := range 12 {
			ids = append(ids, fmt.Sprintf("s%d:t%d", i%3, i), fmt.Sprintf("mcp__s%d__t%d", i%3, i), fmt.Sprintf("s%d__t%d", i%3, i), fmt.Sprintf("s%d.t%d", i%3, i))
		}
		ids = append(ids, "wörk:日本", "wo\u0308rk:日本", "plain", "mcp__w-x__y z", "w_x:y_z", "w-x:y.z")
		id := func() string { return ids[r.IntN(len(ids))] }
		n := 0
		for range 80 {
			switch r.IntN(12) {
			case 0, 1:
				_, err := e.PutTools(ctx, []catalog.Tool{{ID: id(), Description: fmt.Sprint("thing of kind ", r.IntN(3)), InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","description":"<b>&"},"a":{"type":"number"}}}`)}}, Approver)
				require.NoError(t, err)
			case 2:
				_, err := e.PutCapabilities(ctx, []catalog.Capability{{ID: fmt.Sprint("cap:", r.IntN(4)), Name: "N", Tools: []string{id(), id(), id()}}}, Approver)
				require.NoError(t, err)
			case 3:
				_, err := e.Remove(ctx, catalog.KindTool, id(), Approver)
				require.NoError(t, err)
			case 4:
				e.Feedback(ctx, fmt.Sprint("src", r.IntN(3)), Feedback{Context: []string{id()}, ID: id(), Outcome: episodic.Failure})
			case 5:
				if r.IntN(3) == 0 {
					_, err := e.Forget(ctx, Selection{Source: fmt.Sprint("src", r.IntN(5))})
					require.NoError(t, err)
				}
			case 6:
				if r.IntN(2) == 0 {
					_, err := e.Build(ctx)
					require.NoError(t, err)
				}
			case 7:
				if r.IntN(2) == 0 {
					j, err := e.Rebuild(false, false)
					require.NoError(t, err)
					if r.IntN(2) == 0 {
						e.CancelJob(j.ID)
					}
				}
			case 8:
				if r.IntN(3) == 0 {
					end()
					e, end = reopened(t, store)
				}
			default:
				n++
				ep := episodic.Episode{ID: fmt.Sprint("e", n), Intent: fmt.Sprint("do kind ", r.IntN(4))}
				if r.IntN(2) == 0 {
					ep.Time = time.Date(2026, 1, 1+r.IntN(200), 1, 2, 3, r.IntN(1e9), time.FixedZone("x", 3600*r.IntN(5)))
				}
				for range 1 + r.IntN(5) {
					ep.Steps = append(ep.Steps, episodic.Step{Tool: id(), Outcome: []episodic.Outcome{"", episodic.Success, episodic.Failure}[r.IntN(3)]})
				}
				_, err := e.Record(ctx, fmt.Sprint("src", r.IntN(5)), []episodic.Episode{ep})
				require.NoError(t, err)
			}
		}
		settled(t, e)
		_, err := e.Build(ctx)
		require.NoError(t, err)
		settled(t, e)
		_, err = e.Record(ctx, "src0", []episodic.Episode{episode("last", id(), id(), id())})
		require.NoError(t, err)
		settled(t, e)
		require.NoError(t, e.Wait(ctx, e.Counted()))
		verify(t, e)
		now := e.current.Load() // a build may end at any time
		running := answersOf(t, now.model)
		h, _, err := replay(ctx, e.read, nil, 0, now.built, e.measure, nil)
		require.NoError(t, err)
		m, err := h.model()
		require.NoError(t, err)
		require.Equal(t, answersOf(t, m), running, "seed %d", seed)
		end()
		e, end = reopened(t, store)
		settled(t, e)
		restarted := answersOf(t, e.Model())
		if e.current.Load().built == h.built.seq {
			require.Equal(t, running, restarted, "seed %d", seed)
		}
		verify(t, e)
		end()
	}
}
