package inquiry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"waymark/score/evidence"
	"waymark/score/rubric"
	"waymark/semantic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const question = "Why did the Orla Weir, the Kest Sluice and the Upper Mill all run dry in the same week?"

// replies is a judge that was recorded: it gives one reply after the other.
type replies struct {
	list    []string
	prompts []evidence.Prompt
	err     error
}

func (r *replies) Ask(_ context.Context, p evidence.Prompt) (string, error) {
	r.prompts = append(r.prompts, p)
	if r.err != nil {
		return "", r.err
	}
	reply := r.list[0]
	r.list = r.list[1:]
	return reply, nil
}

// shelf is a search tool over a few snippets: those with the most words of the query.
type shelf struct {
	mu      sync.Mutex
	all     []evidence.Snippet
	fail    map[evidence.Intent]bool
	queries []string
}

var errDown = errors.New("the index is down")

func (s *shelf) Search(ctx context.Context, q evidence.Query) ([]evidence.Snippet, error) {
	s.mu.Lock()
	s.queries = append(s.queries, q.Text)
	s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.fail[q.Intent] {
		return nil, errDown
	}
	var found []evidence.Snippet
	for _, sn := range s.all {
		if overlap(sn.Text, q.Text) > .1 {
			found = append(found, sn)
		}
	}
	return found, nil
}

// shared counts the distinct stems of two texts, and those in both.
func shared(a, b string) (both, inA, inB int) {
	stems := func(text string) map[string]bool {
		set := map[string]bool{}
		for _, s := range semantic.Tokens(text) {
			set[s] = true
		}
		return set
	}
	x, y := stems(a), stems(b)
	for s := range x {
		if y[s] {
			both++
		}
	}
	return both, len(x), len(y)
}

func overlap(snippet, text string) float64 {
	both, _, n := shared(snippet, text)
	return float64(both) / float64(n)
}

func reply(texts ...string) string {
	var items []string
	for _, t := range texts {
		items = append(items, fmt.Sprintf(`{"text":%q,"rationale":"It happens.","key_fact":"A gauge shows it."}`, t))
	}
	return "Here you are:\n```json\n{\"hypotheses\":[" + strings.Join(items, ",") + "]}\n```"
}

var five = []string{"A valve upstream was closed", "A drought emptied the lake", "The channel was blocked by ice", "Farms pumped the water away", "A leak drained the canal"}

var pool = []evidence.Snippet{
	{ID: "log", Text: "The log of the dam: the valve upstream was closed on Monday for an inspection.", Source: "https://dam.org/log"},
	{ID: "crew", Text: "Crews confirm that a valve upstream stayed closed all week.", Source: "https://crew.net/1"},
	{ID: "rain", Text: "Rainfall was normal, which contradicts talk of a drought at the lake.", Source: "https://sky.org"},
	{ID: "ice", Text: "No ice was seen in the channel, so a blocked channel is ruled out.", Source: "https://sky.org"},
	{Text: "Farms pumped little water in that week.", Source: "https://farm.org"},
}

func TestRun(t *testing.T) {
	run := func() (Report, *shelf) {
		judge := &replies{list: []string{reply(five...)}}
		search := &shelf{all: pool}
		report, err := Run(t.Context(), question, judge, search, Options{})
		require.NoError(t, err)
		assert.Len(t, judge.prompts, 1, "one call of the judge in all")
		return report, search
	}
	report, search := run()
	assert.Contains(t, search.queries, question)
	assert.Equal(t, "h1", report.Triangulation.Ranking[0].Hypothesis)
	assert.Contains(t, []string{Decided, Exhausted}, report.Ended)
	assert.Len(t, report.Request.Rounds, len(report.Triangulation.Rounds))
	assert.Equal(t, Plain, report.Searches[0].Query.Intent)
	second := slices.IndexFunc(report.Searches, func(s Search) bool { return s.Round == 2 })
	assert.Equal(t, 8, second, "round 1: the question, 5 hypotheses, what tells two apart, what speaks against the first")
	assert.Equal(t, evidence.FalsifyLead, report.Searches[second].Query.Intent)
	for i, s := range report.Searches {
		again := slices.ContainsFunc(report.Searches[:i], func(b Search) bool { return b.Query.Text == s.Query.Text })
		assert.Equal(t, again, s.Continued, "%d", i)
	}
	assert.LessOrEqual(t, report.Triangulation.Rounds[len(report.Triangulation.Rounds)-1].ForcedRounds, 2)
	for _, sn := range report.Snippets {
		assert.NotEmpty(t, sn.ID)
	}
	data, err := json.Marshal(report, json.Deterministic(true))
	require.NoError(t, err)
	again, _ := run()
	same, err := json.Marshal(again, json.Deterministic(true))
	require.NoError(t, err)
	assert.Equal(t, string(data), string(same), "the same replies and results give the same report")

	// The state is enough to go on from.
	s, err := evidence.New(*report.Request)
	require.NoError(t, err)
	assert.Equal(t, *report.Triangulation, s.Result())
}

func TestEasyQuestionsAreSkipped(t *testing.T) {
	judge, search := &replies{}, &shelf{all: pool}
	report, err := Run(t.Context(), "Was the valve closed?", judge, search, Options{})
	require.NoError(t, err)
	assert.True(t, report.Generation.Skipped)
	assert.Empty(t, judge.prompts)
	assert.Equal(t, Easy, report.Ended)
	assert.NotEmpty(t, report.Snippets)
	assert.Nil(t, report.Triangulation)

	judge.list = []string{reply(five...)}
	report, err = Run(t.Context(), "Was the valve closed?", judge, search, Options{EvenIfEasy: true, NoneOfThese: true})
	require.NoError(t, err)
	assert.Len(t, report.Triangulation.Ranking, 6)
}

