package suggest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest/history"
)

func digests(doc string) episodic.Digests {
	return episodic.DigestKey{}.Digests(json.RawMessage(doc))
}

// tickets is a history of search, open and comment, whose values say how they belong together.
func tickets(t *testing.T, schemas bool) *Model {
	t.Helper()
	s := history.NewState()
	if schemas {
		tool := func(id, in, out string) {
			s.PutTool(catalog.Tool{ID: id, Name: id, InputSchema: json.RawMessage(in), OutputSchema: json.RawMessage(out)})
		}
		tool("desk:search", `{"type":"object","required":["query"],"properties":{"query":{"type":"string"}}}`, `{"type":"object","properties":{"hits":{"type":"array"}}}`)
		tool("desk:open", `{"type":"object","required":["ref"],"properties":{"ref":{"type":"string"},"team":{"type":"string"}}}`, `{"type":"object","properties":{"author":{"type":"integer"}}}`)
		tool("desk:comment", `{"type":"object","required":["ref","body"],"properties":{"ref":{"type":"string"},"body":{"type":"string"},"to":{"type":"string"},"tags":{"type":"array"}}}`, ``)
	}
	for i := range 8 {
		key := fmt.Sprintf("T-%d", 1000+i)
		e := episodic.Episode{ID: fmt.Sprint(i), Intent: fmt.Sprintf("answer the ticket about printer %d", i), Steps: []episodic.Step{
			{Tool: "desk:search", Inputs: digests(fmt.Sprintf(`{"query":"printer %d"}`, i)),
				Outputs: digests(fmt.Sprintf(`{"hits":[{"ref":"%s"},{"ref":"other-%d"}],"tags":["tag-%d","tog-%d"]}`, key, i, i, i))},
			{Tool: "desk:open", Inputs: digests(fmt.Sprintf(`{"ref":"%s","team":"all of us"}`, key)),
				Outputs: digests(fmt.Sprintf(`{"author":%d,"team":"all of us"}`, 5000+i))},
			{Tool: "desk:comment", Inputs: digests(fmt.Sprintf(`{"ref":"%s","to":"%d","body":"words %d","tags":["tag-%d"],"deep":{"er":"%s"}}`, key, 5000+i, i, i, key))},
		}}
		require.NoError(t, e.Normalise())
		s.Record(&e)
	}
	c := s.Freeze()
	measures, err := Measure(t.Context(), c, MeasureOptions{})
	require.NoError(t, err)
	m, err := NewModel(c, measures, Stamp{})
	require.NoError(t, err)
	return m
}

// Arguments of a plan come from where their values were seen to come from, with the counts; as far as the
// schemas agree.
func TestPlansAreWired(t *testing.T) {
	for _, schemas := range []bool{false, true} {
		t.Run(fmt.Sprint("schemas ", schemas), func(t *testing.T) {
			m := tickets(t, schemas)
			a, err := m.Plan(DAGRequest{Intent: "answer the ticket about printer 3", MaxSteps: 3})
			require.NoError(t, err)
			tasks := map[string]Task{}
			for _, task := range a.DAG.Tasks {
				tasks[task.Tool] = task
			}
			require.Len(t, tasks, 3, "%v", a.DAG.Tasks)
			require.Equal(t, []string{"t1", "t2", "t3"}, []string{tasks["desk:search"].ID, tasks["desk:open"].ID, tasks["desk:comment"].ID})
			assert.Equal(t, Argument{"t1.result.hits[0].ref"}, tasks["desk:open"].Arguments["ref"])
			assert.Equal(t, []Wired{{"ref", "t1.result.hits[0].ref", 8, 8}}, tasks["desk:open"].Wired)
			assert.NotContains(t, tasks["desk:open"].Arguments, "team", "it is always the same")
			last := tasks["desk:comment"]
			assert.Equal(t, Argument{"t1.result.hits[0].ref"}, last.Arguments["ref"])
			assert.Equal(t, Argument{"t1.result.tags"}, last.Arguments["tags"])
			assert.NotContains(t, last.Arguments, "body")
			assert.NotContains(t, last.Arguments, "deep")
			if schemas { // a number is no text
				assert.NotContains(t, last.Arguments, "to")
			} else {
				assert.Equal(t, Argument{"t2.result.author"}, last.Arguments["to"])
			}
		})
	}
}

// What is wired is part of the model: it is in its hash, and comes back from a snapshot.
func TestWiresArePartOfTheModel(t *testing.T) {
	hash := func(m *Model) string {
		for _, p := range m.Parts() {
			if p.Name == "wiring" {
				return p.Hash
			}
		}
		return ""
	}
	m, none := tickets(t, false), unmeasured(t, history.NewState())
	assert.NotEmpty(t, hash(m))
	assert.NotEqual(t, hash(none), hash(m))
}
