package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest"
	"waymark/suggest/history"
)

// endpoint is an embeddings endpoint whose behaviour a test decides.
type endpoint func(ctx context.Context, texts []string) ([][]float32, error)

func (f endpoint) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return f(ctx, texts)
}
func (endpoint) Model() string { return "test" }

func found(t testing.TB, e *Engine, query string) []string {
	t.Helper()
	a, err := e.Model().Search(suggest.SearchRequest{Query: query, Vector: e.Vector(ctx, query)})
	require.NoError(t, err)
	ids := []string{}
	for _, r := range a.Results {
		ids = append(ids, r.ID)
	}
	return ids
}

// Search never waits for the endpoint: not in the first build, not while it hangs, and closing does
// not wait for it either.
func TestAHangingEndpointHoldsNothingUp(t *testing.T) {
	hang := endpoint(func(ctx context.Context, _ []string) ([][]float32, error) { <-ctx.Done(); return nil, ctx.Err() })
	e := workspace(t, memory(t), Options{Embedder: hang})
	_, err := e.PutTools(ctx, []catalog.Tool{{ID: "mail:send", Description: "Sends an e-mail."}})
	require.NoError(t, err)
	began := time.Now()
	_, err = e.Build(ctx)
	require.NoError(t, err)
	assert.Less(t, time.Since(began), 5*time.Second)
	assert.Equal(t, []string{"mail:send"}, found(t, e, "send mail"))
}

// Vectors come in by a build of their own; the model then has another version, and a replay without the
// endpoint gives it again.
func TestVectorsMakeAnotherVersion(t *testing.T) {
	ready := make(chan struct{})
	fake := endpoint(func(ctx context.Context, texts []string) ([][]float32, error) {
		select {
		case <-ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		v := make([][]float32, len(texts))
		for i, text := range texts {
			v[i] = []float32{1, 0}
			if len(text) > 40 { // only the second tool has a long text
				v[i] = []float32{0, 1}
			}
		}
		return v, nil
	})
	store := memory(t)
	ws := NewWorkspaces(store, Options{Embedder: fake})
	e, err := ws.Get(ctx, "default")
	require.NoError(t, err)
	_, err = e.PutTools(ctx, []catalog.Tool{{ID: "a:b", Description: "short"}, {ID: "c:d", Description: "something that is described at some length here"}})
	require.NoError(t, err)
	_, err = e.Build(ctx)
	require.NoError(t, err)
	before := e.Model().Info().Version
	close(ready)
	require.Eventually(t, func() bool { return e.Model().Info().Version != before }, 2*time.Minute, time.Millisecond)
	verify(t, e)
	version, hash := e.Model().Info().Version, e.Model().Hash()
	require.NoError(t, ws.Close(ctx))
	e = workspace(t, store, Options{}) // no endpoint any more
	assert.Equal(t, version, e.Model().Info().Version)
	assert.Equal(t, hash, e.Model().Hash())
	verify(t, e)
}

// letters embeds a text by its first letter. Its name is that of its model.
type letters string

func (letters) Embed(_ context.Context, texts []string) ([][]float32, error) {
	v := make([][]float32, len(texts))
	for i, t := range texts {
		v[i] = []float32{float32(t[0]), 1}
	}
	return v, nil
}
func (m letters) Model() string { return string(m) }

// The vectors of two embedders do not compare, even of the same dimension: a query has no vector while the current
// model was built with those of another.
func TestQueriesAreEmbeddedAsTheModelIs(t *testing.T) {
	store := memory(t)
	open := func(embedder Embedder) (*Engine, *Workspaces) {
		ws := NewWorkspaces(store, Options{Embedder: embedder})
		e, err := ws.Get(ctx, "default")
		require.NoError(t, err)
		return e, ws
	}
	e, ws := open(letters("one"))
	require.Nil(t, e.Vector(ctx, "query"), "no model has vectors yet")
	_, err := e.PutTools(ctx, []catalog.Tool{{ID: "a:b", Description: "alpha"}})
	require.NoError(t, err)
	_, err = e.Build(ctx)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return e.Vector(ctx, "query") != nil }, time.Minute, time.Millisecond)
	require.NoError(t, ws.Close(ctx))

	e, ws = open(endpoint(func(ctx context.Context, texts []string) ([][]float32, error) {
		if texts[0] != "query" {
			return nil, errors.New("not now")
		}
		return [][]float32{{1, 0}}, nil
	}))
	require.Nil(t, e.Vector(ctx, "query"), "the model has vectors of another embedder")
	require.NoError(t, ws.Close(ctx))
}

