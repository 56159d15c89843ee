package live

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/storage"
	"waymark/suggest"
	"waymark/suggest/history"
)

// blocked opens workspaces where measuring anything waits until it is released or canceled.
func blocked(store *storage.Store) (ws *Workspaces, release func()) {
	released := make(chan struct{})
	measure := func(ctx context.Context, c *history.Counts, o suggest.MeasureOptions) (*suggest.Measures, error) {
		m, err := suggest.Measure(ctx, c, o)
		if err != nil {
			return nil, err
		}
		if model, err := suggest.NewModel(c, m, suggest.Stamp{}); err != nil || model.Info().Nodes == 0 {
			return m, err
		}
		select {
		case <-released:
			return m, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return NewWorkspaces(store, Options{Measure: unlearned.Measure, measure: measure}), func() { close(released) }
}

// Neither a question nor a recording waits for a build that was cut short, where there is a model of the build before.
func TestNobodyWaitsForABuildThatWasCutShort(t *testing.T) {
	store := memory(t)
	e, end := reopened(t, store)
	record(t, e, episode("0", "a", "b"))
	settled(t, e)
	end()
	ws, _ := blocked(store)
	e, err := ws.Get(ctx, "default")
	require.NoError(t, err)
	record(t, e, episode("1", "a", "c")) // a tool not met before: a build is due
	require.Eventually(t, func() bool { return e.Head().Seq > e.Counted() }, patience, time.Millisecond)
	require.NoError(t, ws.Close(ctx))

	ws, release := blocked(store)
	defer func() { require.NoError(t, ws.Close(ctx)) }()
	e, err = ws.Get(ctx, "default")
	require.NoError(t, err)
	r, err := e.Record(ctx, "test", []episodic.Episode{episode("2", "a", "b")})
	require.NoError(t, err)
	assert.Equal(t, 1, r.Accepted)
	assert.Contains(t, after(t, e, r.Seq, "a"), "c", "counted, if not measured")
	release()
	settled(t, e)
	assert.Contains(t, after(t, e, r.Seq, "a"), "c")
}
