package contribution

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func updates(t *testing.T, json ...string) []Update {
	t.Helper()
	var list []Update
	for _, j := range json {
		deltas, dropped, err := Parse(fenced(j))
		require.NoError(t, err)
		require.Empty(t, dropped)
		require.Len(t, deltas, 1)
		list = append(list, Update{Delta: deltas[0]})
	}
	return list
}

func edit(s Section, id, payload string) string {
	return fmt.Sprintf(`{"operation": "EDIT", "section": "%s", "target_id": "%s", "payload": %s, "rationale": "r"}`, s, id, payload)
}

func killOf(s Section, id string) string {
	return fmt.Sprintf(`{"operation": "KILL", "section": "%s", "target_id": "%s", "payload": {"reason": "why"}, "rationale": "r"}`, s, id)
}

func merged(t *testing.T, base Artifact, list []Update) Merged {
	t.Helper()
	m, err := Merge(base, list)
	require.NoError(t, err)
	return m
}

// The rules of brenner_bot's merge (artifact-merge.ts and artifact_delta_spec_v0.1), each with its outcome.
func TestMergeRules(t *testing.T) {
	base := func() Artifact {
		return Artifact{Sections: Parts{
			HypothesisSlate: []Item{{"id": "H1", "name": "a", "anchors": []any{"§1"}}, {"id": "H2", "killed": true, "kill_reason": "old"},
				{"id": "H3", "name": "Third Alternative"}},
			DiscriminativeTests: []Item{{"id": "T1"}, {"id": "T5", "score": map[string]any{"cost": 2.0}}},
			AssumptionLedger:    []Item{{"id": "A1", "scale_check": true}},
		}}
	}
	for name, tt := range map[string]struct {
		deltas []string
		want   []string // status, id and reason of each
		check  func(*testing.T, Artifact)
		warns  []string
	}{
		"the next id is one more than the largest, gaps stay": {[]string{test}, []string{"applied T6"}, func(t *testing.T, a Artifact) {
			assert.Equal(t, []string{"T6", "T5", "T1"}, ids(a.Sections.DiscriminativeTests), "and tests are sorted by their scores")
		}, nil},
		"the id of a killed item is not used again": {[]string{killOf(hypothesisSlate, "H3"), third}, []string{"applied H3", "applied H4"}, nil, []string{"no_third_alternative"}},
		"at most six active":                        {[]string{third, third, third, third, third}, []string{"applied H4", "applied H5", "applied H6", "applied H7", "rejected  there are 6 active hypotheses already; KILL one first"}, nil, nil},
		"a kill makes room":                         {[]string{third, third, third, third, killOf(hypothesisSlate, "H1"), third}, []string{"applied H4", "applied H5", "applied H6", "applied H7", "applied H1", "applied H8"}, nil, nil},
		"lists are united": {[]string{edit(hypothesisSlate, "H1", `{"anchors": ["§2", "§1"]}`)}, []string{"applied H1"}, func(t *testing.T, a Artifact) {
			assert.Equal(t, []any{"§1", "§2"}, a.Sections.HypothesisSlate[0]["anchors"])
		}, nil},
		"replace":               {[]string{edit(hypothesisSlate, "H1", `{"anchors": ["§2"], "replace": true}`)}, []string{"applied H1"}, replaced, nil},
		"anchors_replace":       {[]string{edit(hypothesisSlate, "H1", `{"anchors": ["§2"], "anchors_replace": true}`)}, []string{"applied H1"}, replaced, nil},
		"replace_anchors":       {[]string{edit(hypothesisSlate, "H1", `{"anchors": ["§2"], "replace_anchors": true}`)}, []string{"applied H1"}, replaced, nil},
		"edit of a killed item": {[]string{edit(hypothesisSlate, "H2", `{"name": "z"}`)}, []string{"skipped H2 H2 was killed; to bring it back, ADD it anew"}, nil, nil},
		"kill twice": {[]string{killOf(hypothesisSlate, "H1"), killOf(hypothesisSlate, "H1")}, []string{"applied H1", "skipped H1 H1 was killed before"}, func(t *testing.T, a Artifact) {
			assert.Equal(t, "why", a.Sections.HypothesisSlate[0]["kill_reason"])
			assert.Equal(t, "a", a.Sections.HypothesisSlate[0]["name"], "nothing is removed")
		}, nil},
		"no such item":                    {[]string{edit(discriminativeTests, "T2", `{"name": "z"}`), killOf(anomalyRegister, "X1")}, []string{"rejected T2 discriminative_tests has no item T2", "rejected X1 anomaly_register has no item X1"}, nil, nil},
		"one rejection spares the others": {[]string{killOf(hypothesisSlate, "H9"), edit(hypothesisSlate, "H1", `{"name": "z"}`)}, []string{"rejected H9 hypothesis_slate has no item H9", "applied H1"}, nil, nil},
		"fields of the system": {[]string{strings.Replace(hypothesis, `{"name"`, `{"id": "H1", "killed": true, "__proto__": {"x": 1}, "name"`, 1)}, []string{"applied H4"}, func(t *testing.T, a Artifact) {
			it := a.Sections.HypothesisSlate[3]
			assert.Equal(t, "H4", it["id"])
			assert.NotContains(t, it, "killed")
			assert.NotContains(t, it, "__proto__")
		}, []string{"forbidden_field"}},
		"the last scale check": {[]string{killOf(assumptionLedger, "A1")}, []string{"applied A1"}, nil, []string{"no_scale_check"}},
		"the thread comes into being by an edit": {[]string{`{"operation": "EDIT", "section": "research_thread", "payload": {"statement": "s", "anchors": ["§1"]}, "rationale": "r"}`, edit(researchThread, "RT", `{"anchors": ["§2"]}`)},
			[]string{"applied RT", "applied RT"}, func(t *testing.T, a Artifact) {
				assert.Equal(t, Item{"id": "RT", "statement": "s", "anchors": []any{"§1", "§2"}}, a.Sections.ResearchThread)
			}, nil},
		"a delta that breaks the format": {[]string{`{"operation": "DROP"}`}, []string{`rejected  unknown operation "DROP": want one of ADD, EDIT, KILL; section is missing; payload is missing`}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := base()
			m := merged(t, b, updates(t, tt.deltas...))
			got := []string{}
			for _, o := range m.Outcomes {
				got = append(got, strings.TrimSpace(o.Status+" "+o.ID+" "+o.Reason))
			}
			assert.Equal(t, tt.want, got)
			assert.Equal(t, append([]string{}, tt.warns...), names(m.Warnings))
			if tt.check != nil {
				tt.check(t, m.Artifact)
			}
			assert.Equal(t, base(), b, "the base stays")
		})
	}
}

