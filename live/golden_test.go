package live

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/storage"
	"waymark/suggest"
	"waymark/suggest/evaluate"
	"waymark/suggest/history"
)

// goldenEvents are values of each kind, in an order that makes sense, in which every member has a value.
func goldenEvents() (all []entry) {
	yes, at := true, time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)
	step := func(id, tool string) episodic.Step {
		return episodic.Step{ID: id, Tool: tool, DependsOn: []string{}, Group: "g", Outcome: episodic.Failure, DurationMS: 5, Error: "gone", ErrorKind: "timeout",
			Shape: "{path:string}", Inputs: episodic.Digests{"path": {"d1"}}, Outputs: episodic.Digests{"text": {"d2"}}}
	}
	grows := func(id string) episodic.Episode {
		return episodic.Episode{ID: id, Intent: "read a file", Time: at, Session: "s", Source: "key:k", Label: "l", Steps: []episodic.Step{},
			Outcome: episodic.Success, SuggestionID: "sg"}
	}
	full := grows("e1")
	second := step("s2", "files:write")
	second.DependsOn = []string{"s1"}
	full.Steps = []episodic.Step{step("s1", "files:read"), second}
	performed := step("s1", "files:read")
	opened1 := opened{episodic.Grown{Episode: full, Numbers: []int{1, 2}, LastMS: 7}}
	opened1.ID = "e3"
	change := evaluate.Change{Metric: "mrr", Episodes: 20, Questions: 30, Published: .5, New: .25, Gain: -.25, Interval: evaluate.Interval{-.5, .125}}
	b := build{Options: suggest.MeasureOptions{WithoutSpectral: true, WithoutLearned: true}, Parent: "p", Model: "m", Vectors: "v",
		Gate: &evaluate.Gate{Next: change, NextIntent: change, Intent: change, Seq: 9, Source: &history.NewSource{Name: "key:n", Episodes: 4, New: 5, All: 9}}, Forced: true}
	refused := b
	refused.Refused = true
	rule := ruled{Rule{ID: "pin files:write files:read", Kind: "pin", Tool: "files:write", After: "files:read", Intent: "write"}, false}
	undone := rule
	undone.Undone = true
	for _, e := range []struct {
		kind  byte
		key   string
		value any
	}{
		{kindTool, "", &catalog.Tool{ID: "files:read", Name: "read <b>", Description: "reads & writes\u2028", Server: "files", Domain: "d", InputSchema: schema, OutputSchema: schema,
			Annotations: &catalog.Annotations{Title: "t", ReadOnly: &yes, Destructive: &yes, Idempotent: &yes, OpenWorld: &yes}, Requires: []string{"files:write"}}},
		{kindTool, "", &catalog.Tool{ID: "files:write"}},
		{kindTool, "", &catalog.Tool{ID: "files:gone"}},
		{kindRemoved, "", new("files:gone")},
		{kindCapability, "", &catalog.Capability{ID: "cap:both", Name: "n", Description: "d", Intent: "i", Tools: []string{"files:read", "files:write"},
			Tasks: []catalog.Task{{ID: "t1", Tool: "files:read", DependsOn: []string{}, Arguments: map[string]json.RawMessage{"path": json.RawMessage(`"a"`)}, When: "true", OnError: "continue", TimeoutMS: 9},
				{ID: "t2", Tool: "files:write", DependsOn: []string{"t1"}}},
			InputSchema: schema, OutputSchema: schema, Version: 1, Tags: []string{"t"}, Output: json.RawMessage(`{"$from":"t2.result"}`)}},
		{kindCapability, "", &catalog.Capability{ID: "cap:script", Tools: []string{}, Script: &catalog.Script{Language: "expr", Source: "1"}}},
		{kindEpisode, "episode/e1", &full},
		{kindOpened, "episode/e2", &opened{episodic.Grown{Episode: grows("e2")}}},
		{kindPerformed, "performed/e2/s1", &episodic.Performed{Episode: "e2", Source: "key:k", Time: at, Number: 1, AtMS: 3, Step: &performed, Outcome: episodic.Success}},
		{kindEpisode, "episode/e3", new(withID(full, "e3"))},
		{kindOpened, "", &opened1},
		{kindFeedback, "", &feedback{Context: []string{"files:read"}, ID: "files:write", Used: true, Outcome: episodic.Success, Source: "key:k"}},
		{kindEpisode, "episode/e4", new(withID(full, "e4"))},
		{kindForgotten, "", &forgotten{Seqs: []uint64{13}}},
		{kindRule, "", &rule},
		{kindRule, "", &undone},
		{kindRule, "", &ruled{Rule{ID: "alias old:read", Kind: "alias", Tool: "files:read", Alias: "old:read"}, false}},
		{kindRule, "", &ruled{Rule{ID: "trust key:k", Kind: "trust", Source: "key:k"}, false}},
		{kindBuild, "", &refused},
		{kindBuild, "", &b},
	} {
		payload, err := encode(e.kind, e.value)
		if err != nil {
			panic(err)
		}
		all = append(all, entry{e.kind, e.key, payload, e.value, nil})
	}
	return all
}

func withID(e episodic.Episode, id string) episodic.Episode {
	e.ID = id
	return e
}

// Every kind of event is read as it was written, and counted again by a replay.
func TestEventsOfEachKind(t *testing.T) {
	all := goldenEvents()
	store := memory(t)
	log := logOf(store, DefaultWorkspace)
	for _, e := range all {
		kind, v, err := decode(e.payload)
		require.NoError(t, err)
		require.Equal(t, e.kind, kind)
		again, err := encode(kind, v)
		require.NoError(t, err)
		require.Equal(t, string(e.payload), string(again))
		_, err = log.Append(ctx, []storage.Record{{Key: e.key, Payload: e.payload}})
		require.NoError(t, err)
	}
	for kind := range kinds {
		require.True(t, slices.ContainsFunc(all, func(e entry) bool { return e.kind == kind }), "kind %q", kind)
	}
	e := workspace(t, store, unlearned)
	settled(t, e)
	verify(t, e)
}

// An event with a member that this program does not know would be counted without it: it is refused as one of an unknown
// kind.
func TestUnknownMembers(t *testing.T) {
	for payload, refused := range map[string]string{
		`E{"id":"1","steps":[{"tool":"a"}]}`:                        "",
		`E{"id":"1","steps":[{"tool":"a","weight":2}]}`:             "member /steps/0/weight of kind 'E'",
		`F{"id":"a","used":true,"outcome":"","source":"","half":1}`: "member /half of kind 'F'",
		`B{"options":{"without_everything":true},"parent":""}`:      "member /options/without_everything of kind 'B'",
		`T{"id":"a","input_schema":{"anything":{"goes":1}}}`:        "",
		`Y{}`: "kind 'Y'",
	} {
		_, _, err := decode([]byte(payload))
		if refused == "" {
			require.NoError(t, err, payload)
			continue
		}
		require.ErrorIs(t, err, ErrNewer, payload)
		require.ErrorContains(t, err, refused)
	}
}
