package record

import (
	"context"
	"time"

	"waymark/episodic"
	"waymark/live"
	"waymark/suggest"
)

// Workspace is the store of a workspace that is opened when it is first needed.
type Workspace struct {
	Workspaces *live.Workspaces
	Name       string
}

// Perform is [live.Engine.Perform].
func (w Workspace) Perform(ctx context.Context, source string, p live.Performed) (uint64, error) {
	e, err := w.Workspaces.Open(ctx, w.Name)
	if err != nil {
		return 0, err
	}
	return e.Perform(ctx, source, p)
}

// Growing is [live.Engine.Growing].
func (w Workspace) Growing(ctx context.Context, source, session string) (p episodic.Place, steps []string, last time.Time, ok bool) {
	e, err := w.Workspaces.Get(ctx, w.Name)
	if err != nil {
		return p, nil, last, false
	}
	return e.Growing(ctx, source, session)
}

// DigestKey is [live.Engine.DigestKey].
func (w Workspace) DigestKey(ctx context.Context) (episodic.DigestKey, error) {
	e, err := w.Workspaces.Open(ctx, w.Name)
	if err != nil {
		return episodic.DigestKey{}, err
	}
	return e.DigestKey(ctx)
}

// nextWait is how long [Recorder.Next] waits for a model that counts the last call.
const nextWait = 300 * time.Millisecond

// Next is what comes next in a session, after all that it has done in its newest episode; not ok if it has
// done nothing, or its model does not count the last call yet.
func (r *Recorder) Next(ctx context.Context, e *live.Engine, source, session string, limit int) (a suggest.NextAnswer, ok bool) {
	done, ok := r.Done(source, session)
	if !ok {
		return a, false
	}
	ctx, cancel := context.WithTimeout(ctx, nextWait)
	defer cancel()
	if e.Wait(ctx, done.Seq) != nil {
		return a, false
	}
	explain := false
	a, err := e.Next(e.Model(), nil, suggest.NextRequest{
		Context: done.Tools, Intent: done.Intent, Limit: limit, Explain: &explain,
	})
	if err != nil {
		return a, false
	}
	return a, true
}
