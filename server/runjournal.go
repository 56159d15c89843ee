package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"waymark/live"
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
//	runs-data/ID/counted/N      what it has added to the statistics of capabilities
//
// The first piece of anything is written last and says how many there are.
const (
	runRow     = "runs/"
	runOpenRow = "runs-open/"
	runDataRow = "runs-data/"

	runPiece = 192 << 10 // bytes
	keptRuns = 500       // that have ended, of a workspace
)

// runHead is a run in a list.
type runHead struct {
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

func headOf(s run.Status, source string) runHead {
	return runHead{ID: s.ID, Capability: s.Capability, Intent: s.Intent, State: s.State, StartedAt: s.StartedAt, EndedAt: s.EndedAt,
		Nodes: len(s.Nodes), Done: s.Done, Failed: s.Failed, Skipped: s.Skipped, Error: s.Error, Source: source}
}

// runJournal is a [run.Journal] in a table.
type runJournal struct {
	table  storage.Table
	source string
}

func (j runJournal) Start(ctx context.Context, r run.Record) error {
	if err := j.write(ctx, runDataRow+r.ID+"/record", r); err != nil {
		return err
	}
	head := runHead{ID: r.ID, Capability: r.Request.Capability, Intent: r.Request.DAG.Intent, State: run.Running, StartedAt: r.StartedAt, Nodes: len(r.Request.DAG.Tasks), Source: j.source}
	if err := j.put(ctx, runRow+r.ID, head); err != nil {
		return err
	}
	return j.put(ctx, runOpenRow+r.ID, struct{}{})
}

func (j runJournal) Began(ctx context.Context, id string, n run.Node) error {
	return j.write(ctx, nodeRow(id, "began", n.ID), n)
}

func (j runJournal) Ended(ctx context.Context, id string, n run.Node) error {
	return j.write(ctx, nodeRow(id, "ended", n.ID), n)
}

func (j runJournal) End(ctx context.Context, s run.Status) error {
	if err := j.write(ctx, runDataRow+s.ID+"/end", s); err != nil {
		return err
	}
	if err := j.put(ctx, runRow+s.ID, headOf(s, j.source)); err != nil {
		return err
	}
	return j.table.Delete(ctx, runOpenRow+s.ID)
}

// nodeRow names a node by a digest: paths may be longer than a key.
func nodeRow(id, what, path string) string {
	sum := sha256.Sum256([]byte(path))
	return runDataRow + id + "/" + what + "/" + hex.EncodeToString(sum[:12])
}

func (j runJournal) put(ctx context.Context, key string, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = j.table.Put(ctx, key, b)
	}
	return err
}

// write puts a value in pieces, the first one last.
func (j runJournal) write(ctx context.Context, key string, v any) error {
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
		if _, err := j.table.Put(ctx, fmt.Sprintf("%s/%04d", key, i), piece); err != nil {
			return err
		}
	}
	return nil
}

// read gets a value that was written; storage.ErrNotFound if there is none.
func (j runJournal) read(ctx context.Context, key string, v any) error {
	first, _, err := j.table.Get(ctx, key+"/0000")
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
		piece, _, err := j.table.Get(ctx, fmt.Sprintf("%s/%04d", key, i))
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

// past reads what there is of a run that has not ended.
func (j runJournal) past(ctx context.Context, id string) (run.Past, error) {
	p := run.Past{Nodes: map[string]run.Node{}}
	if err := j.read(ctx, runDataRow+id+"/record", &p.Record); err != nil {
		return p, err
	}
	for _, what := range []string{"began", "ended"} { // the end of a node counts for more than its beginning
		prefix := runDataRow + id + "/" + what + "/"
		for row, err := range j.table.List(ctx, prefix) {
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

// ending reads how a run ended.
func (j runJournal) ending(ctx context.Context, id string) (s run.Status, err error) {
	err = j.read(ctx, runDataRow+id+"/end", &s)
	return s, err
}

// heads lists the runs of the workspace, the oldest first.
func (j runJournal) heads(ctx context.Context) ([]runHead, error) {
	var all []runHead
	for row, err := range j.table.List(ctx, runRow) {
		if err != nil {
			return nil, err
		}
		var h runHead
		if err := json.Unmarshal(row.Value, &h); err != nil {
			return nil, fmt.Errorf("row %s: %w", row.Key, errors.Join(storage.ErrDamaged, err))
		}
		all = append(all, h)
	}
	return all, nil
}

// forget erases a run and everything kept of it.
func (j runJournal) forget(ctx context.Context, id string) error {
	var keys []string
	for row, err := range j.table.List(ctx, runDataRow+id+"/") {
		if err != nil {
			return err
		}
		keys = append(keys, row.Key)
	}
	for _, key := range append(keys, runOpenRow+id, runRow+id) {
		if err := j.table.Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// prune erases the oldest of the runs that have ended, beyond those that are kept.
func (j runJournal) prune(ctx context.Context) error {
	all, err := j.heads(ctx)
	if err != nil {
		return err
	}
	for _, h := range all[:max(0, len(all)-keptRuns)] {
		if h.State.Over() {
			if err := j.forget(ctx, h.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetRuns erases the ended runs that a selection means: their arguments and results, and what they have
// added to the statistics of capabilities.
func (s *Server) forgetRuns(ctx context.Context, sel live.Selection) error {
	table, err := s.cfg.Store.Table(accessFrom(ctx).Workspace)
	if err != nil {
		return err
	}
	j := runJournal{table: table}
	all, err := j.heads(ctx)
	if err != nil {
		return err
	}
	for _, h := range all {
		if h.State.Over() && (sel.Source != "" && h.Source == sel.Source || sel.Episode != "" && h.ID == sel.Episode || h.StartedAt.Before(sel.Before)) {
			if err := j.uncount(ctx, h.ID); err != nil {
				return err
			}
			if err := j.forget(ctx, h.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
