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
//	runs-open/ID                as long as it has not ended: who carries it out
//	runs-data/ID/record/N       what was asked for
//	runs-data/ID/began/NODE/N   a call that is about to be made, with its arguments
//	runs-data/ID/ended/NODE/N   what became of it, with its result
//	runs-data/ID/status/N       how it stands, without results, where several servers share the table
//	runs-data/ID/end/N          how the run ended
//	runs-decision/ID/NODE       what a person decided at a server that does not carry the run out
//
// The first piece of anything is written last and says how many there are. Where several servers share the table, the
// one that carries a run out also writes runs-open/ID again with all that it writes, so that it notices when another
// one has taken the run over, and a decision is only stored about what a person has seen.
const (
	runRow         = "runs/"
	runOpenRow     = "runs-open/"
	runDataRow     = "runs-data/"
	runDecisionRow = "runs-decision/"

	runPiece  = 192 << 10 // bytes
	runPieces = 4         // in one transaction
	keptRuns  = 500       // that have ended, of a workspace
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

	Server string // carries the runs out, where several share the table; empty: there is one
}

// RunOwner is the value of runs-open/ID.
type RunOwner struct {
	Server  string `json:"server,omitempty"`
	Version uint64 `json:"-"` // of the row
}

// Start stores what was asked for, before the first call; [storage.ErrConflict] if there is a run with this id.
func (j Runs) Start(ctx context.Context, r run.Record) error {
	head := RunHead{ID: r.ID, Capability: r.Request.Capability, Intent: r.Request.DAG.Intent, State: run.Running, StartedAt: r.StartedAt, Nodes: len(r.Request.DAG.Tasks), Source: j.Source}
	if j.Shown != nil {
		head.Intent = j.Shown(head.Intent)
	}
	brief, wrong := json.Marshal(head)
	owner, err := json.Marshal(RunOwner{Server: j.Server})
	if err = errors.Join(wrong, err); err != nil {
		return err
	}
	j.Server = "" // nobody has it yet
	return j.write(ctx, r.ID, "record", r,
		storage.Change{Key: runRow + r.ID, Value: brief, Version: new(uint64)}, storage.Change{Key: runOpenRow + r.ID, Value: owner})
}

// Owner says who carries out a run that has not ended.
func (j Runs) Owner(ctx context.Context, id string) (o RunOwner, err error) {
	b, version, err := j.Table.Get(ctx, runOpenRow+id)
	if err == nil {
		err = json.Unmarshal(b, &o)
	}
	o.Version = version
	return o, err
}

// TakeOver makes this server the one that carries a run out; [storage.ErrConflict] if anybody wrote since the owner
// before was read.
func (j Runs) TakeOver(ctx context.Context, id string, before RunOwner) error {
	b, err := json.Marshal(RunOwner{Server: j.Server})
	if err == nil {
		err = j.Table.CAS(ctx, runOpenRow+id, before.Version, b)
	}
	return err
}

// Began stores a call that is about to be made.
func (j Runs) Began(ctx context.Context, id string, n run.Node) error {
	return j.write(ctx, id, "began/"+nodeName(n.ID), n)
}

// Ended stores the result of a call.
func (j Runs) Ended(ctx context.Context, id string, n run.Node) error {
	return j.write(ctx, id, "ended/"+nodeName(n.ID), n)
}

// End stores how a run ended.
func (j Runs) End(ctx context.Context, s run.Status) error {
	b, err := json.Marshal(HeadOf(s, j.Source))
	if err == nil {
		err = j.write(ctx, s.ID, "end", s, storage.Change{Key: runRow + s.ID, Value: b})
	}
	if err != nil {
		return err
	}
	return j.Close(ctx, s.ID)
}

// Stands stores how a run stands, and that decisions about it were carried out.
func (j Runs) Stands(ctx context.Context, s run.Status, done ...RunDecision) error {
	s.Nodes, s.Output = slices.Clone(s.Nodes), nil
	for i := range s.Nodes {
		s.Nodes[i].Result = nil
	}
	changes := make([]storage.Change, len(done))
	for i, d := range done {
		changes[i].Key = d.row(s.ID)
	}
	return j.write(ctx, s.ID, "status", s, changes...)
}

// Standing reads how a run stood last that another server carries out.
func (j Runs) Standing(ctx context.Context, id string) (s run.Status, err error) {
	err = j.read(ctx, runDataRow+id+"/status", &s)
	return s, err
}

// RunDecision is what a person decided about a node that waits, or about the run.
type RunDecision struct {
	Node     string `json:"node,omitempty"` // empty: the run is cancelled
	Attempts int    `json:"attempts"`       // of the node so far: the decision is about the next one alone
	Deny     bool   `json:"deny,omitempty"`
}

