package live

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/evaluate"
	"waymark/storage"
	"waymark/suggest"
)

// inLog lists the answers in the log, as they stand there.
func inLog(t testing.TB, e *Engine) (all []served) {
	t.Helper()
	for ev, err := range e.log.Read(ctx, 0) {
		require.NoError(t, err)
		if !ev.Erased && ev.Payload[0] == kindServed {
			_, v, err := decode(ev.Payload)
			require.NoError(t, err)
			all = append(all, *v.(*served))
		}
	}
	return all
}

// next asks through the engine, as the surfaces do.
func next(t testing.TB, e *Engine, session string, context ...string) suggest.NextAnswer {
	t.Helper()
	a, err := e.Next(e.Model(), Asker{Source: "host", Session: session}, suggest.NextRequest{Context: context, Intent: ""})
	require.NoError(t, err)
	return a
}

func listed(a suggest.NextAnswer) []string {
	ids := []string{}
	for _, s := range a.Suggestions {
		ids = append(ids, s.ID)
	}
	return ids
}

// branching is a workspace in which many things follow one.
func branching(t testing.TB, store storage.Store, x Experiment) (*Engine, func()) {
	t.Helper()
	ws := NewWorkspaces(store, Options{Experiment: x})
	e, err := ws.Get(ctx, "default")
	require.NoError(t, err)
	if e.Head().Seq == 0 {
		var all []episodic.Episode
		for i := range 60 {
			ep := episode(fmt.Sprint("b", i), fmt.Sprint("start", i%10), []string{"u", "u", "u", "v", "v", "w", "x"}[i%7], "end")
			ep.Intent = ""
			all = append(all, ep)
		}
		require.NoError(t, e.Wait(ctx, record(t, e, all...).Seq))
		settled(t, e)
		_, err = e.Build(ctx)
		require.NoError(t, err)
		settled(t, e)
	}
	return e, sync.OnceFunc(func() { require.NoError(t, ws.Close(ctx)) })
}

func TestNothingIsLoggedUnlessAsked(t *testing.T) {
	e, end := branching(t, storage.NewMemory(), Experiment{})
	defer end()
	a := next(t, e, "s", "start1")
	assert.Nil(t, a.Experiment)
	plain, err := e.Model().Next(suggest.NextRequest{Context: []string{"start1"}})
	require.NoError(t, err)
	assert.Equal(t, plain, a)
	head := e.Head()
	end()
	assert.Equal(t, head, e.Head())
}

// Answers that are logged matter to no model, whoever writes beside them; and their ids live on.
func TestAnswersAreLogged(t *testing.T) {
	store := storage.NewMemory()
	e, end := branching(t, store, Experiment{Log: 1})
	defer end()
	version := e.Model().Info().Version
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			for i := range 40 {
				next(t, e, "", fmt.Sprint("start", (i+k)%10))
				if i%4 == 0 {
					record(t, e, episode(fmt.Sprint("beside", k, "-", i), "start1", "u"))
				}
			}
		})
	}
	wg.Wait()
	settled(t, e)
	assert.NotEqual(t, version, e.Model().Info().Version)
	verify(t, e)
	last := next(t, e, "", "start3")
	seq := record(t, e, episode("later", "start3", "v")).Seq
	wait, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	require.NoError(t, e.Wait(wait, seq), "what is served does not keep an event from counting")
	settled(t, e)
	verify(t, e)
	version, hash := e.Model().Info().Version, e.Model().Hash()
	end()
	all := inLog(t, e)
	require.NotEmpty(t, all)
	ids := map[string]bool{}
	for _, a := range all {
		assert.False(t, ids[a.ID], "%s is logged twice", a.ID)
		ids[a.ID] = true
	}
	assert.Contains(t, ids, last.SuggestionID)
	at := slices.IndexFunc(all, func(a served) bool { return a.ID == last.SuggestionID })
	want := served{ID: last.SuggestionID, Question: "next", Context: []string{"start3"}, Ranked: listed(last), Profile: "learned",
		Logged: 1, Source: "host", Model: all[at].Model}
	assert.Equal(t, want, all[at])

	e, end = branching(t, store, Experiment{}) // the log is read also when nothing more is logged
	defer end()
	assert.Equal(t, version, e.Model().Info().Version)
	assert.Equal(t, hash, e.Model().Hash())
	verify(t, e)
	for range 5 {
		_, err := e.Feedback(ctx, "host", Feedback{SuggestionID: last.SuggestionID, Used: true, Outcome: episodic.Failure})
		require.NoError(t, err, "an id survives a restart")
	}
	assert.NotContains(t, after(t, e, e.Counted(), "start3"), listed(last)[0], "the first was meant")
	_, err := e.Feedback(ctx, "host", Feedback{SuggestionID: "sg_never"})
	assert.ErrorContains(t, err, "sg_never")

	r, err := e.Forget(ctx, Selection{Source: "host"})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, r.Erased, len(all)+5)
	assert.Empty(t, inLog(t, e))
	_, err = e.Feedback(ctx, "host", Feedback{SuggestionID: last.SuggestionID})
	assert.ErrorContains(t, err, last.SuggestionID, "what is forgotten is not known any more")
	verify(t, e)
}

