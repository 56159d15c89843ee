package mine

import (
	"encoding/json"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/score"
)

// world is a small history.
type world struct {
	episodes []episodic.Episode
	tools    map[string]catalog.Tool
	caps     []catalog.Capability
	key      episodic.DigestKey
}

func (w *world) history() History {
	return History{
		Episodes: func() iter.Seq2[*episodic.Episode, error] {
			return func(yield func(*episodic.Episode, error) bool) {
				for i := range w.episodes {
					if !yield(&w.episodes[i], nil) {
						return
					}
				}
			}
		},
		Tool:         func(id string) (catalog.Tool, bool) { t, ok := w.tools[id]; return t, ok },
		Capabilities: w.caps,
	}
}

func (w *world) tool(t *testing.T, id, input string) {
	if w.tools == nil {
		w.tools = map[string]catalog.Tool{}
	}
	tool := catalog.Tool{ID: id, InputSchema: json.RawMessage(input)}
	require.NoError(t, tool.Normalise())
	w.tools[id] = tool
}

func (w *world) episode(t *testing.T, intent string, outcome episodic.Outcome, steps ...episodic.Step) {
	e := episodic.Episode{ID: fmt.Sprint("e", len(w.episodes)), Intent: intent, Outcome: outcome, Steps: steps}
	require.NoError(t, e.Normalise())
	w.episodes = append(w.episodes, e)
}

// call is a step with arguments and a result, of which a history keeps shape and digests.
func (w *world) call(tool, shape, arguments, result string) episodic.Step {
	return episodic.Step{Tool: tool, Shape: shape, Inputs: w.key.Digests(json.RawMessage(arguments)), Outputs: w.key.Digests(json.RawMessage(result))}
}

// triage is a company of three tools: find an alert, read the logs of its service since then, and open an
// issue in a repository.
func triage(t *testing.T) *world {
	w := &world{}
	w.tool(t, "mon:find_alert", `{"type":"object","properties":{"service":{"type":"string","description":"Its name."}},"required":["service"]}`)
	w.tool(t, "mon:read_logs", `{"type":"object","properties":{"service":{"type":"string"},"alert_id":{"type":"string"}},"required":["service","alert_id"]}`)
	w.tool(t, "tracker:create_issue", `{"type":"object","properties":{"repo":{"type":"string"},"title":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}}},"required":["repo","title"]}`)
	w.tool(t, "mail:send", `{"type":"object"}`)
	for i, service := range []string{"checkout", "billing", "search", "checkout"} {
		w.episode(t, "Triage the incident of "+service+", please", episodic.Success,
			w.call("mon:find_alert", "{service:string}", fmt.Sprintf(`{"service":%q}`, service), fmt.Sprintf(`{"alerts":[{"id":"al-%d"}],"service":%q}`, i, service)),
			w.call("mon:read_logs", "{alert_id:string,service:string}", fmt.Sprintf(`{"service":%q,"alert_id":"al-%d"}`, service, i), fmt.Sprintf(`{"lines":[{"text":"error %d"},{"text":"broken %d"}]}`, i, i)),
			w.call("tracker:create_issue", "{repo:string,title:string}", fmt.Sprintf(`{"repo":"acme/web","title":"broken %d"}`, i), `{"number":1234}`),
		)
	}
	for i := range 3 {
		w.episode(t, "tell them", episodic.Failure, episodic.Step{Tool: "mail:send"}, episodic.Step{Tool: fmt.Sprint("odd:", i)}, episodic.Step{Tool: "mon:find_alert"})
	}
	return w
}

// one is a result with a single proposal.
func one(t *testing.T, w *world, o Options) Report {
	t.Helper()
	r, err := Propose(w.history(), o)
	require.NoError(t, err)
	require.Len(t, r.Proposals, 1)
	return r
}

// One proposal worked through by hand.
func TestAProposal(t *testing.T) {
	r := one(t, triage(t), Options{})
	p := r.Proposals[0]
	c := p.Capability
	assert.Equal(t, "Triage incident: find alert … create issue", c.Name)
	assert.Equal(t, "triage incident", c.Intent, "names of services are not common")
	assert.Equal(t, "Find alert, then read logs, then create issue. Mined from 4 tasks of 4 sessions that did so.", c.Description)
	assert.Equal(t, []string{"mined"}, c.Tags)
	assert.Equal(t, "mined:triage-incident-"+p.ID[1:7], c.ID)
	assert.Equal(t, []string{"mon:find_alert", "mon:read_logs", "tracker:create_issue"}, c.Tools)
	for i, want := range []string{
		`{"id":"t1","tool":"mon:find_alert","arguments":{"service":{"$from":"params.service"}}}`,
		`{"id":"t2","tool":"mon:read_logs","depends_on":["t1"],"arguments":{"alert_id":{"$from":"t1.result.alerts[0].id"},"service":{"$from":"params.service"}}}`,
		`{"id":"t3","tool":"tracker:create_issue","depends_on":["t2"],"arguments":{"repo":{"$from":"params.repo"},"title":{"$from":"params.title"}}}`,
	} {
		got, err := json.Marshal(c.Tasks[i])
		require.NoError(t, err)
		assert.JSONEq(t, want, string(got))
	}
	assert.JSONEq(t, `{"type":"object","properties":{"service":{"type":"string","description":"Its name."},"repo":{"type":"string"},"title":{"type":"string"}},"required":["repo","service","title"]}`, string(c.InputSchema))
	require.NoError(t, c.Normalise(), "it can be put and run as it stands")
	require.Len(t, p.Notes, 1, "a title is one of two lines of the logs: which one, nobody knows")
	assert.Contains(t, p.Notes[0], "t3.title is one of several values at lines[].text")

	assert.Equal(t, Evidence{
		Tasks: 4, Sessions: 4, Together: 4, All: 4, Succeeded: 4, Known: 4, BaseRate: 12. / 15, Saved: 8, Calls: 21, Examples: []string{"e3", "e2", "e1", "e0"},
	}, p.Evidence)
	scores := map[string]string{}
	for _, s := range p.Scores {
		scores[s.Dimension] = s.Score.String()
		assert.NotEmpty(t, s.Explanation)
	}
	// support: 10·log2(1 + 4/3)/log2(33) = 2.42; success: 5 + 10·(5/6 - 12/15) = 5.33
	assert.Equal(t, map[string]string{"support": "2.42", "success": "5.33", "cohesion": "10", "savings": "10", "novelty": "10"}, scores)
	assert.Equal(t, "7.55", p.Composite.String(), ".2·2.42 + .2·5.33 + .25·10 + .2·10 + .15·10")
	assert.Equal(t, "recommended", p.Verdict)
	assert.Equal(t, 1, p.Rank)
}

