package score

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/run"
	"waymark/score/evidence"
	"waymark/score/evidence/inquiry"
	"waymark/score/judge"
	"waymark/score/rubric"
)

const question = "Why did the bridge fall?"

const proposed = `{"hypotheses":[
	{"text":"Scour washed out the pier foundation","rationale":"Fast water digs at piers","key_fact":"A hole in the river bed"},
	{"text":"Metal fatigue cracked the tie rods","rationale":"Old iron rods","key_fact":"Cracks in rods"},
	{"text":"An overloaded truck broke the deck","rationale":"Heavy traffic","key_fact":"A truck in the river"},
	{"text":"An earthquake shook the abutments","rationale":"A fault is near","key_fact":"A record of a quake"},
	{"text":"Frost split the arch stones","rationale":"A cold winter","key_fact":"Split stones"}]}`

var reports = []evidence.Snippet{
	{ID: "divers", Source: "divers.example", Text: "Divers found that scour had washed out the foundation of the middle pier.\n\nThe hole in the river bed beside the pier is four metres deep; fast water dug it out."},
	{ID: "rods", Source: "lab.example", Text: "There is no evidence of metal fatigue: the tie rods are not cracked."},
	{ID: "traffic", Source: "road.example", Text: "The road was closed, so no overloaded truck was on the deck."},
	{ID: "survey", Source: "survey.example", Text: "The survey says that fast water at the piers had washed out gravel below the foundation for years."},
	{ID: "cooking", Source: "food.example", Text: "A stew of beans wants three hours."},
}

func documents(snippets []evidence.Snippet) []Document {
	var docs []Document
	for _, s := range snippets {
		docs = append(docs, Document(s))
	}
	return docs
}

func proposing(text string) *Scorer {
	return &Scorer{Judges: OneJudge("m", replying(func(judge.Question) string { return text }))}
}

// The whole way: a judge proposes, documents answer, and what leads is what they say.
func TestInquireInDocuments(t *testing.T) {
	s := proposing(proposed)
	a, err := s.Inquire(t.Context(), InquiryRequest{Question: question, Documents: documents(reports), Options: inquiry.Options{EvenIfEasy: true}})
	require.NoError(t, err)
	require.NotNil(t, a.Triangulation)
	assert.Equal(t, "h1", a.Triangulation.Ranking[0].Hypothesis)
	assert.Contains(t, a.Message, "h1 leads")
	assert.NotEmpty(t, a.Ended)
	for _, sn := range a.Snippets {
		assert.NotEqual(t, "cooking", sn.ID)
	}
	again, err := s.Triangulate(t.Context(), *a.Request)
	require.NoError(t, err)
	assert.Equal(t, a.ID, again.ID)
	assert.Equal(t, *a.Triangulation, again.Result, "the state is all there is to it")

	easy, err := new(Scorer).Inquire(t.Context(), InquiryRequest{Question: "What is scour?", Documents: documents(reports)})
	require.NoError(t, err)
	assert.Equal(t, inquiry.Easy, easy.Ended)
	assert.Empty(t, easy.ID)
	assert.NotEmpty(t, easy.Snippets)
}

// tools answers every call with one result.
type tools func(run.Call) (run.Result, error)

func (f tools) Call(_ context.Context, c run.Call) (run.Result, error) { return f(c) }