func TestAShareIsLogged(t *testing.T) {
	e, end := branching(t, storage.NewMemory(), Experiment{Log: .5})
	defer end()
	want := map[string]bool{}
	for i := range 200 {
		a, err := e.Next(e.Model(), Asker{}, suggest.NextRequest{Context: []string{fmt.Sprint("start", i%10)}, Intent: fmt.Sprint("secret ", i), Limit: 1 + i%20})
		require.NoError(t, err)
		if uniform("log", a.SuggestionID) < .5 {
			want[a.SuggestionID] = true
		}
	}
	end()
	got := inLog(t, e)
	assert.Len(t, got, len(want))
	assert.InDelta(t, 100, len(got), 35)
	for _, a := range got {
		assert.Equal(t, .5, a.Logged)
	}
	for ev, err := range e.log.Read(ctx, 0) {
		require.NoError(t, err)
		assert.False(t, ev.Payload[0] == kindServed && bytes.Contains(ev.Payload, []byte("secret")), "what was asked in words is not logged")
	}
}

// One conversation has one arm; a question that names a profile takes part in nothing.
func TestSplit(t *testing.T) {
	seedFirst(t)
	store := storage.NewMemory()
	e, end := branching(t, store, Experiment{Profile: suggest.ProfileLearned, Split: .3})
	defer end()
	assert.Equal(t, 1., e.Experiment().Log, "what is tried is logged")
	fitted(t, e)
	second := 0
	for i := range 300 {
		session := fmt.Sprint("session", i)
		a, again := next(t, e, session, "start1"), next(t, e, session, "start2")
		require.Equal(t, a.Experiment.Arm, again.Experiment.Arm)
		require.Equal(t, a.SuggestionID, next(t, e, session, "start1").SuggestionID)
		want := suggest.ProfileSeed
		if a.Experiment.Arm == evaluate.SecondArm {
			second++
			want = suggest.ProfileLearned
		}
		require.Equal(t, want, a.Model.Profile)
	}
	assert.InDelta(t, 90, second, 30)
	alone := next(t, e, "", "start1")
	assert.Equal(t, alone, next(t, e, "", "start1"), "without a conversation the question decides")
	named, err := e.Next(e.Model(), Asker{Session: "session1"}, suggest.NextRequest{Context: []string{"start1"}, Profile: suggest.ProfileSeed})
	require.NoError(t, err)
	assert.Nil(t, named.Experiment)
	for i := range 20 { // a profile that has nothing to say about plans leaves them to the other
		who := Asker{Session: fmt.Sprint("session", i)}
		d, err := e.Plan(e.Model(), who, suggest.DAGRequest{Intent: "start and end"})
		require.NoError(t, err)
		drawn := d.Experiment
		require.NotNil(t, drawn)
		assert.Equal(t, evaluate.FirstArm, drawn.Arm)
		assert.Equal(t, uniform("arm", "session", who.Session) < .3, drawn.Alone, "it answers in the place of the second")
	}
	end()
	arms := map[string]string{}
	for _, a := range inLog(t, e) {
		arms[a.Arm] = a.Profile
	}
	assert.Equal(t, suggest.ProfileLearned, arms[evaluate.SecondArm])
	assert.Equal(t, suggest.ProfileSeed, arms[evaluate.FirstArm])
}

// seedFirst leaves profile auto to the seed until profiles are judged, as in a long history.
func seedFirst(t testing.TB) {
	before := suggest.ShortSteps
	suggest.ShortSteps = 0
	t.Cleanup(func() { suggest.ShortSteps = before })
}

// fitted waits until the second profile can answer.
func fitted(t testing.TB, e *Engine) {
	t.Helper()
	require.Eventually(t, func() bool { return e.Model().Ready() }, time.Minute, time.Millisecond)
}

