package evidence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/run"
	"waymark/score"
)

const question = "Why did the Orla Weir, the Kest Sluice and the Upper Mill all run dry in the same week?"

// replies is a judge that was recorded: it gives one reply after the other, and a reply that is not accepted goes back
// once, as the client of an endpoint does.
type replies struct {
	list    []string
	prompts []score.Question
	outcome score.Outcome // of an endpoint that gives no reply
}

func (r *replies) judge(score.JudgeOptions) (score.Asker, error) { return r, nil }

func (r *replies) Ask(_ context.Context, q score.Question) (j score.Judgement) {
	for ok := true; ok; ok = len(r.list) > 0 && j.Outcome == score.Unparsable {
		r.prompts = append(r.prompts, q)
		if r.outcome != "" {
			return score.Judgement{Outcome: r.outcome, Detail: "down"}
		}
		j = q.Read(r.list[0])
		r.list = r.list[1:]
	}
	return j
}

func replyOf(texts ...string) string {
	var items []string
	for _, t := range texts {
		items = append(items, fmt.Sprintf(`{"text":%q,"rationale":"It happens.","key_fact":"A gauge shows it."}`, t))
	}
	return "Here you are:\n```json\n{\"hypotheses\":[" + strings.Join(items, ",") + "]}\n```"
}

var five = []string{"A valve upstream was closed", "A drought emptied the lake", "The channel was blocked by ice", "Farms pumped the water away", "A leak drained the canal"}

func proposing() *replies { return &replies{list: []string{replyOf(five...)}} }

// A shelf is a search tool: it answers a query with snippets.
type shelf func(query string) ([]Snippet, error)

func (f shelf) Call(_ context.Context, c run.Call) (run.Result, error) {
	var arguments map[string]string
	if err := json.Unmarshal(c.Arguments, &arguments); err != nil {
		return run.Result{}, err
	}
	found, err := f(arguments["query"])
	if err != nil {
		return run.Result{}, err
	}
	text, err := json.Marshal(map[string]any{"meta": map[string]any{"took": 3}, "results": found})
	return run.Result{Structured: text}, err
}

var errDown = errors.New("the index is down")

var pool = []Snippet{
	{ID: "log", Text: "The log of the dam: the valve upstream was closed on Monday for an inspection.", Source: "https://dam.org/log"},
	{ID: "crew", Text: "Crews confirm that a valve upstream stayed closed all week.", Source: "https://crew.net/1"},
	{ID: "rain", Text: "Rainfall was normal, which contradicts talk of a drought at the lake.", Source: "https://sky.org"},
	{ID: "ice", Text: "No ice was seen in the channel, so a blocked channel is ruled out.", Source: "https://sky.org"},
	{Text: "Farms pumped little water in that week.", Source: "https://farm.org"},
}

// inPool finds the snippets of the pool with a tenth of the words of a query.
func inPool(query string) ([]Snippet, error) {
	var found []Snippet
	for _, s := range pool {
		if overlap(terms(s.Text), terms(query)) > .1 {
			found = append(found, s)
		}
	}
	return found, nil
}

func TestInquiry(t *testing.T) {
	asked := Request{Question: question, SearchTool: "web:search"}
	run := func() (Answer, []string) {
		var queries []string
		judge := proposing()
		a, err := Triangulate(t.Context(), asked, judge.judge, shelf(func(q string) ([]Snippet, error) {
			queries = append(queries, q)
			return inPool(q)
		}))
		require.NoError(t, err)
		assert.Len(t, judge.prompts, 1, "one call of the judge in all")
		return a, queries
	}
	a, queries := run()
	in := a.Inquiry
	assert.Contains(t, queries, question)
	assert.Equal(t, "h1", a.Ranking[0].Hypothesis)
	assert.Contains(t, a.Message, "h1 leads")
	assert.Contains(t, []string{"stop", "exhausted"}, in.Ended)
	assert.Len(t, in.Request.Rounds, len(a.Rounds))
	assert.Equal(t, wholeQuestion, in.Searches[0].Query.Intent)
	second := slices.IndexFunc(in.Searches, func(s Search) bool { return s.Round == 2 })
	assert.Equal(t, 8, second, "round 1: the question, 5 hypotheses, one query to tell two apart, one against the first")
	assert.Equal(t, falsifyLead, in.Searches[second].Query.Intent)
	slices.Sort(queries)
	assert.Len(t, slices.Compact(slices.Clone(queries)), len(queries), "each query is searched for once")
	for _, sn := range in.Snippets {
		assert.NotEmpty(t, sn.ID)
	}
	same, _ := run()
	assert.Equal(t, a, same, "the same replies and results give the same answer")

	again, err := Triangulate(t.Context(), *in.Request, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, a.Result, again.Result, "the state is all there is to it")
	assert.Equal(t, a.ID, again.ID)
}