func TestInquireByATool(t *testing.T) {
	library := inquiry.NewLibrary(reports, 5)
	s := proposing(proposed)
	s.Caller = tools(func(c run.Call) (run.Result, error) {
		var arguments map[string]string
		require.NoError(t, json.Unmarshal(c.Arguments, &arguments))
		found, err := library.Search(t.Context(), evidence.Query{Text: arguments["q"]})
		require.NoError(t, err)
		var results []map[string]string
		for _, f := range found {
			results = append(results, map[string]string{"url": f.Source, "snippet": f.Text})
		}
		text, err := json.Marshal(map[string]any{"meta": map[string]any{"took": 3}, "results": results})
		require.NoError(t, err)
		assert.Equal(t, "web:search", c.Tool)
		assert.Equal(t, question, c.Intent)
		return run.Result{Structured: text}, nil
	})
	in := InquiryRequest{Question: question, SearchTool: "web:search", SearchArgument: "q", Options: inquiry.Options{EvenIfEasy: true}}
	a, err := s.Inquire(t.Context(), in)
	require.NoError(t, err)
	assert.Equal(t, "h1", a.Triangulation.Ranking[0].Hypothesis)

	for name, r := range map[string]struct {
		result run.Result
		err    error
	}{
		"failed":      {run.Result{Failure: run.FailedUnavailable, Message: "its server is not there"}, nil},
		"asks first":  {run.Result{NeedsInput: []byte("{}")}, nil},
		"not carried": {run.Result{}, errors.New("no such tool")},
	} {
		s.Caller = tools(func(run.Call) (run.Result, error) { return r.result, r.err })
		_, err := s.Inquire(t.Context(), in)
		assert.ErrorIs(t, err, ErrSearch, name)
		assert.NotErrorIs(t, err, ErrJudge, name)
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
		want   []evidence.Snippet
	}{
		"nothing":    {run.Result{}, nil},
		"no JSON":    {run.Result{Structured: []byte("{"), Content: []byte("{")}, nil},
		"plain text": {text("rain fell", " "), []evidence.Snippet{{Text: "rain fell"}}},
		"JSON in text": {text(`[{"title":"Rain","content":"it fell","link":"w.example"},{"no":"text"},3]`),
			[]evidence.Snippet{{Text: "Rain. it fell", Source: "w.example"}}},
		"nested": {run.Result{Structured: []byte(`{"a":{"deep":[{"text":"deeper"}]},"z":[{"text":"outer","id":"1"}]}`)},
			[]evidence.Snippet{{ID: "1", Text: "outer"}}},
		"numbers only": {run.Result{Structured: []byte(`{"results":[{"id":1}]}`)}, nil},
	} {
		assert.Equal(t, c.want, foundIn(c.result), name)
	}
}

// Whose fault it is: the request's, the judge's, or nobody's but the caller's.
func TestWhatAnInquiryRefuses(t *testing.T) {
	docs := documents(reports[:1])
	for name, c := range map[string]struct {
		s    *Scorer
		in   InquiryRequest
		want string
	}{
		"no question":   {new(Scorer), InquiryRequest{Documents: docs}, "question: is required"},
		"nowhere":       {new(Scorer), InquiryRequest{Question: question}, "documents: is empty"},
		"both":          {new(Scorer), InquiryRequest{Question: question, Documents: docs, SearchTool: "x"}, "search_tool: is given together"},
		"no servers":    {new(Scorer), InquiryRequest{Question: question, SearchTool: "x"}, "search_tool: no servers"},
		"long question": {proposing(proposed), InquiryRequest{Question: strings.Repeat("why ", 2000), Documents: docs, Options: inquiry.Options{EvenIfEasy: true}}, "question: "},
		"thresholds":    {proposing(proposed), InquiryRequest{Question: question, Documents: docs, Options: inquiry.Options{EvenIfEasy: true, Triangulation: &evidence.Options{StopShare: 7}}}, "options."},
	} {
		_, err := c.s.Inquire(t.Context(), c.in)
		var request *rubric.RequestError
		assert.ErrorAs(t, err, &request, name)
		assert.ErrorContains(t, err, c.want, name)
		assert.NotErrorIs(t, err, ErrJudge, name)
	}
	_, err := new(Scorer).Inquire(t.Context(), InquiryRequest{Question: question, Documents: docs, Options: inquiry.Options{EvenIfEasy: true}})
	assert.ErrorIs(t, err, ErrNoJudge)
	_, err = proposing("I'm sorry, I can't.").Inquire(t.Context(), InquiryRequest{Question: question, Documents: docs, Options: inquiry.Options{EvenIfEasy: true}})
	assert.ErrorIs(t, err, ErrJudge)

	_, err = proposing(proposed).Hypotheses(t.Context(), HypothesesRequest{Question: strings.Repeat("why ", 2000), EvenIfEasy: true})
	assert.NotErrorIs(t, err, ErrJudge, "the judge was not even asked")
	var request *rubric.RequestError
	assert.ErrorAs(t, err, &request)
}
