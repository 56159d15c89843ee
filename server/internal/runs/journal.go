package runs

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/catalog"
	"waymark/run"
	"waymark/server/internal/api"
	"waymark/storage"
)

// A run is stored in the table of its workspace, in pieces small enough for a row:
//
//	runs/ID                     summary of the run
//	runs-open/ID                until the run has ended: the server that carries it out, if any
//	runs-data/ID/record/N       the request
//	runs-data/ID/began/NODE/N   a call that is about to be made, with its arguments
//	runs-data/ID/ended/NODE/N   the result of the call
//	runs-data/ID/status/N       the status when the run began, paused or ended, without results of calls
//
// The first piece of a value is written last and contains the number of pieces. The server that carries out a run also
// writes runs-open/ID in each transaction, so that it notices when another server has taken the run over.
const (
	runRow     = "runs/"
	runOpenRow = "runs-open/"
	runDataRow = "runs-data/"

	runPiece  = 192 << 10 // bytes
	runPieces = 4         // per transaction
	keptRuns  = 500       // newest runs of a workspace; older ones that have ended are pruned
)

// RunHead is the summary of a run in a list.
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

// headOf returns the summary of a run from its status.
func headOf(s run.Status, source string) RunHead {
	return RunHead{ID: s.ID, Capability: s.Capability, Intent: s.Intent, State: s.State, StartedAt: s.StartedAt, EndedAt: s.EndedAt,
		Nodes: len(s.Nodes), Done: s.Done, Failed: s.Failed, Skipped: s.Skipped, Error: s.Error, Source: source}
}

// Journal implements [run.Journal] for a workspace, in its table.
type Journal struct {
	Table storage.Table
	By    Owner // owner of the runs that are written
}

// Owner is the value of runs-open/ID.
type Owner struct {
	Server   string `json:"server,omitempty"` // that carries out the run; empty: the run waits for a decision
	Source   string `json:"source,omitempty"` // of the caller that began it, for limits
	Operator bool   `json:"operator,omitempty"`
	Peer     string `json:"peer,omitempty"`
	Version  uint64 `json:"-"` // of the row
}

func (j Journal) heads() api.Rows[RunHead] { return api.Rows[RunHead]{Table: j.Table, Prefix: runRow} }
func (j Journal) owners() api.Rows[Owner]  { return api.Rows[Owner]{Table: j.Table, Prefix: runOpenRow} }

// Start stores a request before the first call; it returns [storage.ErrConflict] if the run exists.
func (j Journal) Start(ctx context.Context, r run.Record, s run.Status) error {
	head, wrong := j.heads().Change(r.ID, headOf(s, j.By.Source), new(uint64))
	owner, err := j.owners().Change(r.ID, j.By, nil)
	if err = errors.Join(wrong, err); err != nil {
		return err
	}
	if err = j.write(ctx, r.ID, "record", r, nil, head, owner); err == nil {
		_ = j.write(ctx, r.ID, "status", s, sameOwner) // the run has begun; [Journal.Status] works without this row
	}
	return err
}

// Owner returns the owner of a run, or [storage.ErrNotFound] if the run has ended.
func (j Journal) Owner(ctx context.Context, id string) (Owner, error) {
	row, err := j.owners().Get(ctx, id)
	row.Value.Version = row.Version
	return row.Value, err
}

// SetOwner replaces the owner of a run; it returns [storage.ErrConflict] if the owner changed since it was read.
func (j Journal) SetOwner(ctx context.Context, id string, o Owner) error {
	return j.owners().Set(ctx, id, o, &o.Version)
}

// Began stores a call that is about to be made.
func (j Journal) Began(ctx context.Context, id string, n run.Node) error {
	return j.write(ctx, id, "began/"+nodeName(n.ID), n, sameOwner)
}

// Ended stores the result of a call.
func (j Journal) Ended(ctx context.Context, id string, n run.Node) error {
	return j.write(ctx, id, "ended/"+nodeName(n.ID), n, sameOwner)
}