func TestGenerateAsksAgain(t *testing.T) {
	same := append([]string{}, five...)
	same[3] = "The valve upstream was closed"
	for _, tt := range []struct {
		name     string
		replies  []string
		asks     int
		distinct bool
		alike    [][]string
		problem  string // named in the second prompt
		err      string
	}{
		{"good at once", []string{reply(five...)}, 1, true, [][]string{}, "", ""},
		{"prose first", []string{"I would rather not.", reply(five...)}, 2, true, [][]string{}, "it has no JSON array of hypotheses", ""},
		{"too few first", []string{reply(five[:4]...), reply(five...)}, 2, true, [][]string{}, "it has 4 hypotheses, not 5", ""},
		{"two the same, then not", []string{reply(same...), reply(five...)}, 2, true, [][]string{}, "h1 and h4 say the same", ""},
		{"the best of three", []string{reply(same...), "no", reply(same...)}, 3, false, [][]string{{"h1", "h4"}}, "h1 and h4 say the same", ""},
		{"never any", []string{"no", "no", "no"}, 3, false, [][]string{}, "it has no JSON", "after 3 replies: hypotheses of the judge: it has no JSON array of hypotheses"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			judge := &replies{list: tt.replies}
			g, err := Generate(t.Context(), judge, question, Options{})
			if tt.err != "" {
				var bad *evidence.ReplyError
				require.ErrorAs(t, err, &bad)
				assert.EqualError(t, err, tt.err)
				assert.Empty(t, g.Hypotheses, "nothing is filled in")
			} else {
				require.NoError(t, err)
				assert.Len(t, g.Hypotheses, 5)
			}
			assert.Len(t, g.Asks, tt.asks)
			assert.Equal(t, tt.distinct, g.Distinct)
			assert.Equal(t, tt.alike, g.Alike)
			if tt.problem != "" {
				assert.Contains(t, judge.prompts[1].User, tt.problem)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	judge := func() *replies { return &replies{list: []string{reply(five...)}} }

	_, err := Run(t.Context(), question, &replies{err: errDown}, &shelf{}, Options{})
	assert.ErrorIs(t, err, errDown)
	assert.ErrorContains(t, err, "ask for hypotheses")

	report, err := Run(t.Context(), question, judge(), &shelf{all: pool, fail: map[evidence.Intent]bool{evidence.FalsifyLead: true}}, Options{})
	require.NoError(t, err, "the other searches count")
	assert.Equal(t, errDown.Error(), report.Searches[4].Error)
	assert.False(t, report.Searches[slices.IndexFunc(report.Searches, func(s Search) bool { return s.Round == 2 })].Continued, "what failed is tried again")

	all := map[evidence.Intent]bool{Plain: true, evidence.Support1: true, evidence.Support2: true, "hypothesis_support_3": true,
		"hypothesis_support_4": true, "hypothesis_support_5": true, evidence.DiscriminateTop2: true, evidence.FalsifyLead: true}
	report, err = Run(t.Context(), question, judge(), &shelf{fail: all}, Options{})
	assert.ErrorIs(t, err, errDown)
	assert.ErrorContains(t, err, "round 1: question: the index is down")
	assert.Len(t, report.Generation.Hypotheses, 5, "what was done is in the report")
	assert.NotNil(t, report.Triangulation)

	for _, tt := range []struct {
		question string
		opts     Options
	}{{" ", Options{}}, {question, Options{Triangulation: &evidence.Options{StopShare: 2}}}} {
		j := judge()
		_, err = Run(t.Context(), tt.question, j, &shelf{}, tt.opts)
		var refused *rubric.RequestError
		assert.ErrorAs(t, err, &refused)
		assert.Empty(t, j.prompts, "nothing is spent")
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Run(ctx, question, judge(), &shelf{}, Options{})
	assert.ErrorIs(t, err, context.Canceled)
}

// A tool that always finds something new is stopped by the number of rounds.
type endless struct {
	mu sync.Mutex
	n  int
}

func (e *endless) Search(context.Context, evidence.Query) ([]evidence.Snippet, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var s []evidence.Snippet
	for range 9 {
		e.n++
		s = append(s, evidence.Snippet{ID: "doc", Text: fmt.Sprintf("\xffnews %d on the valve", e.n), Source: "https://www.one.org/x"})
	}
	return s, nil
}

func TestRoundsAreBounded(t *testing.T) {
	report, err := Run(t.Context(), question, &replies{list: []string{reply(five...)}}, &endless{}, Options{MaxRounds: 3, PerQuery: 2, Parallel: 1})
	require.NoError(t, err)
	assert.Equal(t, OutOfRound, report.Ended)
	assert.Len(t, report.Triangulation.Rounds, 3)
	ids := map[string]bool{}
	for _, sn := range report.Request.Rounds[0].Snippets {
		assert.False(t, ids[sn.ID], "passages of one document are told apart")
		ids[sn.ID] = true
		assert.NotContains(t, sn.Text, "\xff")
	}
	assert.Len(t, report.Request.Rounds[0].Snippets, 16, "8 queries, 2 results each")
	for _, s := range report.Searches {
		if s.Query.Exclude != "" {
			assert.Equal(t, "one.org", s.Query.Exclude)
			assert.Empty(t, s.Results, "the tool gave only what was not wanted")
		}
	}
}