// No answer waits for the second profile to be fitted. Until then the first answers alone, which counts for neither;
// whoever asks anew afterwards is compared.
func TestFirstAnswersAloneUntilTheSecondIsFitted(t *testing.T) {
	seedFirst(t)
	x := Experiment{Profile: suggest.ProfileLearned, Split: .5}
	store := storage.NewMemory()
	e, end := branching(t, store, Experiment{}) // nobody asked for what is learned
	defer end()
	unfitted := e.Model()
	require.False(t, unfitted.Ready())
	end()
	e, end = branching(t, store, x)
	defer end()
	fitted(t, e)

	ask := func(m *suggest.Model, session string) suggest.NextAnswer {
		a, err := e.Next(m, Asker{Source: "host", Session: session}, suggest.NextRequest{Context: []string{"start1"}})
		require.NoError(t, err)
		return a
	}
	ids := map[string]bool{}
	alone, compared := 0, 0
	for i := range 40 {
		session := fmt.Sprint("session", i)
		before, after := ask(unfitted, session), ask(e.Model(), session)
		require.False(t, unfitted.Ready(), "no answer works out what it takes")
		require.Equal(t, suggest.ProfileSeed, before.Model.Profile)
		assert.Equal(t, evaluate.FirstArm, before.Experiment.Arm)
		waits := uniform("arm", "session", session) < x.Split
		require.Equal(t, waits, before.Experiment.Alone)
		require.False(t, after.Experiment.Alone)
		if waits {
			require.NotEqual(t, before.SuggestionID, after.SuggestionID, "so that both are logged")
		}
		for _, a := range []suggest.NextAnswer{before, after} {
			ids[a.SuggestionID] = true
			if a.Experiment.Alone {
				alone++
			} else {
				compared++
			}
			ep := episode(fmt.Sprint(session, a.SuggestionID), "start1", "u")
			ep.Session, ep.SuggestionID = session, a.SuggestionID
			record(t, e, ep)
		}
	}
	require.Positive(t, alone)
	end()
	e, end = branching(t, store, x)
	defer end()
	assert.Len(t, inLog(t, e), len(ids), "no answer is lost")
	c, err := e.Compare(ctx)
	require.NoError(t, err)
	assert.Equal(t, alone, c.Alone)
	assert.Equal(t, alone+compared, c.Echoed)
	require.Len(t, c.Questions, 1)
	counted := 0
	for _, arm := range c.Questions[0].Arms {
		counted += arm.Outcomes
	}
	assert.Equal(t, compared, counted)
	assert.Condition(t, func() bool {
		return slices.ContainsFunc(c.Notes, func(n string) bool { return strings.Contains(n, "count for neither") })
	}, "%v", c.Notes)
}

func TestExperimentIsChecked(t *testing.T) {
	for _, x := range []Experiment{{Log: -.1}, {Log: 1.1}, {Split: .5}, {Profile: "best", Split: .5}, {Profile: "seed"}, {Profile: "seed", Split: 1}} {
		assert.Error(t, x.Check(), "%+v", x)
		_, err := NewWorkspaces(storage.NewMemory(), Options{Experiment: x}).Get(ctx, "default")
		assert.Error(t, err)
	}
	for _, x := range []Experiment{{}, {Log: 1}, {Log: 1, Profile: "seed", Split: .99}, {Profile: "auto", Split: .5}} {
		assert.NoError(t, x.Check(), "%+v", x)
	}
}

// The step that was chosen from an answer is known by its place there, if the answer is.
func TestShownPlaces(t *testing.T) {
	ep := func(tools ...string) *episodic.Episode { e := episode("x", tools...); return &e }
	e, end := branching(t, storage.NewMemory(), Experiment{})
	defer end()
	for _, c := range []struct {
		context []string
		steps   []string
		want    int // -1: none
	}{
		{nil, []string{"u", "v"}, 0},
		{[]string{"a"}, []string{"a", "b", "c"}, 1},
		{[]string{"a", "b"}, []string{"a", "b", "c"}, 2},
		{[]string{"a", "b"}, []string{"x", "b", "c"}, 2},
		{[]string{"a", "b"}, []string{"a", "b"}, -1},
		{[]string{"b"}, []string{"a", "b"}, -1},
		{[]string{"z"}, []string{"a", "b"}, 0},
	} {
		i, ok := (&served{Context: c.context}).followedBy(ep(c.steps...), e.Model())
		if assert.Equal(t, c.want >= 0, ok, "%+v", c) && ok {
			assert.Equal(t, c.want, i, "%+v", c)
		}
	}

	a := next(t, e, "", "start1")
	second := listed(a)[1]
	told := episode("told", "start1", second, "end")
	told.SuggestionID = a.SuggestionID
	told.Steps[0].Shown = 9 // nobody else says so
	record(t, e, told)
	told.Steps[0].Shown = 0
	unknown := episode("unknown", "start1", "u")
	unknown.SuggestionID, unknown.Steps[1].Shown = "sg_unknown", 3
	record(t, e, unknown)
	places := map[string][]int{}
	for item, err := range e.Items(ctx) {
		require.NoError(t, err)
		for _, s := range item.Episode.Steps {
			places[item.Episode.ID] = append(places[item.Episode.ID], s.Shown)
		}
	}
	assert.Equal(t, []int{0, 2, 0}, places["told"])
	assert.Equal(t, []int{0, 0}, places["unknown"])
	e.answers.served = servedAnswers{} // as after a restart
	assert.Equal(t, 1, record(t, e, told).Duplicates, "an answer that is forgotten makes no other episode")
}