func TestWhatACapabilityDoesAlreadyIsNotProposed(t *testing.T) {
	w := triage(t)
	w.caps = []catalog.Capability{{ID: "cap:other", Tools: []string{"mail:send", "mon:find_alert"}}}
	r := one(t, w, Options{})
	assert.Equal(t, "cap:other", r.Proposals[0].Evidence.Nearest)
	assert.Equal(t, .25, r.Proposals[0].Evidence.Jaccard)
	w.caps = append(w.caps, r.Proposals[0].Capability)
	r, err := Propose(w.history(), Options{})
	require.NoError(t, err)
	assert.Empty(t, r.Proposals)
	assert.Equal(t, 1, r.Weak)
}

// Calls of capabilities stand apart: nothing leads through them.
func TestCapabilitiesStandApart(t *testing.T) {
	w := &world{caps: []catalog.Capability{{ID: "cap:x", Tools: []string{"z"}}}}
	for range 4 {
		w.episode(t, "", "", episodic.Step{Tool: "a"}, episodic.Step{Tool: "cap:x"}, episodic.Step{Tool: "b"})
	}
	r, err := Propose(w.history(), Options{})
	require.NoError(t, err)
	assert.Empty(t, r.Proposals)
}

// Tools of no catalog can be suggested, not run: such a proposal is possible at best, and says so.
func TestUnknownTools(t *testing.T) {
	w := triage(t)
	delete(w.tools, "mon:read_logs")
	r := one(t, w, Options{})
	assert.Equal(t, "possible", r.Proposals[0].Verdict)
	assert.Contains(t, r.Proposals[0].Notes, "mon:read_logs is in no catalog: it can be suggested, not run")
}

// Without shapes and digests the parameters are what the tools require.
func TestParametersFromSchemasAlone(t *testing.T) {
	w := triage(t)
	for i := range w.episodes {
		for j := range w.episodes[i].Steps {
			s := &w.episodes[i].Steps[j]
			s.Shape, s.Inputs, s.Outputs = "", nil, nil
		}
	}
	c := one(t, w, Options{}).Proposals[0].Capability
	assert.JSONEq(t, `{"$from":"params.service"}`, string(c.Tasks[0].Arguments["service"]))
	assert.JSONEq(t, `{"$from":"params.t2_service"}`, string(c.Tasks[1].Arguments["service"]), "nobody knows whether it is the same one")
	assert.NotContains(t, c.Tasks[2].Arguments, "labels")
}

// A rubric of one's own may weigh otherwise, but asks for what a history tells.
func TestOwnRubric(t *testing.T) {
	own, err := score.Load([]byte(`
id: mine
dimensions:
  - {name: savings, weight: 1, scale: {min: 0, max: 10}}
bands: [{verdict: yes_please, at_least: 9}, {verdict: no_thanks, fails: true}]
`))
	require.NoError(t, err)
	assert.Equal(t, "yes_please", one(t, triage(t), Options{Rubric: own}).Proposals[0].Verdict)
	for text, problem := range map[string]string{
		"id: x\ndimensions: [{name: beauty, weight: 1, scale: {min: 0, max: 10}}]":  `dimension "beauty" cannot be scored from a history`,
		"id: x\ndimensions: [{name: support, weight: 1, scale: {min: 1, max: 5}}]":  `the scores of a history go from 0 to 10`,
		"id: x\ndimensions: [{name: success, weight: 1, scale: {min: 0, max: 10}}]": `has to be conditional`,
	} {
		bad, err := score.Load([]byte(text))
		require.NoError(t, err)
		_, err = Propose(triage(t).history(), Options{Rubric: bad})
		assert.ErrorContains(t, err, problem)
	}
}

// Older episodes than are asked for are not looked at.
func TestTheNewestEpisodes(t *testing.T) {
	w := triage(t)
	for range 2 {
		w.episodes = append(w.episodes, w.episodes...)
	}
	for i := range w.episodes {
		w.episodes[i].ID = fmt.Sprint("n", i)
	}
	all, err := Propose(w.history(), Options{})
	require.NoError(t, err)
	r := one(t, w, Options{Newest: 7})
	assert.Equal(t, 7, r.Episodes)
	assert.Equal(t, all.Proposals[0].ID, r.Proposals[0].ID)
	assert.Equal(t, 4, r.Proposals[0].Evidence.Tasks)
	assert.Equal(t, "n24", r.Proposals[0].Evidence.Examples[0])
}

func TestStopped(t *testing.T) {
	_, err := Propose(triage(t).history(), Options{Stop: func() bool { return true }})
	assert.ErrorIs(t, err, ErrStopped)
}
