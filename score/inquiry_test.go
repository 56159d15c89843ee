package score

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/score/evidence"
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

var reports = []evidence.Document{
	{ID: "divers", Source: "divers.example", Text: "Divers found that scour had washed out the foundation of the middle pier.\n\nThe hole in the river bed beside the pier is four metres deep; fast water dug it out."},
	{ID: "rods", Source: "lab.example", Text: "There is no evidence of metal fatigue: the tie rods are not cracked."},
	{ID: "traffic", Source: "road.example", Text: "The road was closed, so no overloaded truck was on the deck."},
	{ID: "survey", Source: "survey.example", Text: "The survey says that fast water at the piers had washed out gravel below the foundation for years."},
	{ID: "cooking", Source: "food.example", Text: "A stew of beans wants three hours."},
}

func proposing(text string) *Scorer {
	return &Scorer{Judges: OneJudge("m", replying(func(judge.Question) string { return text }))}
}

// The whole way: a judge proposes, documents answer, and they decide what leads.
func TestTriangulateAQuestion(t *testing.T) {
	asked := TriangulateRequest{Request: evidence.Request{Question: question, Documents: reports, EvenIfEasy: true}}
	a, err := proposing(proposed).Triangulate(t.Context(), asked)
	require.NoError(t, err)
	assert.Equal(t, "h1", a.Ranking[0].Hypothesis)
	assert.Contains(t, a.Message, "h1 leads")
	for _, sn := range a.Inquiry.Snippets {
		assert.NotEqual(t, "cooking", sn.ID)
	}
	again, err := new(Scorer).Triangulate(t.Context(), TriangulateRequest{Request: *a.Inquiry.Request})
	require.NoError(t, err)
	assert.Equal(t, a.ID, again.ID)
	assert.Equal(t, a.Result, again.Result, "the state is all there is to it")

	_, err = new(Scorer).Triangulate(t.Context(), TriangulateRequest{Request: evidence.Request{Question: "What is scour?", Documents: reports}})
	assert.NoError(t, err, "an easy question needs no judge")
	_, err = new(Scorer).Triangulate(t.Context(), asked)
	assert.Equal(t, ErrNoJudge, err)
	for _, said := range []string{"I'm sorry, I can't.", `{"hypotheses":[]}`, "five causes"} {
		_, err = proposing(said).Triangulate(t.Context(), asked)
		assert.ErrorIs(t, err, ErrJudge, said)
	}
	asked.Judge.Model = "x"
	_, err = proposing(proposed).Triangulate(t.Context(), asked)
	assert.ErrorContains(t, err, `judge.model: "x" is not configured`)
	asked = TriangulateRequest{Request: evidence.Request{Question: strings.Repeat("why ", 2000), EvenIfEasy: true}}
	_, err = proposing(proposed).Triangulate(t.Context(), asked)
	assert.NotErrorIs(t, err, ErrJudge, "the judge was not even asked")
	var request *rubric.RequestError
	assert.ErrorAs(t, err, &request)
}
