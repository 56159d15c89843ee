package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/run"
	"waymark/storage"
)

// A run is kept in the table of its workspace, in pieces small enough for a row:
//
//	runs/ID                     where it stands, in brief
//	runs-open/ID                as long as it has not ended
//	runs-data/ID/record/N       what was asked for
//	runs-data/ID/began/NODE/N   a call that is about to be made, with its arguments
//	runs-data/ID/ended/NODE/N   what became of it, with its result
//	runs-data/ID/end/N          how the run ended
//
// The first piece of anything is written last and says how many there are.
const (
	runRow     = "runs/"
	runOpenRow = "runs-open/"
	runDataRow = "runs-data/"

	runPiece = 192 << 10 // bytes
	keptRuns = 500       // that have ended, of a workspace
)

// RunHead describes a run in a list.
type RunHead struct {
	ID         string    `json:"id"`
	Capability string    `json:"capability,omitempty"`
	Intent     string    `json:"intent,omitempty"`
	State      run.State `json:"state"`
	StartedAt  time.Time `json:"started_at"`
	EndedAt    time.Time `json:"ended_at,omitzero"`
	Nodes      int       `json:"nodes"`
	Done       int       `json:"done"`
	Failed     int       `json:"failed"`
	Skipped    int       `json:"skipped"`
	Error      string    `json:"error,omitempty"`
	Source     string    `json:"source,omitempty"`
}

// HeadOf describes a run by its status.
func HeadOf(s run.Status, source string) RunHead {
	return RunHead{ID: s.ID, Capability: s.Capability, Intent: s.Intent, State: s.State, StartedAt: s.StartedAt, EndedAt: s.EndedAt,
		Nodes: len(s.Nodes), Done: s.Done, Failed: s.Failed, Skipped: s.Skipped, Error: s.Error, Source: source}
}

// Runs is the [run.Journal] of a workspace, kept in its table.
type Runs struct {
	Table  storage.Table
	Source string                     // of the runs that start
	Shown  func(intent string) string // how the intent stands in a list; nil: as it is

	Process string // carries the runs out, where several share the table; empty: there is one
}

// runOwner is the value of runs-open/ID.
type runOwner struct {
	Process string `json:"process,omitempty"`
}

// Start stores what was asked for, before the first call.
func (j Runs) Start(ctx context.Context, r run.Record) error {
	if err := j.write(ctx, runDataRow+r.ID+"/record", r); err != nil {
		return err
	}
	head := RunHead{ID: r.ID, Capability: r.Request.Capability, Intent: r.Request.DAG.Intent, State: run.Running, StartedAt: r.StartedAt, Nodes: len(r.Request.DAG.Tasks), Source: j.Source}
	if j.Shown != nil {
		head.Intent = j.Shown(head.Intent)
	}
	if err := j.put(ctx, runRow+r.ID, head); err != nil {
		return err
	}
	return j.put(ctx, runOpenRow+r.ID, runOwner{j.Process})
}

// Owner is the process that carries a run out that has not ended.
func (j Runs) Owner(ctx context.Context, id string) (process string, err error) {
	b, _, err := j.Table.Get(ctx, runOpenRow+id)
	var o runOwner
	if err == nil {
		err = json.Unmarshal(b, &o)
	}
	return o.Process, err
}

// TakeOver makes this process the owner of a run that has none; storage.ErrConflict if another one did.
func (j Runs) TakeOver(ctx context.Context, id string) error {
	_, version, err := j.Table.Get(ctx, runOpenRow+id)
	if err != nil {
		return err
	}
	owner, err := j.Owner(ctx, id)
	if err != nil || owner != "" {
		return errors.Join(err, storage.ErrConflict)
	}
	b, err := json.Marshal(runOwner{j.Process})
	if err == nil {
		_, err = j.Table.CAS(ctx, runOpenRow+id, version, b)
	}
	return err
}

// Began stores a call that is about to be made.
func (j Runs) Began(ctx context.Context, id string, n run.Node) error {
	return j.write(ctx, nodeRow(id, "began", n.ID), n)
}

// Ended stores the result of a call.
func (j Runs) Ended(ctx context.Context, id string, n run.Node) error {
	return j.write(ctx, nodeRow(id, "ended", n.ID), n)
}

// End stores how a run ended.
func (j Runs) End(ctx context.Context, s run.Status) error {
	if err := j.write(ctx, runDataRow+s.ID+"/end", s); err != nil {
		return err
	}
	if err := j.put(ctx, runRow+s.ID, HeadOf(s, j.Source)); err != nil {
		return err
	}
	return j.Close(ctx, s.ID)
}

// nodeRow names a node by a digest: paths may be longer than a key.
func nodeRow(id, what, path string) string {
	sum := sha256.Sum256([]byte(path))
	return runDataRow + id + "/" + what + "/" + hex.EncodeToString(sum[:12])
}

func (j Runs) put(ctx context.Context, key string, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = j.Table.Put(ctx, key, b)
	}
	return err
}