func TestHowInquiriesEnd(t *testing.T) {
	docs := []Document{{Text: "Divers found that scour had washed out the pier."}, {Text: "A stew of beans wants three hours."}}
	a, err := Triangulate(t.Context(), Request{Question: "What is scour?", Documents: docs}, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, easy, a.Inquiry.Ended)
	assert.Empty(t, a.ID)
	assert.Nil(t, a.Inquiry.Request)
	assert.Equal(t, "The question is easy: a plain search found 1 snippet. "+askAnyway, a.Message)

	a, err = Triangulate(t.Context(), Request{Question: "What is scour?"}, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, easy, a.Inquiry.Ended)
	assert.Empty(t, a.Inquiry.Searches)

	a, err = Triangulate(t.Context(), Request{Question: "What is scour?", EvenIfEasy: true, NoneOfThese: true}, proposing().judge, nil)
	require.NoError(t, err)
	assert.Equal(t, proposed, a.Inquiry.Ended)
	assert.InDelta(t, 1./6, a.Priors["h5"], 1e-15)
	assert.Len(t, a.NextQueries, 4)
	assert.Equal(t, "5 hypotheses, 1.00 apart in the mean.", a.Message)
	state, more, err := AddEvidence(a.ID, *a.Inquiry.Request, Round{Snippets: pool[:1]})
	require.NoError(t, err)
	assert.Equal(t, "h1", more.Ranking[0].Hypothesis)
	assert.Len(t, state.Rounds, 1)
}

func TestGenerate(t *testing.T) {
	same := slices.Concat(five[:3], []string{"Upstream, a valve was closed"}, five[4:])
	for _, tt := range []struct {
		name    string
		replies []string
		alike   [][]string
		err     string
	}{
		{"at once", []string{replyOf(five...)}, [][]string{}, ""},
		{"prose first", []string{"So be it", replyOf(five...)}, [][]string{}, ""},
		{"too few first", []string{replyOf(five[:4]...), replyOf(five...)}, [][]string{}, ""},
		{"two the same, then not", []string{replyOf(same...), replyOf(five...)}, [][]string{}, ""},
		{"two the same", []string{replyOf(same...), replyOf(same...)}, [][]string{{"h1", "h4"}}, ""},
		{"too few", []string{replyOf(five[:4]...)}, nil, "the reply does not fit: it has 4 hypotheses, not 5"},
		{"never any", []string{"no", "no"}, nil, "unparsable: the reply has no JSON object"},
		{"declined", []string{"I'm sorry, I can't."}, nil, "refused: the model refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			judge := &replies{list: tt.replies}
			g, err := generate(t.Context(), Request{Question: question}, judge.judge)
			assert.Len(t, judge.prompts, len(tt.replies))
			if tt.err != "" {
				assert.ErrorIs(t, err, score.ErrJudge)
				assert.ErrorContains(t, err, tt.err)
				assert.Empty(t, g.Hypotheses, "nothing is filled in")
				return
			}
			require.NoError(t, err)
			assert.Len(t, g.Hypotheses, 5)
			assert.Equal(t, tt.alike, g.Alike)
			assert.Equal(t, len(tt.alike) == 0, g.Distinct)
		})
	}
}

func TestInquiryErrors(t *testing.T) {
	asked := Request{Question: question, SearchTool: "web:search"}
	_, err := Triangulate(t.Context(), asked, (&replies{outcome: score.Unavailable}).judge, shelf(inPool))
	var unanswered *score.AskError
	assert.ErrorAs(t, err, &unanswered)
	assert.ErrorIs(t, err, score.ErrJudge)

	a, err := Triangulate(t.Context(), asked, proposing().judge, shelf(func(q string) ([]Snippet, error) {
		if strings.Contains(q, " OR ") {
			return nil, errDown
		}
		return inPool(q)
	}))
	require.NoError(t, err, "the other searches count")
	assert.Equal(t, "web:search: the index is down", a.Inquiry.Searches[4].Error)
	for _, s := range a.Inquiry.Searches {
		assert.Equal(t, strings.Contains(s.Query.Text, " OR "), s.Error != "", s.Query.Text)
	}
	i := slices.IndexFunc(a.Inquiry.Searches, func(s Search) bool { return s.Round == 2 })
	assert.Contains(t, a.Inquiry.Searches[i].Query.Text, " OR ", "a search that failed is tried again")

	_, err = Triangulate(t.Context(), asked, proposing().judge, shelf(func(string) ([]Snippet, error) { return nil, errDown }))
	assert.ErrorIs(t, err, ErrSearch)
	assert.ErrorContains(t, err, "round 1: question: web:search: the index is down")

	docs := []Document{{Text: "rain"}}
	for _, tt := range []struct {
		r      Request
		caller run.Caller
		want   string
	}{
		{Request{Question: " "}, nil, "question: is required"},
		{Request{Question: strings.Repeat("why ", 2000)}, nil, "question: "},
		{Request{Question: question, Options: &Options{StopShare: 2}}, nil, "options.stop_share"},
		{Request{Question: question, Documents: docs, SearchTool: "x"}, nil, "search_tool: is given together"},
		{Request{Question: question, SearchTool: "x"}, nil, "search_tool: no servers"},
	} {
		judge := proposing()
		_, err = Triangulate(t.Context(), tt.r, judge.judge, tt.caller)
		var refused *score.RequestError
		assert.ErrorAs(t, err, &refused)
		assert.ErrorContains(t, err, tt.want)
		assert.Empty(t, judge.prompts, "nothing is spent")
	}
	_, err = Triangulate(t.Context(), Request{Question: question}, nil, nil)
	assert.ErrorIs(t, err, score.ErrNoJudge)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Triangulate(ctx, asked, proposing().judge, shelf(inPool))
	assert.ErrorIs(t, err, context.Canceled)
	assert.NotErrorIs(t, err, ErrSearch)
}

