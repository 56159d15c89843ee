package suggest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest/history"
	"waymark/suggest/learn/rank"
)

func TestMain(m *testing.M) {
	ShortSteps = 0 // the first question of profile learned fits its models: most tests ask none
	m.Run()
}

// world builds a state from a few lines: one episode a line, steps in order.
type world struct {
	*history.State
	t testing.TB
	n int
}

func newWorld(t testing.TB) *world { return &world{State: history.NewState(), t: t} }

func (w *world) episode(intent string, tools ...string) *world {
	e := episodic.Episode{ID: fmt.Sprint(w.n), Intent: intent, Source: "test"}
	for _, tool := range tools {
		e.Steps = append(e.Steps, episodic.Step{Tool: tool})
	}
	return w.record(e)
}

func (w *world) record(e episodic.Episode) *world {
	w.n++
	if e.ID == "" {
		e.ID = fmt.Sprint(w.n)
	}
	require.NoError(w.t, e.Normalise())
	w.Record(&e)
	return w
}

func (w *world) tool(id, description, input, output string) *world {
	t := catalog.Tool{ID: id, Description: description}
	t.Server, t.Name, _ = catalog.Split(id)
	if input != "" {
		t.InputSchema = []byte(input)
	}
	if output != "" {
		t.OutputSchema = []byte(output)
	}
	w.PutTool(t)
	return w
}

func (w *world) capability(id, description string, tools ...string) *world {
	w.PutCapability(catalog.Capability{ID: id, Name: id, Description: description, Tools: tools})
	return w
}

func (w *world) model() *Model { return w.modelWith(MeasureOptions{}) }

func (w *world) modelWith(o MeasureOptions) *Model {
	w.t.Helper()
	c := w.Freeze()
	measures, err := Measure(context.Background(), c, o)
	require.NoError(w.t, err)
	m, err := NewModel(c, measures, Stamp{Version: "sha256:test", Seq: 1, BuiltAt: time.Unix(0, 0)})
	require.NoError(w.t, err)
	return m
}

func ids(s []Suggestion) []string {
	out := []string{}
	for _, x := range s {
		out = append(out, x.ID)
	}
	return out
}

func next(t testing.TB, m *Model, r NextRequest) NextAnswer {
	t.Helper()
	a, err := m.Next(r)
	require.NoError(t, err)
	checkTerms(t, a.Suggestions)
	return a
}

// checkTerms adds the terms up again: contributions of additive formulas, factors of the mixed one.
func checkTerms(t testing.TB, suggestions []Suggestion) {
	t.Helper()
	for i, s := range suggestions {
		require.NotEmpty(t, s.Terms)
		product := 1.0
		for _, term := range s.Terms {
			product *= term.Value
			if s.Formula != FormulaMixed && term.Name != "cap" && term.Name != "floor" {
				require.Equal(t, term.Contribution, term.Value*term.Weight)
			}
		}
		if s.Formula == FormulaMixed {
			require.Equal(t, s.Score, product, s.ID)
		} else {
			requireAddsUp(t, s.Formula, s.Score, s.Terms)
		}
		checkFormula(t, s)
		require.LessOrEqual(t, s.Confidence, Cap)
		require.GreaterOrEqual(t, s.Confidence, s.ConfidenceLow)
		if i > 0 {
			require.GreaterOrEqual(t, suggestions[i-1].Score, s.Score-1e-12)
			if last := suggestions[i-1]; last.Score == s.Score && s.Formula != FormulaLogistic { // calibration may make probabilities equal
				require.Less(t, last.ID, s.ID)
			}
		}
	}
}