// write puts a value in pieces, the first one last.
func (j Runs) write(ctx context.Context, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	pieces := max(1, (len(b)+runPiece-1)/runPiece)
	for i := pieces - 1; i >= 0; i-- {
		piece := b[i*runPiece : min((i+1)*runPiece, len(b))]
		if i == 0 {
			piece = append([]byte(fmt.Sprintf("%d\n", pieces)), piece...)
		}
		if _, err := j.Table.Put(ctx, fmt.Sprintf("%s/%04d", key, i), piece); err != nil {
			return err
		}
	}
	return nil
}

// read gets a value that was written; storage.ErrNotFound if there is none.
func (j Runs) read(ctx context.Context, key string, v any) error {
	first, _, err := j.Table.Get(ctx, key+"/0000")
	if err != nil {
		return err
	}
	count, rest, _ := strings.Cut(string(first), "\n")
	pieces := 0
	if _, err := fmt.Sscan(count, &pieces); err != nil {
		return fmt.Errorf("row %s: %w", key, storage.ErrDamaged)
	}
	all := []byte(rest)
	for i := 1; i < pieces; i++ {
		piece, _, err := j.Table.Get(ctx, fmt.Sprintf("%s/%04d", key, i))
		if err != nil {
			return err
		}
		all = append(all, piece...)
	}
	if err := json.Unmarshal(all, v); err != nil {
		return fmt.Errorf("row %s: %w", key, errors.Join(storage.ErrDamaged, err))
	}
	return nil
}

// Record reads what was asked for.
func (j Runs) Record(ctx context.Context, id string) (r run.Record, err error) {
	err = j.read(ctx, runDataRow+id+"/record", &r)
	return r, err
}

// Past reads what there is of a run that has not ended.
func (j Runs) Past(ctx context.Context, id string) (p run.Past, err error) {
	p.Nodes = map[string]run.Node{}
	if p.Record, err = j.Record(ctx, id); err != nil {
		return p, err
	}
	for _, what := range []string{"began", "ended"} { // the end of a node counts for more than its beginning
		prefix := runDataRow + id + "/" + what + "/"
		for row, err := range j.Table.List(ctx, prefix) {
			if err != nil {
				return p, err
			}
			key, first := strings.CutSuffix(row.Key, "/0000")
			if !first {
				continue
			}
			var n run.Node
			if err := j.read(ctx, key, &n); err != nil {
				return p, err
			}
			p.Nodes[n.ID] = n
		}
	}
	return p, nil
}

// Ending reads how a run ended.
func (j Runs) Ending(ctx context.Context, id string) (s run.Status, err error) {
	err = j.read(ctx, runDataRow+id+"/end", &s)
	return s, err
}

// Heads lists the runs of the workspace, the oldest first.
func (j Runs) Heads(ctx context.Context) ([]RunHead, error) {
	var all []RunHead
	for row, err := range j.Table.List(ctx, runRow) {
		if err != nil {
			return nil, err
		}
		var h RunHead
		if err := json.Unmarshal(row.Value, &h); err != nil {
			return nil, fmt.Errorf("row %s: %w", row.Key, errors.Join(storage.ErrDamaged, err))
		}
		all = append(all, h)
	}
	slices.SortStableFunc(all, func(a, b RunHead) int { return a.StartedAt.Compare(b.StartedAt) })
	return all, nil
}

// Open lists the ids of the runs that have not ended.
func (j Runs) Open(ctx context.Context) (ids []string, err error) {
	for row, err := range j.Table.List(ctx, runOpenRow) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, strings.TrimPrefix(row.Key, runOpenRow))
	}
	return ids, nil
}

// Close notes that a run has ended.
func (j Runs) Close(ctx context.Context, id string) error { return j.Table.Delete(ctx, runOpenRow+id) }

// Forget erases a run and everything kept of it.
func (j Runs) Forget(ctx context.Context, id string) error {
	var keys []string
	for row, err := range j.Table.List(ctx, runDataRow+id+"/") {
		if err != nil {
			return err
		}
		keys = append(keys, row.Key)
	}
	for _, key := range append(keys, runOpenRow+id, runRow+id) {
		if err := j.Table.Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// Prune erases the oldest of the runs that have ended, beyond those that are kept.
func (j Runs) Prune(ctx context.Context) error {
	all, err := j.Heads(ctx)
	if err != nil {
		return err
	}
	for _, h := range all[:max(0, len(all)-keptRuns)] {
		if h.State.Over() {
			if err := j.Forget(ctx, h.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// ForgetSelected erases the ended runs of a source, of an id, or begun before a moment: their arguments and results.
func (j Runs) ForgetSelected(ctx context.Context, source, id string, before time.Time) error {
	all, err := j.Heads(ctx)
	if err != nil {
		return err
	}
	for _, h := range all {
		if h.State.Over() && (source != "" && h.Source == source || id != "" && h.ID == id || h.StartedAt.Before(before)) {
			if err := j.Forget(ctx, h.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
