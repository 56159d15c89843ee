package live

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest"
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
	_, err := e.PutTools(ctx, []catalog.Tool{{ID: "mail:send", Description: "Sends an e-mail."}}, Approver)
	require.NoError(t, err)
	_, err = e.Build(ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{"mail:send"}, found(t, e, "send mail"))
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
	_, err := e.PutTools(ctx, []catalog.Tool{{ID: "a:b", Description: "alpha"}}, Approver)
	require.NoError(t, err)
	_, err = e.Build(ctx)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return e.Vector(ctx, "query") != nil }, patience, time.Millisecond)
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

// A rebuild that began before the request to forget has read what is erased; its model must not stay.
func TestForgetWhileARebuildIsUnderWay(t *testing.T) {
	e := workspace(t, memory(t), unlearned)
	fill(t, e, 7, 20)
	_, err := e.Record(ctx, "spy", []episodic.Episode{episode("secret", "secret:a", "secret:b")})
	require.NoError(t, err)
	for range 3 {
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

// Whoever asks for a workspace that is being deleted gets an error or a new one, never a dead one.
func TestDeleteBesideGet(t *testing.T) {
	w := NewWorkspaces(memory(t), unlearned)
	defer func() { require.NoError(t, w.Close(ctx)) }()
	for range 20 {
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