// checkFormula puts the values of the terms into the formula as the reference has it.
func checkFormula(t testing.TB, s Suggestion) {
	t.Helper()
	v := map[string]float64{}
	for _, term := range s.Terms {
		v[term.Name] = term.Value
	}
	rest := v["episodic"] + v["cap"] + v["floor"]
	switch {
	case s.Formula == FormulaTool:
		_, score := rank.Signals{Cooccurrence: v["cooccurrence"], Community: v["community"], AA: 2 * v["adamic_adar"], PageRank: v["pagerank"]}.ToolScore()
		require.InDelta(t, score+rest, s.Score, 1e-12, s.ID)
	case s.Formula == FormulaMixed:
		require.InDelta(t, Comparable(MixedScore(v["relevance"], v["structural_boost"]-1, v["reliability"])), s.Score, 1e-12, s.ID)
	case len(s.Terms) > 1 && s.Terms[0].Name == "semantic":
		alpha := s.Terms[0].Weight / .8
		_, score := rank.Signals{Graph: v["graph"], PageRank: v["pagerank"]}.RankScore(alpha, v["semantic"])
		require.InDelta(t, score+rest, s.Score, 1e-12, s.ID)
	}
}

func TestNextFollowsHistory(t *testing.T) {
	w := newWorld(t)
	for range 8 {
		w.episode("read config", "fs:read", "json:parse", "db:insert")
	}
	w.episode("look", "fs:read", "fs:list")
	a := next(t, w.model(), NextRequest{Context: []string{"fs:read"}, Profile: ProfileSeed})
	assert.Equal(t, "json:parse", a.Suggestions[0].ID)
	assert.Equal(t, Passive, a.Mode)
	assert.Equal(t, Evidence{Count: 8, Of: 9}, a.Suggestions[0].Evidence)
	assert.Equal(t, "followed fs:read 8 of 9 times", a.Suggestions[0].Reason)
	assert.Equal(t, FormulaTool, a.Suggestions[0].Formula)
}

// Other spellings of a tool are the same tool, also when its catalog comes after its history.
func TestSpellingsShareOneHistory(t *testing.T) {
	w := newWorld(t)
	w.episode("", "fs.read", "json:parse")
	w.episode("", "fs:read", "json:parse")
	before := w.model()
	assert.Equal(t, uint64(1), next(t, before, NextRequest{Context: []string{"fs:read"}}).Suggestions[0].Evidence.Count)
	w.tool("fs:read", "Reads a file.", "", "")
	m := w.model()
	first := next(t, m, NextRequest{Context: []string{"fs:read"}})
	for _, spelling := range []string{"mcp__fs__read", "fs__read", "fs.read", "fs/read"} {
		a := next(t, m, NextRequest{Context: []string{spelling}})
		require.NotEmpty(t, a.Suggestions, spelling)
		assert.Equal(t, uint64(2), a.Suggestions[0].Evidence.Count, spelling)
		assert.Equal(t, first.SuggestionID, a.SuggestionID, spelling)
	}
	assert.NotEqual(t, first.SuggestionID, next(t, m, NextRequest{Context: []string{"json:parse"}}).SuggestionID)
	assert.Equal(t, 2, m.Info().Nodes, "one tool has one node")
	w = newWorld(t).episode("", "mcp__a__b__c", "x").episode("", "a:b__c", "x").tool("a:b:c", "", "", "")
	twice := next(t, w.model(), NextRequest{Context: []string{"a:b:c"}})
	assert.Equal(t, uint64(2), twice.Suggestions[0].Evidence.Count, "a spelling of a spelling")
}

// One ranking holds tools and capabilities. A capability with nothing left to do is not in it (the
// original suggested those first), and its overlap is Jaccard.
func TestCapabilitiesBesideTools(t *testing.T) {
	w := newWorld(t)
	w.episode("", "a", "b", "c").capability("cap:abc", "all three", "a", "b", "c").capability("cap:a", "only the first", "a")
	m := w.model()
	a := next(t, m, NextRequest{Context: []string{"a"}, Limit: 10, Profile: ProfileSeed})
	assert.Contains(t, ids(a.Suggestions), "cap:abc")
	assert.NotContains(t, ids(a.Suggestions), "cap:a")
	for _, s := range a.Suggestions {
		if s.ID == "cap:abc" {
			assert.Equal(t, FormulaMixed, s.Formula)
			assert.InDelta(t, 1.0/3, s.Evidence.Jaccard, 1e-12)
		}
	}
	e, err := m.Explain(ExplainRequest{ID: "cap:a", Context: []string{"a"}, Profile: ProfileSeed})
	require.NoError(t, err)
	assert.Equal(t, AbsentExhausted, e.Absent)
}

