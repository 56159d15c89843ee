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
func blocked(store *storage.Store, patience time.Duration) (ws *Workspaces, release func()) {
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
	return NewWorkspaces(store, Options{Patience: patience, measure: measure}), func() { close(released) }
}

// A question waits for a build that was cut short no longer than it was told to, where there is a model of
// the build before; recording never waits, and a question that nothing can answer yet says why.
func TestNobodyWaitsForABuildThatWasCutShort(t *testing.T) {
	for name, built := range map[string]bool{"behind the build before": true, "the first of all": false} {
		t.Run(name, func(t *testing.T) {
			store := memory(t)
			if built {
				e, end := reopened(t, store)
				record(t, e, episode("0", "a", "b"))
				settled(t, e)
				end()
			}
			ws, _ := blocked(store, time.Hour)
			e, err := ws.Get(ctx, "default")
			require.NoError(t, err)
			record(t, e, episode("1", "a", "c")) // a tool not met before: a build is due
			require.Eventually(t, func() bool { return e.Head().Seq > e.Counted() }, 2*time.Minute, time.Millisecond)
			require.NoError(t, ws.Close(ctx))

			ws, release := blocked(store, time.Millisecond)
			defer func() { require.NoError(t, ws.Close(ctx)) }()
			recorder, err := ws.Open(ctx, "default")
			require.NoError(t, err)
			r, err := recorder.Record(ctx, "test", []episodic.Episode{episode("2", "a", "b")})
			require.NoError(t, err)
			assert.Equal(t, 1, r.Accepted)

			if built {
				asked, err := ws.Get(ctx, "default")
				require.NoError(t, err)
				assert.Contains(t, after(t, asked, r.Seq, "a"), "c", "counted, if not measured")
			} else {
				soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
				defer cancel()
				_, err := ws.Get(soon, "default")
				assert.ErrorIs(t, err, ErrNoBuild)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
			}
			release()
			_, err = ws.Get(ctx, "default")
			require.NoError(t, err)
			settled(t, recorder)
			assert.Contains(t, after(t, recorder, r.Seq, "a"), "c")
		})
	}
}