// A tool that comes while a fetch is at work is not forgotten, even when that fetch brings nothing.
func TestAFetchAtWorkLooksAgain(t *testing.T) {
	store := memory(t)
	ws := NewWorkspaces(store, Options{})
	e, err := ws.Get(ctx, "default")
	require.NoError(t, err)
	_, err = e.PutTools(ctx, []catalog.Tool{{ID: "a:b", Description: "There from the start."}})
	require.NoError(t, err)
	require.NoError(t, ws.Close(ctx))

	asked, answer := make(chan []string, 8), make(chan struct{})
	e = workspace(t, store, Options{Embedder: endpoint(func(ctx context.Context, texts []string) ([][]float32, error) {
		asked <- texts
		select {
		case <-answer:
		case <-ctx.Done():
		}
		return nil, errors.New("not now")
	})})
	require.Len(t, <-asked, 1)
	_, err = e.PutTools(ctx, []catalog.Tool{{ID: "c:d", Description: "Comes later."}})
	require.NoError(t, err)
	_, err = e.Build(ctx)
	require.NoError(t, err)
	close(answer)
	assert.Len(t, <-asked, 2)
}

// A build that fails is reported once, leaves the log alone, and does not keep later ones from
// starting by themselves.
func TestAFailedBuildEndsAndALaterOneStarts(t *testing.T) {
	fail := true
	e := workspace(t, memory(t), Options{Measure: suggest.MeasureOptions{Progress: func(string, float64) {
		if fail {
			panic("measured to fail")
		}
	}}})
	_, err := e.PutTools(ctx, []catalog.Tool{{ID: "a:b", Description: "alpha"}})
	require.NoError(t, err)
	_, err = e.Build(ctx)
	require.ErrorContains(t, err, "measured to fail")
	assert.Less(t, e.Head().Seq, uint64(8))
	require.NoError(t, e.do(ctx, func(*writer) { fail = false }))
	_, err = e.PutTools(ctx, []catalog.Tool{{ID: "c:d", Description: "gamma"}})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		last := e.Jobs()[0]
		return last.Reason == "the catalog changed" && last.State == JobDone
	}, 2*time.Minute, 5*time.Millisecond)
	assert.Contains(t, found(t, e, "gamma"), "c:d")
}

// A rebuild that began before the request to forget has read what is erased; its model must not stay.
func TestForgetWhileARebuildIsUnderWay(t *testing.T) {
	e := workspace(t, memory(t), Options{})
	fill(t, e, 7, 50)
	_, err := e.Record(ctx, "spy", []episodic.Episode{episode("secret", "secret:a", "secret:b")})
	require.NoError(t, err)
	for range 5 {
		_, err := e.Rebuild(false, false)
		require.NoError(t, err)
		r, err := e.Forget(ctx, Selection{Source: "spy"})
		require.NoError(t, err)
		assert.NotContains(t, after(t, e, r.Seq, "secret:a"), "secret:b")
		verify(t, e)
		_, err = e.Record(ctx, "spy", []episodic.Episode{episode("secret2", "secret:a", "secret:b")})
		require.NoError(t, err)
	}
}

// A rebuild that was asked for by somebody else, and canceled, does not keep the model from forgetting.
func TestForgetWhileARebuildIsCanceled(t *testing.T) {
	e := workspace(t, memory(t), Options{})
	fill(t, e, 8, 50)
	for i := range 10 {
		_, err := e.Record(ctx, "spy", []episodic.Episode{episode(fmt.Sprint("secret", i), "secret:a", "secret:b")})
		require.NoError(t, err)
		j, err := e.Rebuild(false, false)
		require.NoError(t, err)
		time.AfterFunc(time.Duration(i)*time.Millisecond, func() { e.CancelJob(j.ID) })
		r, err := e.Forget(ctx, Selection{Source: "spy"})
		require.NoError(t, err)
		assert.NotContains(t, after(t, e, r.Seq, "secret:a"), "secret:b")
	}
	verify(t, e)
}

func TestOneBatchSeesWhatItPuts(t *testing.T) {
	e := workspace(t, memory(t), Options{})
	r, err := e.PutTools(ctx, []catalog.Tool{{ID: "a:b", Description: "x"}, {ID: "a:b", Description: "x"}, {ID: "a:b", Description: "y"}})
	require.NoError(t, err)
	assert.Equal(t, []int{1, 0, 1}, []int{r.Added, r.Updated, r.Unchanged})
	assert.Equal(t, []Rejection{{Line: 3, ID: "a:b", Error: `tool "a:b" was read before, on line 1, with other content`}}, r.Rejected)
}