// Tool → capability → tool makes edges, so capabilities are predicted like tools.
func TestCapabilitiesAreNodesOfTheGraph(t *testing.T) {
	w := newWorld(t).capability("cap:ship", "build and deploy", "build", "deploy")
	for range 3 {
		w.episode("", "test", "cap:ship", "notify")
	}
	m := w.model()
	assert.Equal(t, "cap:ship", next(t, m, NextRequest{Context: []string{"test"}}).Suggestions[0].ID)
	assert.Equal(t, "notify", next(t, m, NextRequest{Context: []string{"cap:ship"}}).Suggestions[0].ID)
}

// The original computed cluster boosts from an empty list of capabilities, so clusters never changed
// an answer. Here they do: without them the two capabilities tie and the smaller id wins.
func TestClustersChangeSuggestions(t *testing.T) {
	w := newWorld(t)
	w.capability("cap:1", "bridge", "x", "p1", "p2").capability("cap:2", "home", "x", "y", "z")
	w.capability("cap:3", "home too", "x", "y", "w").capability("cap:4", "home again", "y", "z", "w")
	w.capability("cap:5", "far", "p1", "p2", "p3").capability("cap:6", "far too", "p1", "p3", "p4").capability("cap:7", "far again", "p2", "p3", "p4")
	order := func(m *Model) []string {
		return ids(next(t, m, NextRequest{Context: []string{"x"}, Profile: ProfileSeed}).Suggestions)
	}
	with, without := order(w.model()), order(w.modelWith(MeasureOptions{WithoutSpectral: true}))
	assert.Equal(t, "cap:1", without[0])
	assert.Equal(t, "cap:2", with[0])
}

// A failed step gives no edge, and enough failures exclude.
func TestFailuresExclude(t *testing.T) {
	w := newWorld(t)
	for range 6 {
		w.episode("", "a", "b")
		w.record(episodic.Episode{Steps: []episodic.Step{{Tool: "a"}, {Tool: "bad", Outcome: episodic.Failure}}})
	}
	w.episode("", "a", "bad") // one unknown outcome makes an edge
	m := w.model()
	assert.NotContains(t, ids(next(t, m, NextRequest{Context: []string{"a"}}).Suggestions), "bad")
	e, err := m.Explain(ExplainRequest{ID: "bad", Context: []string{"a"}})
	require.NoError(t, err)
	assert.Equal(t, AbsentExcluded, e.Absent)
	assert.Equal(t, uint64(1), e.Evidence.Count, "failed steps give no edges")
}

// A step of lower weight never takes away what a dependency gave (the original overwrote the type of
// an edge, and with it its weight).
func TestOrderNeverWeakensDependency(t *testing.T) {
	w := newWorld(t)
	w.record(episodic.Episode{Steps: []episodic.Step{{ID: "1", Tool: "a", DependsOn: []string{}}, {ID: "2", Tool: "b", DependsOn: []string{"1"}}}})
	weight := func() float64 { v, _ := w.model().transition(0, 1); return v }
	before := weight()
	w.episode("", "a", "b")
	assert.Greater(t, weight(), before)
	assert.InDelta(t, 1.5/2.5, weight(), 1e-12) // (1 + ½) / (1½ + κ)
}