// What became of answers, from the log, as the surfaces show it.
func TestCompare(t *testing.T) {
	store := storage.NewMemory()
	e, end := branching(t, store, Experiment{Profile: suggest.ProfileLearned, Split: .5})
	c, err := e.Compare(ctx)
	require.NoError(t, err)
	assert.Empty(t, c.Questions)
	release := e.Hold() // one model answers all
	m := e.Model()
	arms := map[string]int{}
	for i := range 400 {
		session := fmt.Sprint("conversation", i)
		a, err := e.Next(m, Asker{Source: "host", Session: session}, suggest.NextRequest{Context: []string{fmt.Sprint("start", i%10)}})
		require.NoError(t, err)
		arms[a.Experiment.Arm]++
		did := listed(a)[2] // the first is right: the first place
		if a.Experiment.Arm == evaluate.FirstArm {
			did = listed(a)[0]
		}
		ep := episode(fmt.Sprint("did", i), fmt.Sprint("start", i%10), did)
		ep.Session, ep.SuggestionID = session, a.SuggestionID
		record(t, e, ep)
		if i%50 == 0 { // the same told twice counts once; told without an episode it counts
			_, err = e.Feedback(ctx, "test", Feedback{SuggestionID: a.SuggestionID, Used: true})
			require.NoError(t, err)
			_, err = e.Feedback(ctx, "host", Feedback{SuggestionID: a.SuggestionID, Used: false, ID: did})
			require.NoError(t, err)
		}
	}
	lost := episode("lost", "start1", "u")
	lost.SuggestionID = "sg_lost"
	ended := episode("ended", "start1")
	ended.SuggestionID = next(t, e, "", "start1").SuggestionID
	record(t, e, lost, ended)
	release()
	end()
	e, end = branching(t, store, Experiment{})
	defer end()
	c, err = e.Compare(ctx)
	require.NoError(t, err)
	assert.Equal(t, 410, c.Echoed, "%+v", c)
	assert.Equal(t, 1, c.Unknown)
	assert.Equal(t, 1, c.Ended)
	require.Len(t, c.Questions, 1)
	q := c.Questions[0]
	assert.Equal(t, "next", q.Question)
	assert.Equal(t, evaluate.SecondBack, q.Verdict, "%+v", q)
	assert.Equal(t, 408, q.Arms[0].Outcomes+q.Arms[1].Outcomes)
	assert.InDelta(t, 1, q.Arms[0].Hit1, .05)
	assert.Zero(t, q.Arms[1].Hit1)
	assert.InDelta(t, 1./3, q.Arms[1].MRR, .02)
	assert.InDelta(t, 1, q.Arms[1].Hit5, .05)
	for _, arm := range q.Arms {
		assert.LessOrEqual(t, arm.CI["mrr"][0], arm.MRR)
		assert.GreaterOrEqual(t, arm.CI["mrr"][1], arm.MRR)
	}
	assert.Less(t, q.Difference.Interval[1], 0.)
}

// The episodes of a conversation are alike and drawn together; those of a host that gives nothing but its
// name are not one conversation.
func TestConversations(t *testing.T) {
	e, end := branching(t, storage.NewMemory(), Experiment{Log: 1})
	defer end()
	a := next(t, e, "", "start1")
	e.stopLogging()
	for i := range 60 {
		ep := episode(fmt.Sprint("did", i), "start1", "u")
		ep.Session, ep.SuggestionID = "some-host", a.SuggestionID
		if i >= 54 {
			ep.Session = []string{"one", "two", ""}[i%3]
		}
		record(t, e, ep)
	}
	c, err := e.Compare(ctx)
	require.NoError(t, err)
	require.Len(t, c.Questions, 1)
	assert.Equal(t, 60, c.Questions[0].Arms[0].Outcomes)
	assert.Equal(t, 54+2+2, c.Questions[0].Arms[0].Conversations, "54 of the host, one, two, and two of nobody")
}