// A tool that always finds something new is stopped by the number of rounds.
func TestRoundsAreBounded(t *testing.T) {
	n := 0
	endless := shelf(func(string) (found []Snippet, err error) {
		for range 9 {
			n++
			found = append(found, Snippet{ID: "doc", Text: fmt.Sprintf("news %d on the valve", n), Source: "https://www.one.org/x"})
		}
		return found, nil
	})
	a, err := Triangulate(t.Context(), Request{Question: question, SearchTool: "x", MaxRounds: 3, PerQuery: 2}, proposing().judge, endless)
	require.NoError(t, err)
	assert.Equal(t, outOfRounds, a.Inquiry.Ended)
	assert.Len(t, a.Rounds, 3)
	ids := map[string]bool{}
	for _, sn := range a.Inquiry.Request.Rounds[0].Snippets {
		assert.False(t, ids[sn.ID], "passages of one document are told apart")
		ids[sn.ID] = true
	}
	assert.Len(t, ids, 16, "8 queries, 2 results each")
	for _, s := range a.Inquiry.Searches {
		if s.Query.Exclude != "" {
			assert.Equal(t, "one.org", s.Query.Exclude)
			assert.Empty(t, s.Results, "the tool gave only the source that was not wanted")
		}
	}
}

// tool answers every call with one result.
type tool struct {
	result run.Result
	err    error
}

func (t tool) Call(context.Context, run.Call) (run.Result, error) { return t.result, t.err }

func TestSearchToolFails(t *testing.T) {
	for name, c := range map[string]tool{
		"its server is not there":   {run.Result{Failure: run.FailedUnavailable, Message: "its server is not there"}, nil},
		"asks for something first":  {run.Result{NeedsInput: []byte("{}")}, nil},
		"web:search: no such tool!": {run.Result{}, errors.New("no such tool!")},
	} {
		_, err := Triangulate(t.Context(), Request{Question: question, SearchTool: "web:search"}, proposing().judge, c)
		assert.ErrorIs(t, err, ErrSearch)
		assert.ErrorContains(t, err, name)
	}
}

func TestFoundIn(t *testing.T) {
	text := func(blocks ...string) run.Result {
		var list []map[string]string
		for _, b := range blocks {
			list = append(list, map[string]string{"type": "text", "text": b})
		}
		content, err := json.Marshal(list)
		require.NoError(t, err)
		return run.Result{Content: content}
	}
	for name, c := range map[string]struct {
		result run.Result
		want   []Snippet
	}{
		"nothing":    {run.Result{}, nil},
		"no JSON":    {run.Result{Structured: []byte("{"), Content: []byte("{")}, nil},
		"plain text": {text("rain fell", " "), []Snippet{snippet("", "rain fell", "")}},
		"JSON in text": {text(`{"items":[{"title":"Rain","content":"it fell","url":"w.example"},{"no":"text"},3]}`),
			[]Snippet{snippet("Rain", "it fell", "w.example")}},
		"structured": {run.Result{Structured: []byte(`{"meta":[{"text":"x"}],"results":[{"text":"rain","source":"a"}]}`)},
			[]Snippet{snippet("", "rain", "a")}},
		"another form": {text(`[{"text":"rain"}]`), []Snippet{snippet("", `[{"text":"rain"}]`, "")}},
		"numbers only": {run.Result{Structured: []byte(`{"results":[{"id":1}]}`)}, nil},
	} {
		assert.Equal(t, c.want, foundIn(c.result), name)
	}
}

// No word is lost, no passage is too long, whatever the text.
func TestPassagesHoldTheWholeText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-zé.]{1,30}`), 0, 400).Draw(t, "words")
		var b strings.Builder
		for _, w := range words {
			b.WriteString(w + rapid.SampledFrom([]string{" ", "\n", "\n\n", ". "}).Draw(t, "gap"))
		}
		var all []string
		for _, p := range passages(Document{ID: "d", Text: b.String()}) {
			assert.NotEmpty(t, p.Text)
			assert.LessOrEqual(t, len(p.Text), longestPassage)
			all = append(all, p.Text)
		}
		assert.Equal(t, strings.Join(strings.Fields(b.String()), ""), strings.Join(strings.Fields(strings.Join(all, " ")), ""))
	})
}