func replaced(t *testing.T, a Artifact) {
	assert.Equal(t, []any{"§2"}, a.Sections.HypothesisSlate[0]["anchors"])
	assert.NotContains(t, a.Sections.HypothesisSlate[0], "replace")
	assert.NotContains(t, a.Sections.HypothesisSlate[0], "anchors_replace")
	assert.NotContains(t, a.Sections.HypothesisSlate[0], "replace_anchors")
}

func ids(list []Item) []string {
	out := []string{}
	for _, it := range list {
		out = append(out, it.id())
	}
	return out
}

// Updates are carried out in the order of their times, whoever's come first, and leave their names.
func TestMergeGoesByTime(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 9, minute, 0, 0, time.UTC) }
	list := updates(t, edit(hypothesisSlate, "H1", `{"name": "late"}`), edit(hypothesisSlate, "H1", `{"name": "early"}`), third)
	list[0].Time, list[0].Agent = at(5), "a"
	list[1].Time, list[1].Agent = at(3), "b"
	list[2].Time, list[2].Agent = at(4), "b"
	m := merged(t, Artifact{Sections: Parts{HypothesisSlate: []Item{{"id": "H1"}}}}, list)
	assert.Equal(t, "late", m.Artifact.Sections.HypothesisSlate[0]["name"])
	assert.Equal(t, Item{"version": 1.0, "updated_at": "2026-01-01T09:05:00Z", "contributors": []any{
		map[string]any{"agent": "b", "contributed_at": "2026-01-01T09:04:00Z"}, map[string]any{"agent": "a", "contributed_at": "2026-01-01T09:05:00Z"},
	}}, m.Artifact.Metadata)

	// At the same time the agents' names decide, and the conflict is reported.
	list[0].Time = at(3)
	m = merged(t, Artifact{Sections: Parts{HypothesisSlate: []Item{{"id": "H1"}}}}, list)
	assert.Equal(t, "early", m.Artifact.Sections.HypothesisSlate[0]["name"])
	require.Equal(t, []string{"conflict"}, names(m.Warnings))
	assert.Contains(t, m.Warnings[0], "H1.name was set by a and b at the same time; that of b holds")
}

// Nothing that was done leaves the artifact as it is.
func TestMergeOfNothing(t *testing.T) {
	base := someArtifact().clone()
	m := merged(t, base, updates(t, killOf(hypothesisSlate, "H9")))
	assert.Equal(t, base, m.Artifact)
	_, err := Merge(Artifact{Sections: Parts{AnomalyRegister: []Item{{"id": "A1"}}}}, nil)
	assert.Error(t, err)
	_, err = Merge(base, make([]Update, maxSessionDeltas+1))
	assert.EqualError(t, err, "updates: 10001 are more than 10000")
}

// However the updates of agents come in, the artifact is the same: times differ, or agents do.
func TestMergeInAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(rt, "n")
		var list []Update
		for i := range n {
			j := rapid.SampledFrom([]string{hypothesis, third, test, anomaly, scale, critique,
				edit(hypothesisSlate, "H1", fmt.Sprintf(`{"name": "%d", "anchors": ["§%d"]}`, i, i+1)),
				killOf(hypothesisSlate, fmt.Sprintf("H%d", 1+i%4)), edit(discriminativeTests, "T1", `{"score": {"cost": 1}}`),
			}).Draw(rt, "delta")
			u := updates(t, j)[0]
			u.Time, u.Agent = time.Unix(int64(rapid.IntRange(1, 3).Draw(rt, "time")), 0), fmt.Sprintf("agent %d", i)
			list = append(list, u)
		}
		base := Artifact{Sections: Parts{HypothesisSlate: []Item{{"id": "H1"}, {"id": "H2"}}}}
		want, err := json.Marshal(merged(t, base, list).Artifact)
		require.NoError(t, err)
		rand.New(rand.NewPCG(2, uint64(n))).Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
		m := merged(t, base, list)
		got, err := json.Marshal(m.Artifact)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got))
		assert.LessOrEqual(t, len(m.Artifact.active(hypothesisSlate)), maxHypotheses)
		all := ids(m.Artifact.Sections.HypothesisSlate)
		slices.Sort(all)
		assert.Len(t, slices.Compact(all), len(m.Artifact.Sections.HypothesisSlate), "no id twice")
	})
}
