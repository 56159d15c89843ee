package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"waymark/internal/bounded"
	"waymark/internal/codec"
	"waymark/storage"
	"waymark/suggest"
	"waymark/suggest/history"
	"waymark/suggest/semantic"
)

// snapshot is the state of a workspace at one build: a restart begins with it and folds only the later events. It
// contains nothing that a replay would not give, and is dropped when something that it counts is forgotten.
type snapshot struct {
	active
	rules    []Rule
	relevant place // the last event before the build that a model counts
	image    *history.Image
}

// keptBuild is the stored form of the build of a snapshot, with the rules in effect at that build.
type keptBuild struct {
	build
	Rules []Rule    `json:"rules,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// snapshotFormat changes with every change of the data written here and in the functions called, and with every change
// of the computation of measures that changes the result of a replay. Snapshots of other formats are not read.
const snapshotFormat = 25

// keepBehind writes a snapshot in the background, one at a time. Without a snapshot the next start takes longer and
// other processes keep the previous model, so the write is repeated after an outage of the database. If another
// process took over the lease to start builds, that process measures the build, and the snapshot is rejected.
func (e *Engine) keepBehind(s snapshot, m *suggest.Measures) {
	e.life.background.Go(func() {
		err := guarded(func() error {
			for {
				err := e.store.PutSnapshot(e.life.keeping, e.name, s.built.seq, buildLease, e.opts.lead.fence.Load(), func(to io.Writer) error {
					w := &codec.Writer{To: to}
					if err := s.write(w, m); err != nil {
						return err
					}
					return w.Flush()
				})
				if !errors.Is(err, storage.ErrUnavailable) {
					return err
				}
				bounded.Wait(e.life.keeping, followRetry)
			}
		})
		returnMemory()
		switch {
		case errors.Is(err, storage.ErrHeld):
			e.opts.Logger.Debug("snapshot is left to the process that holds the lease", "workspace", e.name, "event", s.built.seq)
		case err != nil && e.life.keeping.Err() == nil:
			e.opts.Logger.Warn("snapshot was not written; the next start replays more", "workspace", e.name, "event", s.built.seq, "error", err)
		}
	})
}

func (s *snapshot) write(w *codec.Writer, m *suggest.Measures) error {
	how, err := json.Marshal(keptBuild{s.how, s.rules, s.builtAt})
	if err != nil {
		return err
	}
	w.Uint(snapshotFormat)
	for _, p := range []place{s.relevant, s.built} {
		w.Uint(p.seq)
		w.Blob(p.chain[:])
	}
	w.Blob(how)
	if err := s.image.Write(w); err != nil {
		return err
	}
	m.Write(w)
	return nil
}

// readSnapshot decodes a snapshot into the log folded up to its build event, with measures.
func readSnapshot(data []byte, words *semantic.Thesaurus) (*replayedLog, error) {
	r := codec.NewReader(data)
	h := &replayedLog{}
	if format := r.Uint(); format != snapshotFormat {
		return nil, fmt.Errorf("another version of the program wrote it: format %d, not %d", format, snapshotFormat)
	}
	for _, p := range []*place{&h.relevant, &h.built} {
		p.seq = r.Uint()
		if copy(p.chain[:], r.Blob()) != len(p.chain) {
			r.Fail("a chain hash is too short")
		}
	}
	if how := r.Blob(); r.Err() == nil {
		kept := keptBuild{}
		err := json.Unmarshal(how, &kept)
		if h.how, h.rules, h.builtAt = kept.build, kept.Rules, kept.At; err != nil {
			r.Fail("options of the build: %w", err)
		}
	}
	h.head = storage.Head{Seq: h.built.seq, Chain: h.built.chain}
	h.state = history.ReadState(r)
	h.state.Alias(aliases(h.rules))
	h.state.Treat(treatments(h.rules))
	h.treated = h.built.seq
	if r.Err() == nil {
		h.measures = suggest.ReadMeasures(r, h.state.Freeze(), words)
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("%w: %w", storage.ErrDamaged, err)
	}
	return h, nil
}

func (e *Engine) readSnapshot(ctx context.Context, s storage.Snapshot) (*replayedLog, error) {
	data, err := s.Data(ctx)
	if err != nil {
		return nil, err
	}
	return readSnapshot(data, e.opts.Thesaurus)
}

// snapshots yields the folded logs of the stored snapshots, newest first. Snapshots that cannot be read are skipped.
func (e *Engine) snapshots(ctx context.Context) func(yield func(*replayedLog) bool) {
	return func(yield func(*replayedLog) bool) {
		kept, err := e.store.Snapshots(ctx, e.name)
		if err != nil {
			e.opts.Logger.Warn("snapshots cannot be read; a replay takes their place", "workspace", e.name, "error", err)
		}
		for _, s := range kept {
			h, err := e.readSnapshot(ctx, s)
			if err != nil {
				e.opts.Logger.Warn("snapshot cannot be read; an older one or a replay takes its place", "workspace", e.name, "event", s.Seq, "error", err)
			} else if !yield(h) {
				return
			}
		}
	}
}

// ModelNamed returns the running model ("current"), the model before the last build ("previous"), or the model with
// that version. Other models than the running one come from snapshots. It returns [ErrNoModel] if there is none.
func (e *Engine) ModelNamed(ctx context.Context, name string) (*suggest.Model, error) {
	now := e.current.Load()
	versions := []string{now.model.Info().Version}
	if name == "current" || name == versions[0] {
		return now.model, nil
	}
	for h := range e.snapshots(ctx) {
		version := h.version()
		if name == version || name == "previous" && h.built.seq < now.built {
			return h.model()
		}
		versions = append(versions, version)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	slices.Sort(versions)
	return nil, fmt.Errorf("%w: %q; there are %s", ErrNoModel, name, strings.Join(slices.Compact(versions), "; "))
}