// Capabilities are no edges of the tool graph: density counts transitions alone.
func TestIncidenceIsNotInTheGraph(t *testing.T) {
	w := newWorld(t).episode("", "a", "b")
	before := w.model().Info()
	after := w.capability("cap:big", "five tools", "a", "b", "c", "d", "e").model().Info()
	assert.Equal(t, before.Edges, after.Edges)
	assert.Equal(t, before.Density, after.Density)
	assert.Equal(t, 0.5, after.Density, "two nodes and one edge")
	assert.Equal(t, 0.5, after.Alpha)
}

func TestModes(t *testing.T) {
	w := newWorld(t).tool("mail:send", "Sends an e-mail.", "", "").tool("fs:read", "Reads a file.", "", "")
	w.episode("mail the report", "fs:read", "mail:send")
	m := w.model()
	assert.Equal(t, Exploration, next(t, m, NextRequest{}).Mode)
	assert.NotEmpty(t, next(t, m, NextRequest{}).Suggestions)
	assert.Equal(t, Passive, next(t, m, NextRequest{Context: []string{"fs:read"}}).Mode)
	a := next(t, m, NextRequest{Intent: "send an email"})
	assert.Equal(t, Active, a.Mode)
	assert.Equal(t, "mail:send", a.Suggestions[0].ID)
	for _, term := range a.Suggestions[0].Terms {
		assert.NotEqual(t, "graph", term.Name, "without a context the graph term is absent, not zero")
	}
	both := next(t, m, NextRequest{Intent: "send an email", Context: []string{"fs:read"}})
	assert.Equal(t, Active, both.Mode)
}

func TestSearchNamesComeFirst(t *testing.T) {
	w := newWorld(t)
	w.tool("web:search", "Searches the web.", "", "").tool("mail:search", "Searches mail with many words: search search search.", "", "")
	w.tool("github:search_issues", "Finds issues.", "", "")
	m := w.model()
	for query, want := range map[string]string{
		"github:search_issues": "github:search_issues", "mcp__github__search_issues": "github:search_issues",
		"search_issues": "github:search_issues", "mail:search": "mail:search", "web.search": "web:search",
	} {
		a, err := m.Search(SearchRequest{Query: query})
		require.NoError(t, err)
		require.NotEmpty(t, a.Results, query)
		assert.Equal(t, want, a.Results[0].ID, query)
		assert.Equal(t, 1., a.Results[0].Score)
		total := 0.0
		for _, term := range a.Results[0].Terms {
			total += term.Contribution
		}
		assert.Equal(t, 1., total)
	}
	a, err := m.Search(SearchRequest{Query: "search"})
	require.NoError(t, err)
	assert.Equal(t, []string{"mail:search", "web:search"}, []string{a.Results[0].ID, a.Results[1].ID}, "both have the name; by id")
}

func TestAllow(t *testing.T) {
	m := newWorld(t).episode("", "a", "fs:x").episode("", "a", "net:y").model()
	for _, row := range []struct {
		allow   []string
		nothing bool
	}{{[]string{"none:*"}, true}, {[]string{"none:*", "net:*"}, false}, {nil, false}} {
		warnings := next(t, m, NextRequest{Allow: row.allow}).Warnings
		assert.Equal(t, row.nothing, slices.Contains(warnings, WarnNothingAllowed), "%v", row.allow)
	}
	assert.Equal(t, []string{"net:y"}, ids(next(t, m, NextRequest{Context: []string{"a"}, Allow: []string{"net:*"}}).Suggestions))
	e, err := m.Explain(ExplainRequest{ID: "fs:x", Context: []string{"a"}, Allow: []string{"net:*"}})
	require.NoError(t, err)
	assert.Equal(t, AbsentNotAllowed, e.Absent)
}

func TestRemovedToolsAreNotSuggested(t *testing.T) {
	w := newWorld(t).tool("b", "Does b.", "", "").episode("", "a", "b")
	assert.Contains(t, ids(next(t, w.model(), NextRequest{Context: []string{"a"}}).Suggestions), "b")
	w.Remove("b")
	assert.NotContains(t, ids(next(t, w.model(), NextRequest{Context: []string{"a"}}).Suggestions), "b")
	w.tool("b", "Does b again.", "", "")
	assert.Contains(t, ids(next(t, w.model(), NextRequest{Context: []string{"a"}}).Suggestions), "b")
}

