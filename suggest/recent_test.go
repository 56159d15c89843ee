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
)

// since is a model of everything counted now, with measures of a moment before.
func (w *world) since(measures *Measures) *Model {
	w.t.Helper()
	m, err := NewModel(w.Freeze(), measures, Stamp{Version: "sha256:test", Seq: 2, BuiltAt: time.Unix(0, 0)})
	require.NoError(w.t, err)
	return m
}

func (w *world) measured() *Measures {
	w.t.Helper()
	measures, err := Measure(context.Background(), w.Freeze(), MeasureOptions{})
	require.NoError(w.t, err)
	return measures
}

// What is new counts in every answer of both profiles, without a build: the name of a tool that was only
// recorded, the text of one that was put, the text of one that was changed, a capability, and a request.
func TestWhatIsNewCountsWithoutABuild(t *testing.T) {
	w := planted(t, 60)
	w.tool("x:old", "folds paper boats", "", "")
	measures := w.measured()
	before := w.since(measures)
	search := func(m *Model, profile, query string) []string {
		return searched(t, m, SearchRequest{Query: query, Profile: profile, Limit: 3})
	}
	w.episode("wake the janitor", "x:a", "pager:wake_janitor")
	w.tool("lamp:dim", "Dims the lanterns of the harbour.", "", "")
	w.tool("x:old", "Paints murals on the quay.", "", "")
	w.PutCapability(catalog.Capability{ID: "cap:foghorn", Name: "foghorn", Description: "Tunes the foghorn of the lighthouse.", Tools: []string{"x:old", "lamp:dim"}})
	after := w.since(measures)
	for _, profile := range []string{ProfileSeed, ProfileLearned} {
		assert.NotContains(t, search(before, profile, "wake the janitor"), "pager:wake_janitor", profile)
		for query, want := range map[string]string{
			"wake the janitor": "pager:wake_janitor", "wake_janitor": "pager:wake_janitor", "dim": "lamp:dim",
			"dim the lanterns": "lamp:dim", "lanterns of the harbour": "lamp:dim", "murals on the quay": "x:old",
			"tune the foghorn of the lighthouse": "cap:foghorn",
		} {
			assert.Contains(t, search(after, profile, query), want, "%s %s", profile, query)
		}
		for intent, want := range map[string]string{
			"wake the janitor": "pager:wake_janitor", "dim the lanterns of the harbour": "lamp:dim", "tune the foghorn of the lighthouse": "cap:foghorn",
		} {
			assert.Contains(t, tools(planned(t, after, DAGRequest{Intent: intent, Profile: profile})), want, profile)
		}
		n := next(t, after, NextRequest{Context: []string{"x:a"}, Intent: "wake the janitor", Profile: profile, Limit: 3})
		assert.Contains(t, ids(n.Suggestions), "pager:wake_janitor", profile)
		n = next(t, after, NextRequest{Context: []string{"x:a"}, Profile: profile, Limit: MaxLimit})
		assert.Contains(t, ids(n.Suggestions), "pager:wake_janitor", profile)
	}
	a, err := after.Search(SearchRequest{Query: "folds paper boats"})
	require.NoError(t, err)
	for _, r := range a.Results {
		assert.False(t, r.ID == "x:old" && r.Confidence >= LowConfidence, "its text is another one now")
	}
}

// What is new is a function of the counts and the measures: whether models were made one event after the other, or only
// at the end, as after a restart, the answers are equal.
func TestWhatIsNewDoesNotDependOnTheWayThere(t *testing.T) {
	put := func(id, text string) func(*world) { return func(w *world) { w.tool(id, text, "", "") } }
	did := func(intent string, tools ...string) func(*world) {
		return func(w *world) { w.episode(intent, tools...) }
	}
	for name, row := range map[string]struct {
		query string
		steps []func(*world)
	}{
		"put twice":             {"marbles sorted", []func(*world){put("n:one", "marbles"), put("n:one", "Something long about marbles and their colours in the garden")}},
		"recorded, then put":    {"marbles sorted", []func(*world){did("sorted marbles please", "a:read", "n:one"), put("n:one", "Paints boats")}},
		"changed and back":      {"reads a file", []func(*world){put("a:read", "Reads marbles."), put("a:read", "Reads a file.")}},
		"changed, then used":    {"gadget", []func(*world){put("a:read", "Reads marbles."), did("gadget", "a:read", "b:write")}},
		"used, then changed":    {"gadget", []func(*world){did("gadget", "a:read", "b:write"), put("a:read", "Reads marbles.")}},
		"removed and put again": {"reads a file", []func(*world){func(w *world) { w.Remove("a:read") }, put("a:read", "Reads a file.")}},
	} {
		build := func(stepwise bool) SearchAnswer {
			w := newWorld(t).tool("a:read", "Reads a file.", "", "").tool("b:write", "Writes a file.", "", "")
			w.episode("read the file", "a:read", "b:write")
			measures := w.measured()
			for _, step := range row.steps {
				if step(w); stepwise {
					w.since(measures)
				}
			}
			a, err := w.since(measures).Search(SearchRequest{Query: row.query})
			require.NoError(t, err)
			return a
		}
		assert.Equal(t, build(false), build(true), name)
	}
}

// Steps of an episode that began before the build count at once, as those of a later one do.
func TestStepsOfAnEpisodeBegunBeforeTheBuildCount(t *testing.T) {
	confidence := func(begun bool) float64 {
		w := planted(t, 60)
		perform := func(tool string, number int) {
			w.Perform(&episodic.Performed{Episode: "grows", Source: "test", Step: &episodic.Step{ID: fmt.Sprint(number), Tool: tool}, Number: number})
		}
		if begun {
			perform("x:d", 0)
		}
		measures := w.measured()
		for i := range 100 {
			perform("x:b", 2*i+1)
			perform("x:new", 2*i+2)
		}
		answer := next(t, w.since(measures), NextRequest{Context: []string{"x:a", "x:b"}, Profile: ProfileLearned, Limit: 20})
		at := slices.IndexFunc(answer.Suggestions, func(s Suggestion) bool { return s.ID == "x:new" })
		require.GreaterOrEqual(t, at, 0)
		return answer.Suggestions[at].Confidence
	}
	assert.InDelta(t, confidence(false), confidence(true), 0.02)
}

// What abbreviations stand for does not depend on whether somebody asked before tools were renamed.
func TestAbbreviationsAreThoseOfTheBuild(t *testing.T) {
	results := func(askBefore bool) []SearchResult {
		w := newWorld(t)
		w.tool("x:merge_pull_request", "joins branches", "", "")
		w.tool("x:list_files", "lists files", "", "")
		w.tool("x:other", "something else", "", "")
		measures := w.measured()
		search := func() []SearchResult {
			a, err := w.since(measures).Search(SearchRequest{Query: "PR"})
			require.NoError(t, err)
			return a.Results
		}
		if askBefore {
			search()
		}
		w.PutTool(catalog.Tool{ID: "x:merge_pull_request", Name: "unite_branches", Server: "x", Description: "joins branches"})
		w.PutTool(catalog.Tool{ID: "x:other", Name: "print_report", Server: "x", Description: "something else"})
		return search()
	}
	assert.Equal(t, results(false), results(true))
}