func (d RunDecision) row(run string) string {
	if d.Node == "" {
		return runDecisionRow + run + "/cancel"
	}
	return runDecisionRow + run + "/" + nodeName(d.Node)
}

// Decide stores decisions about a run for the server that carries it out; [storage.ErrConflict] if the run went on since
// its owner was read.
func (j Runs) Decide(ctx context.Context, id string, seen RunOwner, decisions []RunDecision) error {
	b, err := json.Marshal(seen)
	changes := []storage.Change{{Key: runOpenRow + id, Value: b, Version: &seen.Version}}
	for _, d := range decisions {
		b, wrong := json.Marshal(d)
		changes, err = append(changes, storage.Change{Key: d.row(id), Value: b}), errors.Join(err, wrong)
	}
	if err != nil {
		return err
	}
	return j.Table.Apply(ctx, changes...)
}

// Decisions lists those that were not carried out yet, by run: of one, or of all.
func (j Runs) Decisions(ctx context.Context, id string) (map[string][]RunDecision, error) {
	prefix := runDecisionRow
	if id != "" {
		prefix += id + "/"
	}
	all := map[string][]RunDecision{}
	for row, err := range j.Table.List(ctx, prefix) {
		var d RunDecision
		if err == nil {
			err = json.Unmarshal(row.Value, &d)
		}
		if err != nil {
			return nil, err
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(row.Key, runDecisionRow), "/")
		all[id] = append(all[id], d)
	}
	return all, nil
}

// nodeName names a node by a digest: paths may be longer than a key.
func nodeName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:12])
}

// write puts a value of a run in pieces, the first one last and with further changes.
func (j Runs) write(ctx context.Context, id, what string, v any, also ...storage.Change) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	pieces := max(1, (len(b)+runPiece-1)/runPiece)
	var changes []storage.Change
	for i := pieces - 1; i >= 0; i-- {
		piece := b[i*runPiece : min((i+1)*runPiece, len(b))]
		if i == 0 {
			piece = append([]byte(fmt.Sprintf("%d\n", pieces)), piece...)
			changes = append(changes, also...)
		}
		changes = append(changes, storage.Change{Key: fmt.Sprintf("%s%s/%s/%04d", runDataRow, id, what, i), Value: piece})
		if i%runPieces == 0 {
			if err := j.apply(ctx, id, changes); err != nil {
				return err
			}
			changes = nil
		}
	}
	return nil
}

// apply makes changes of a run that this server carries out; [storage.ErrHeld] if another one has taken it over.
func (j Runs) apply(ctx context.Context, id string, changes []storage.Change) error {
	if j.Server == "" {
		return j.Table.Apply(ctx, changes...)
	}
	for {
		o, err := j.Owner(ctx, id)
		if err == nil && o.Server != j.Server {
			err = fmt.Errorf("run %q is carried out by server %s: %w", id, o.Server, storage.ErrHeld)
		}
		if err != nil {
			return err
		}
		b, err := json.Marshal(o)
		if err != nil {
			return err
		}
		err = j.Table.Apply(ctx, append(slices.Clip(changes), storage.Change{Key: runOpenRow + id, Value: b, Version: &o.Version})...)
		if !errors.Is(err, storage.ErrConflict) { // another call of the run, or a decision, came first
			return err
		}
	}
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

// Open lists the runs that have not ended.
func (j Runs) Open(ctx context.Context) (map[string]RunOwner, error) {
	all := map[string]RunOwner{}
	for row, err := range j.Table.List(ctx, runOpenRow) {
		o := RunOwner{Version: row.Version}
		if err == nil {
			err = json.Unmarshal(row.Value, &o)
		}
		if err != nil {
			return nil, err
		}
		all[strings.TrimPrefix(row.Key, runOpenRow)] = o
	}
	return all, nil
}

// Close notes that a run has ended.
func (j Runs) Close(ctx context.Context, id string) error {
	return j.erase(ctx, []string{runOpenRow + id}, runDecisionRow+id+"/")
}

// Forget erases a run and everything kept of it.
func (j Runs) Forget(ctx context.Context, id string) error {
	return j.erase(ctx, []string{runOpenRow + id, runRow + id}, runDataRow+id+"/", runDecisionRow+id+"/")
}

func (j Runs) erase(ctx context.Context, keys []string, prefixes ...string) error {
	for _, prefix := range prefixes {
		for row, err := range j.Table.List(ctx, prefix) {
			if err != nil {
				return err
			}
			keys = append(keys, row.Key)
		}
	}
	return j.Table.Delete(ctx, keys...)
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