func TestBadRequestsNameTheField(t *testing.T) {
	m := newWorld(t).tool("a:b__c", "", "", "").tool("a__b:c", "", "", "").modelWith(MeasureOptions{WithoutLearned: true})
	for _, row := range []struct {
		field, detail string
		r             NextRequest
	}{
		{"limit", "", NextRequest{Limit: -1}},
		{"limit", "", NextRequest{Limit: MaxLimit + 1}},
		{"profile", `unknown profile "best": want learned or seed`, NextRequest{Profile: "best"}},
		{"profile", "is off", NextRequest{Profile: ProfileLearned}},
		{"context[1]", "", NextRequest{Context: []string{"x", "a__b__c"}}},
		{"context[1]", "", NextRequest{Context: []string{"x", ""}}},
		{"allow[0]", "", NextRequest{Allow: []string{""}}},
		{"min_confidence", "", NextRequest{MinConfidence: 1.1}},
	} {
		_, err := m.Next(row.r)
		var wrong *RequestError
		require.ErrorAs(t, err, &wrong, row.field)
		assert.Equal(t, row.field, wrong.Field)
		assert.Contains(t, wrong.Detail, row.detail)
	}
	_, err := m.Search(SearchRequest{Query: " "})
	assert.ErrorContains(t, err, "query")
	_, err = m.Search(SearchRequest{Query: "refund", Profile: "best"})
	assert.ErrorContains(t, err, "unknown profile")
	assert.Equal(t, ProfileSeed, next(t, m, NextRequest{}).Model.Profile, "profile learned is off, and was not asked for")
}

// One caller's question never shows in another's answer: working memory is reused, its values are not.
func TestAnswersDoNotDependOnEarlierQuestions(t *testing.T) {
	w := newWorld(t).tool("x:y", "Does y.", "", "")
	w.episode("", "x:y", "x:z").episode("", "a", "b").episode("", "c", "d")
	ask := func(m *Model) []any {
		p, err := m.Plan(DAGRequest{Intent: "zzqq xxyy"})
		require.NoError(t, err)
		e, err := m.Explain(ExplainRequest{ID: "b", Context: []string{"c"}})
		require.NoError(t, err)
		return []any{p, e}
	}
	want := ask(w.model())
	m := w.model()
	for range 8 {
		_, err := m.Search(SearchRequest{Query: "x:y x:z does y"})
		require.NoError(t, err)
		_, err = m.Next(NextRequest{Context: []string{"a"}})
		require.NoError(t, err)
		assert.Equal(t, want, ask(m))
	}
}

// A context of ids that nobody knows is answered, not a crash.
func TestUnknownContext(t *testing.T) {
	m := newWorld(t).episode("", "a", "b").model()
	a, err := m.Next(NextRequest{Context: []string{"nobody:knows"}})
	require.NoError(t, err)
	assert.True(t, a.Abstained)
	assert.Contains(t, a.Warnings, WarnUnknownContext)
	_, err = m.Explain(ExplainRequest{ID: "b", Context: []string{"nobody:knows"}})
	require.NoError(t, err)
	b, err := m.Next(NextRequest{Context: []string{"somebody:else"}})
	require.NoError(t, err)
	assert.NotEqual(t, a.SuggestionID, b.SuggestionID)
}

// In an exploration, explain says of each id what next did with it.
func TestExplainAgreesWithExploration(t *testing.T) {
	m := sampleModel(t)
	a := next(t, m, NextRequest{Limit: 4})
	for _, tool := range m.Tools() {
		e, err := m.Explain(ExplainRequest{ID: tool.ID, Limit: 4})
		require.NoError(t, err)
		assert.Equal(t, slices.Contains(ids(a.Suggestions), tool.ID), e.Suggested, tool.ID)
	}
}