// Leave stores the status of a run that has ended or waits for a decision. Then no server carries the run out.
func (j Journal) Leave(ctx context.Context, s run.Status) error {
	s.Nodes = slices.Clone(s.Nodes)
	for i, n := range s.Nodes {
		if !s.State.Over() || n.Kind == string(catalog.KindTool) {
			s.Nodes[i].Result = nil
		}
	}
	head, err := j.heads().Change(s.ID, headOf(s, j.By.Source), nil)
	if err != nil {
		return err
	}
	return j.write(ctx, s.ID, "status", s, func(o Owner) *Owner {
		if o.Server = ""; s.State.Over() {
			return nil
		}
		return &o
	}, head)
}

// Status reads the last stored status of a run and adds the calls since then.
func (j Journal) Status(ctx context.Context, id string) (s run.Status, err error) {
	row, err := j.heads().Get(ctx, id)
	if err != nil {
		return s, err
	}
	h := row.Value
	if err = j.read(ctx, id, "status", &s); errors.Is(err, storage.ErrNotFound) { // it has just begun
		s, err = run.Status{ID: h.ID, Intent: h.Intent, State: h.State, StartedAt: h.StartedAt, Nodes: []run.Node{}, Waiting: []string{}, Warnings: []string{}}, nil
	}
	calls, failed := j.calls(ctx, id)
	for i, n := range s.Nodes {
		switch call, ok := calls[n.ID]; {
		case ok && (h.State == run.Running || !h.State.Over() && (call.State == run.NodeDone || call.State == run.NodeFailed)):
			call.Arguments = nil
			s.Nodes[i] = call
		case ok:
			s.Nodes[i].Result = call.Result
		}
	}
	return s, cmp.Or(err, failed)
}

// nodeName returns a digest of the path of a node: paths may be longer than a key.
func nodeName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:12])
}

// nextOwner returns the next owner of a run; nil: the run has ended.
type nextOwner func(Owner) *Owner

func sameOwner(o Owner) *Owner { return &o }

// write stores a value of a run in pieces, the first one last, together with further changes and the next owner. owner
// is nil for a run that begins.
func (j Journal) write(ctx context.Context, id, what string, v any, owner nextOwner, also ...storage.Change) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	pieces := max(1, (len(b)+runPiece-1)/runPiece)
	var changes []storage.Change
	for i := pieces - 1; i >= 0 && err == nil; i-- {
		piece, next := b[i*runPiece:min((i+1)*runPiece, len(b))], owner
		if i == 0 {
			piece, changes = append(fmt.Appendf(nil, "%d\n", pieces), piece...), append(changes, also...)
		} else if owner != nil {
			next = sameOwner
		}
		changes = append(changes, storage.Change{Key: fmt.Sprintf("%s%s/%s/%04d", runDataRow, id, what, i), Value: piece})
		if i%runPieces == 0 {
			err, changes = j.apply(ctx, id, next, changes), nil
		}
	}
	return err
}

// apply commits changes of a run that this server carries out; [storage.ErrHeld] if another server has taken it over.
func (j Journal) apply(ctx context.Context, id string, owner nextOwner, changes []storage.Change) error {
	if owner == nil {
		return j.Table.Apply(ctx, changes...)
	}
	for {
		o, err := j.Owner(ctx, id)
		if err == nil && o.Server != j.By.Server {
			err = fmt.Errorf("run %q is carried out by server %s: %w", id, o.Server, storage.ErrHeld)
		}
		open := storage.Change{Key: runOpenRow + id, Version: &o.Version} // deletes the row
		if next := owner(o); err == nil && next != nil {
			open, err = j.owners().Change(id, *next, &o.Version)
		}
		if err != nil {
			return err
		}
		if err = j.Table.Apply(ctx, append(slices.Clip(changes), open)...); !errors.Is(err, storage.ErrConflict) {
			return err // on a conflict another call of the run, or a decision, came first: repeat
		}
	}
}

