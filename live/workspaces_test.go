package live

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
)

// A workspace is abandoned only while nothing is stored in it: what was acknowledged beside it stays.
func TestAbandonBesideAWrite(t *testing.T) {
	w := NewWorkspaces(memory(t), Options{})
	t.Cleanup(func() { require.NoError(t, w.Close(context.Background())) })
	require.NoError(t, w.Abandon(ctx, "never-there"))
	for i := range 100 {
		name := fmt.Sprint("w", i)
		var recorded error
		var both sync.WaitGroup
		both.Go(func() {
			e, err := w.Open(ctx, name)
			if err == nil {
				_, err = e.Record(ctx, "test", []episodic.Episode{{ID: "e", Steps: []episodic.Step{{Tool: "a"}}}})
			}
			recorded = err
		})
		both.Go(func() {
			if _, err := w.Open(ctx, name); err == nil {
				assert.NoError(t, w.Abandon(ctx, name))
			}
		})
		both.Wait()
		require.NoError(t, recorded)
		e, err := w.Get(ctx, name)
		require.NoError(t, err)
		require.Positive(t, e.Head().Seq)
	}
	require.NoError(t, w.Abandon(ctx, DefaultWorkspace))
}
