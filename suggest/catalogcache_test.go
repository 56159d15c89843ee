package suggest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
)

// Models of one catalog and several histories, side by side and in turn, are those made without a shelf, bit
// for bit, and answer alike; also after another catalog, and where ids are spelled in several ways.
func TestAShelfChangesNoModel(t *testing.T) {
	var tools []catalog.Tool
	for i := range 30 {
		server := string(rune('a' + i%3))
		tools = append(tools, catalog.Tool{
			ID: fmt.Sprintf("%s:t%d", server, i), Server: server, Description: fmt.Sprintf("does %d and prints form_%d", i%7, i),
			InputSchema: []byte(fmt.Sprintf(`{"type":"object","properties":{"part_%d":{"type":"string"}}}`, i%5)),
		})
	}
	capability := []catalog.Capability{{ID: "cap:1", Name: "both", Description: "does 1 and 2", Tools: []string{"a:t0", "b:t1"}}}
	spelled := []catalog.Capability{{ID: "cap:1", Tools: []string{"a.t0", "b:t1"}}}
	episodes := func(seed uint64) []episodic.Episode {
		r := rand.New(rand.NewPCG(seed, 0))
		all := make([]episodic.Episode, 60)
		for i := range all {
			e := &all[i]
			e.ID, e.Intent, e.Time = fmt.Sprint(i), fmt.Sprintf("do %d with parts", r.IntN(7)), time.Unix(1_700_000_000+int64(i), 0).UTC()
			for range 2 + r.IntN(3) {
				id := tools[r.IntN(12)].ID
				switch r.IntN(30) {
				case 0:
					id = "mcp__" + id[:1] + "__" + id[2:]
				case 1:
					id = fmt.Sprint("new:", r.IntN(3))
				}
				e.Steps = append(e.Steps, episodic.Step{Tool: id})
			}
			require.NoError(t, e.Normalise())
		}
		return all
	}
	build := func(s *CatalogCache, tools []catalog.Tool, caps []catalog.Capability, seed uint64) *Model {
		state := s.State(tools, caps)
		for _, e := range episodes(seed) {
			state.Record(&e)
		}
		c := state.Freeze()
		measures, err := Measure(t.Context(), c, MeasureOptions{Learn: true, CatalogCache: s})
		require.NoError(t, err)
		m, err := NewModel(c, measures, Stamp{Version: "sha256:test", Seq: 1})
		require.NoError(t, err)
		return m
	}
	answers := func(m *Model) (all []any) {
		for _, intent := range []string{"do 3 with parts", "print form_25"} {
			a, err := m.Next(NextRequest{Context: []string{"a:t0", "b:t1"}, Intent: intent, Profile: ProfileLearned, Limit: MaxLimit})
			require.NoError(t, err)
			p, err := m.Plan(DAGRequest{Intent: intent, Profile: ProfileLearned})
			require.NoError(t, err)
			f, err := m.Search(SearchRequest{Query: intent, Profile: ProfileSeed, Limit: MaxLimit})
			require.NoError(t, err)
			all = append(all, a, p, f)
		}
		return append(all, m.Hash(), written(m.measures.learning.fitted()))
	}
	shelf := new(CatalogCache)
	for _, c := range []struct {
		tools []catalog.Tool
		caps  []catalog.Capability
		seed  uint64
	}{{tools, capability, 1}, {tools[:25], nil, 1}, {tools, spelled, 2}, {tools, capability, 1}} {
		want := answers(build(nil, c.tools, c.caps, c.seed))
		assert.Equal(t, want, answers(build(shelf, c.tools, c.caps, c.seed)))
	}
	first, second := build(shelf, tools, capability, 1), build(shelf, tools, capability, 4)
	assert.Equal(t, answers(build(nil, tools, capability, 1)), answers(first), "whoever comes later changes nothing")
	assert.Equal(t, answers(build(nil, tools, capability, 4)), answers(second))
}