// Kept out since, or stored before that: the same episode is the same episode.
func TestRedeliveryAfterIntentsAreDropped(t *testing.T) {
	store := memory(t)
	ws := NewWorkspaces(store, Options{})
	e, err := ws.Get(ctx, "default")
	require.NoError(t, err)
	record(t, e, episode("1", "a", "b"))
	require.NoError(t, ws.Close(ctx))
	e = workspace(t, store, Options{DropIntents: true})
	assert.Equal(t, 1, record(t, e, episode("1", "a", "b")).Duplicates)
}

func TestFeedbackOnUnknownIDsIsRefused(t *testing.T) {
	e := workspace(t, memory(t), Options{})
	record(t, e, episode("1", "a", "b"))
	var wrong *suggest.RequestError
	_, err := e.Feedback(ctx, "test", Feedback{Context: []string{"a"}, ID: "typo"})
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, "id", wrong.Field)
	assert.Equal(t, suggest.NotFound, wrong.Kind)
	_, err = e.Feedback(ctx, "test", Feedback{Context: []string{"nobody"}, ID: "b"})
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, "context[0]", wrong.Field)
}

// Whoever asks for a workspace that is being deleted gets an error or a new one, never a dead one.
func TestDeleteBesideGet(t *testing.T) {
	w := NewWorkspaces(memory(t), Options{})
	defer func() { require.NoError(t, w.Close(ctx)) }()
	for range 50 {
		_, err := w.Open(ctx, "x")
		require.NoError(t, err)
		done := make(chan error)
		go func() { done <- w.Delete(ctx, "x") }()
		if e, err := w.Open(ctx, "x"); err == nil {
			_, err = e.Record(ctx, "test", []episodic.Episode{episode("1", "a")})
			require.True(t, err == nil || errors.Is(err, ErrClosed), "%v", err)
		} else {
			require.ErrorIs(t, err, ErrClosed)
		}
		require.NoError(t, <-done)
	}
}

// A request to forget that failed on its way is carried out when it is made again.
func TestForgetAgain(t *testing.T) {
	var fails atomic.Bool
	e := workspace(t, memory(t), Options{measure: func(ctx context.Context, c *history.Counts, o suggest.MeasureOptions) (*suggest.Measures, error) {
		if fails.Load() {
			return nil, errors.New("too little memory")
		}
		return suggest.Measure(ctx, c, o)
	}})
	_, err := e.Record(ctx, "spy", []episodic.Episode{episode("secret", "hidden:a", "hidden:b")})
	require.NoError(t, err)
	_, err = e.Build(ctx)
	require.NoError(t, err)
	settled(t, e)
	fails.Store(true)
	_, err = e.Forget(ctx, Selection{Source: "spy"})
	require.ErrorContains(t, err, "too little memory")
	fails.Store(false)
	_, err = e.Forget(ctx, Selection{Source: "spy"})
	require.NoError(t, err)
	assert.Zero(t, e.Model().Stats().Episodes)
	settled(t, e)
	for s, err := range logOf(e.store, e.name).Snapshots(ctx) {
		require.NoError(t, err)
		assert.False(t, bytes.Contains(s.Data, []byte("do secret")), "snapshot at %d", s.Seq)
	}
	verify(t, e)
}

// A capability names a tool by a spelling that begins to stand for another id without any change of
// the catalog.
func TestSpellingMetLater(t *testing.T) {
	e := workspace(t, memory(t), Options{})
	fill(t, e, 3, 20)
	_, err := e.PutTools(ctx, []catalog.Tool{{ID: "mcp__x__y"}})
	require.NoError(t, err)
	_, err = e.PutCapabilities(ctx, []catalog.Capability{{ID: "cap:three", Tools: []string{"mcp__x__y", "s3:tool_3", "s4:tool_4"}}})
	require.NoError(t, err)
	_, err = e.RemoveTool(ctx, "mcp__x__y")
	require.NoError(t, err)
	_, err = e.Build(ctx)
	require.NoError(t, err)
	settled(t, e)
	record(t, e, episode("later", "x:y", "s3:tool_3"))
	_, err = e.Build(ctx)
	require.NoError(t, err)
	settled(t, e)
	verify(t, e)
	running := e.Model()
	finish(t, e, false)
	was, err := running.Export("", 0)
	require.NoError(t, err)
	is, err := e.Model().Export("", 0)
	require.NoError(t, err)
	assert.Equal(t, is.Uses, was.Uses)
}
