package record

import (
	"context"
	"time"

	"waymark/ingest/hook"
)

const (
	wait   = 30 * time.Second // between two checks whether the history has grown
	growth = 50               // rules are derived again when the history has grown by more than 1/growth
)

// Whisper derives the rules for messages of hooks, until the context ends, for the workspaces whose hooks may speak.
func (f *Feed) Whisper(ctx context.Context, data string) {
	derived := map[string]uint64{}
	t := time.NewTicker(wait)
	defer t.Stop()
	for {
		names, err := hook.Whispering(data)
		for _, name := range names {
			if err == nil {
				err = f.derive(ctx, data, name, derived)
			}
		}
		if err != nil && ctx.Err() == nil {
			f.log.Warn("the lines of hooks are not derived", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// derive derives and writes the rules of a workspace if its history has grown or a part of it was forgotten.
func (f *Feed) derive(ctx context.Context, data, workspace string, derived map[string]uint64) error {
	engine, err := f.engine(ctx, workspace)
	if err != nil {
		return err
	}
	folder := hook.WhisperOf(data, workspace)
	head, was := engine.Counted(), derived[workspace]
	if was > 0 && folder.Derived() && head >= was && head-was <= was/growth {
		return nil
	}
	h := &hook.History{}
	for item, err := range engine.Items(ctx) {
		if err != nil {
			return err
		}
		if item.Episode != nil {
			h.Add(item.Episode)
		}
	}
	derived[workspace] = head
	return folder.Put(h.Derive(), f.now())
}