// values calls f with each value under a prefix.
func (j Journal) values(ctx context.Context, prefix string, f func([]byte) error) error {
	var all []byte
	left := 0
	for row, err := range j.Table.List(ctx, prefix) {
		if err != nil {
			return err
		}
		value := row.Value
		if strings.HasSuffix(row.Key, "/0000") {
			count, rest, _ := bytes.Cut(value, []byte("\n"))
			all, value = nil, rest
			left, err = strconv.Atoi(string(count))
		} else if left == 0 { // of a longer, older value, or of an incomplete one
			continue
		}
		all = append(all, value...)
		if left--; err == nil && left == 0 {
			err = f(all)
		}
		if err != nil {
			return fmt.Errorf("row %s: %w", row.Key, errors.Join(storage.ErrDamaged, err))
		}
	}
	if left > 0 {
		return fmt.Errorf("rows %s: %w", prefix, storage.ErrDamaged)
	}
	return nil
}

// read decodes a stored value; it returns [storage.ErrNotFound] if there is none.
func (j Journal) read(ctx context.Context, id, what string, v any) error {
	missing := fmt.Errorf("%s of run %q: %w", what, id, storage.ErrNotFound)
	err := j.values(ctx, runDataRow+id+"/"+what+"/", func(b []byte) error {
		missing = nil
		return json.Unmarshal(b, v)
	})
	return cmp.Or(err, missing)
}

// Record reads the request of a run.
func (j Journal) Record(ctx context.Context, id string) (r run.Record, err error) {
	err = j.read(ctx, id, "record", &r)
	return r, err
}

// Past reads the stored state of a run that has not ended.
func (j Journal) Past(ctx context.Context, id string) (p run.Past, err error) {
	if p.Record, err = j.Record(ctx, id); err == nil {
		p.Nodes, err = j.calls(ctx, id)
	}
	var s run.Status
	if failed := j.read(ctx, id, "status", &s); !errors.Is(failed, storage.ErrNotFound) {
		err = cmp.Or(err, failed)
	}
	p.Waiting = s.Waiting
	return p, err
}

// calls reads the calls of a run, by node id.
func (j Journal) calls(ctx context.Context, id string) (calls map[string]run.Node, err error) {
	calls = map[string]run.Node{}
	for _, what := range []string{"/began/", "/ended/"} { // the end of a node replaces its beginning
		err = cmp.Or(err, j.values(ctx, runDataRow+id+what, func(b []byte) error {
			var n run.Node
			err := json.Unmarshal(b, &n)
			calls[n.ID] = n
			return err
		}))
	}
	return calls, err
}

// Heads lists the runs of the workspace, the oldest first.
func (j Journal) Heads(ctx context.Context) ([]RunHead, error) {
	var all []RunHead
	for row, err := range j.heads().All(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, row.Value)
	}
	slices.SortStableFunc(all, func(a, b RunHead) int { return a.StartedAt.Compare(b.StartedAt) })
	return all, nil
}

// Open returns the owners of the runs that have not ended, by id.
func (j Journal) Open(ctx context.Context) (map[string]Owner, error) {
	all := map[string]Owner{}
	for row, err := range j.owners().All(ctx) {
		if err != nil {
			return nil, err
		}
		row.Value.Version = row.Version
		all[row.ID] = row.Value
	}
	return all, nil
}

// Prune deletes the ended runs that are not among the newest keptRuns runs.
func (j Journal) Prune(ctx context.Context) error {
	return j.forget(ctx, func(h RunHead, newer int) bool { return newer >= keptRuns })
}

// ForgetSelected deletes the ended runs of a source, with an id, or begun before a time: also arguments and results.
func (j Journal) ForgetSelected(ctx context.Context, source, id string, before time.Time) error {
	return j.forget(ctx, func(h RunHead, _ int) bool {
		return source != "" && h.Source == source || id != "" && h.ID == id || h.StartedAt.Before(before)
	})
}

// forget deletes the ended runs for which which returns true.
func (j Journal) forget(ctx context.Context, which func(h RunHead, newer int) bool) error {
	heads, err := j.Heads(ctx)
	for i, h := range heads {
		if !h.State.Over() || !which(h, len(heads)-1-i) {
			continue
		}
		keys := []string{runRow + h.ID}
		for row, err := range j.Table.List(ctx, runDataRow+h.ID+"/") {
			if err != nil {
				return err
			}
			keys = append(keys, row.Key)
		}
		if err := j.Table.Delete(ctx, keys...); err != nil {
			return err
		}
	}
	return err
}
