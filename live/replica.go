package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"waymark/storage"
	"waymark/storage/eventlog"
	"waymark/suggest"
)

// Several processes may have one history: the log that they share ([Options.Shared]) has it, and the log in the store
// of each is a copy that its models are folded from.
//
//	append   seal for the end of the copy ─▶ shared log ─▶ copy ─▶ fold ─▶ acknowledge
//	follow   shared log ─▶ check the chain ─▶ copy ─▶ fold
//
// Where another process appended first, the shared log refuses, the writer folds what it missed and decides about its
// entries again. Only the writer changes the copy, so it ends where the state does. Equal positions have equal models.

var (
	// ErrLogUnavailable: nothing is appended while the shared log does not answer; what is recorded can be read.
	ErrLogUnavailable = eventlog.ErrUnavailable
	// ErrDiverged: the copy and the shared log have different events, so neither can be trusted.
	ErrDiverged = eventlog.ErrDiverged
	// ErrShared: an operation that would change this process's copy alone.
	ErrShared = errors.New("not possible on a shared log")

	// errBehind: others appended first. Nothing was stored, and what they appended is folded.
	errBehind = errors.New("another process appended first")
)

// How long one call of the shared log may take, how often its end is looked at, and how long the process that starts
// builds may be silent before another one starts them.
const (
	sharedTimeout = 5 * time.Second
	sharedLook    = 500 * time.Millisecond
	buildLease    = 10 * time.Second
)

// replica is what an engine knows of the shared log.
type replica struct {
	log     eventlog.Log
	name    string                // of the workspace in log
	seen    atomic.Uint64         // its end, when it was last looked at
	failed  atomic.Pointer[error] // why it could not be reached; nil: it answers
	broken  atomic.Pointer[error] // why this process must not answer; it stays
	same    atomic.Bool           // the copy is known to be a beginning of the log
	started chan struct{}         // closed when the copy had all that the log had, or the log did not answer
	once    sync.Once             // of started
	builds  atomic.Bool           // this process starts builds

	reported bool // that it is not usable; of the goroutine that watches
	hash     atomic.Pointer[modelHash]
}

type modelHash struct {
	model *suggest.Model
	hash  string
}

// note keeps the outcome of a call and reports whether the log and the copy are at odds.
func (r *replica) note(err error) {
	switch {
	case err == nil:
		r.failed.Store(nil)
	case errors.Is(err, storage.ErrDamaged), errors.Is(err, ErrDiverged), errors.Is(err, ErrNewer):
		if !errors.Is(err, ErrDiverged) {
			err = fmt.Errorf("%w: %w", ErrDiverged, err)
		}
		r.broken.CompareAndSwap(nil, &err)
	case !errors.Is(err, context.Canceled) && !errors.Is(err, ErrClosed):
		r.failed.Store(&err)
	}
}

func (r *replica) start() { r.once.Do(func() { close(r.started) }) }

func (r *replica) isStarted() bool {
	select {
	case <-r.started:
		return true
	default:
		return false
	}
}

// usable is nil, or says why nothing can be appended.
func (r *replica) usable() error {
	if err := r.broken.Load(); err != nil {
		return *err
	}
	if err := r.failed.Load(); err != nil {
		return fmt.Errorf("%w: %w", ErrLogUnavailable, *err)
	}
	return nil
}

// Replica describes a workspace whose history is in a shared log.
type Replica struct {
	Workspace   string `json:"workspace"`
	Position    uint64 `json:"position" doc:"The last event of the shared log that is stored and counted here."`
	LogPosition uint64 `json:"log_position" doc:"The last event of the shared log, when it was last reached."`
	Lag         uint64 `json:"lag" doc:"Events of the shared log that are not counted here yet."`
	Version     string `json:"model_version" doc:"Events and build that the model counts. Models of one version have one hash."`
	Hash        string `json:"model_hash" doc:"SHA-256 of the content of the model."`
	Builds      bool   `json:"builds" doc:"This replica starts builds."`
	Log         string `json:"log" enum:"reachable,unreachable" doc:"While it is unreachable, reads go on and writes are refused."`
	Error       string `json:"error,omitempty" doc:"Why the log is unreachable, or why this replica refuses to serve."`
}

// Replica describes the engine as a replica; ok is false without a shared log.
func (e *Engine) Replica() (r Replica, ok bool) {
	if e.replica == nil {
		return r, false
	}
	m := e.Model()
	known := e.replica.hash.Load()
	if known == nil || known.model != m {
		known = &modelHash{m, m.Hash()}
		e.replica.hash.Store(known)
	}
	position := e.Head().Seq
	end := max(position, e.replica.seen.Load())
	r = Replica{
		Workspace: e.name, Position: position, LogPosition: end, Lag: end - position,
		Version: m.Info().Version, Hash: known.hash, Builds: e.replica.builds.Load(), Log: "reachable",
	}
	if e.replica.failed.Load() != nil {
		r.Log, r.Error = "unreachable", ErrLogUnavailable.Error() // the rest is in this process's log: it names servers
	}
	if err := e.replica.broken.Load(); err != nil {
		r.Error = (*err).Error()
	}
	return r, true
}

// Serves is nil, or says why a replica must not be asked: it is at odds with the shared log, or has not read it yet.
func (e *Engine) Serves() error {
	if e.replica == nil {
		return nil
	}
	if err := e.replica.broken.Load(); err != nil {
		return *err
	}
	if !e.replica.isStarted() {
		return fmt.Errorf("workspace %q: %w", e.name, ErrNotYet)
	}
	return nil
}

// join compares the copy with the shared log and starts to follow it.
func (e *Engine) join(ctx context.Context) {
	_ = e.compareWithLog(ctx) // asked again where it fails
	e.life.background.Go(func() { e.repeat(func() time.Duration { return 0 }, e.followLog) })
	e.life.background.Go(func() {
		e.repeat(func() time.Duration { return time.Duration(e.opts.pace.Load()) }, e.watchLog)
	})
}

// repeat calls f until the engine closes.
func (e *Engine) repeat(pause func() time.Duration, f func(ctx context.Context)) {
	for e.life.ctx.Err() == nil {
		f(e.life.ctx)
		select {
		case <-e.life.ctx.Done():
		case <-time.After(max(pause(), 50*time.Millisecond)):
		}
	}
}

// compareWithLog looks at the end of the shared log and checks, once it answers, that the copy is a beginning of it.
func (e *Engine) compareWithLog(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	here := e.Head()
	head, err := e.replica.log.Head(ctx, e.replica.name)
	if err == nil {
		err = e.shorter(here.Seq, head.Seq)
	}
	if err == nil && !e.replica.same.Load() {
		if here.Seq > 0 {
			var there storage.Sealed
			if there, err = eventlog.At(ctx, e.replica.log, e.replica.name, here.Seq); err == nil && there.Head() != here {
				err = fmt.Errorf("%w: event %d of workspace %q has another hash in the shared log", ErrDiverged, here.Seq, e.name)
			}
		}
		e.replica.same.Store(err == nil)
	}
	e.replica.noteHead(head, err)
	if err != nil || e.Head().Seq >= head.Seq {
		e.replica.start()
	}
	return err
}

// shorter is an error where the shared log ends before the copy.
func (e *Engine) shorter(here, there uint64) error {
	if err := eventlog.Shorter(fmt.Sprintf("workspace %q", e.name), here, there); err != nil {
		return fmt.Errorf("%w; waymark restore --log copies a backup into a new log", err)
	}
	return nil
}

func (r *replica) noteHead(head storage.Head, err error) {
	r.note(err)
	if err == nil {
		r.seen.Store(head.Seq)
	}
}

// watchLog looks at the end of the shared log and asks for the lease to start builds.
func (e *Engine) watchLog(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	err := e.compareWithLog(ctx)
	e.reportLog()
	builds := err == nil
	if builds {
		_, err = e.replica.log.Lease(ctx, "build/"+e.replica.name, buildLease)
		builds = err == nil
	}
	if e.replica.builds.Swap(builds) != builds && builds {
		_ = e.do(ctx, func(*writer) {}) // the writer looks what is due
	}
}

// reportLog logs that the shared log stopped answering, answers again, or is at odds with the copy.
func (e *Engine) reportLog() {
	err := e.replica.usable()
	switch was := e.replica.reported; {
	case was == (err != nil):
	case err == nil:
		e.opts.Logger.Info("the shared log answers again", "workspace", e.name)
	default:
		e.opts.Logger.Error("writes are refused", "workspace", e.name, "error", err)
	}
	e.replica.reported = err != nil
}

// followLog folds what others append, until the shared log fails.
func (e *Engine) followLog(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan storage.Sealed, eventlog.MaxEvents)
	var reader sync.WaitGroup
	var failed error
	reader.Go(func() {
		defer close(events)
		for ev, err := range e.replica.log.Read(ctx, e.replica.name, e.Head().Seq, true) {
			if failed = err; err != nil {
				return
			}
			select {
			case events <- ev:
			case <-ctx.Done():
				return
			}
		}
	})
	var refused error
	for ev := range events {
		batch := gather(ev, events)
		if err := e.do(ctx, func(w *writer) { refused = w.take(batch) }); err != nil || refused != nil {
			refused = errors.Join(err, refused)
			break
		}
		if e.Head().Seq >= e.replica.seen.Load() {
			e.replica.start()
		}
	}
	cancel()
	reader.Wait()
	e.replica.note(refused)
	if refused == nil {
		e.replica.note(failed)
	}
}

// gather adds to an event what has come after it, as much as one commit holds.
func gather(first storage.Sealed, events <-chan storage.Sealed) []storage.Sealed {
	batch, size := []storage.Sealed{first}, len(first.Payload)
	for len(batch) < eventlog.MaxEvents && size+storage.MaxPayload <= eventlog.MaxBytes {
		select {
		case ev, ok := <-events:
			if !ok {
				return batch
			}
			batch, size = append(batch, ev), size+len(ev.Payload)
		default:
			return batch
		}
	}
	return batch
}

// pull folds what the shared log has beyond the copy.
func (w *writer) pull(ctx context.Context) error {
	var batch []storage.Sealed
	size := 0
	for ev, err := range w.replica.log.Read(ctx, w.replica.name, w.log.Head().Seq, false) {
		if err == nil && (len(batch) == eventlog.MaxEvents || size+len(ev.Payload) > eventlog.MaxBytes) {
			err = w.take(batch)
			batch, size = nil, 0
		}
		if err != nil {
			return err
		}
		batch, size = append(batch, ev), size+len(ev.Payload)
	}
	return w.take(batch)
}

// take stores and folds events of the shared log; those that are here already are passed over.
func (w *writer) take(events []storage.Sealed) error {
	head := w.log.Head()
	for len(events) > 0 && events[0].Seq <= head.Seq {
		if events[0].Seq == head.Seq && events[0].Head() != head {
			return fmt.Errorf("%w: event %d of workspace %q has another hash in the shared log", ErrDiverged, head.Seq, w.name)
		}
		events = events[1:]
	}
	if len(events) == 0 || w.replica.broken.Load() != nil {
		return nil
	}
	if rows, ok := w.table.(sharedTable); ok && slices.ContainsFunc(events, func(e storage.Sealed) bool {
		return len(e.Payload) > 0 && (e.Payload[0] == kindTool || e.Payload[0] == kindCapability)
	}) {
		_ = rows.Sync(w.life.ctx) // what is quarantined is so before it is stored; without the log it holds from its next answer on
	}
	if w.last < head.Seq { // an append failed in the middle
		if err := w.catchUp(w.foldedLog, w.last); err != nil {
			return err
		}
	}
	ctx, read := context.WithoutCancel(w.life.ctx), make([]decodedEvent, 0, len(events))
	for ev, err := range decodedOf(ctx, unsealed(events), math.MaxUint64, nil) { // what cannot be read is not stored
		if err != nil {
			return unreadable(head, events, err)
		}
		read = append(read, ev)
	}
	if err := w.log.(storage.Installer).Install(ctx, events); errors.Is(err, storage.ErrConflict) {
		return fmt.Errorf("%w: %w", ErrDiverged, err)
	} else if err != nil {
		return err
	}
	return w.foldTaken(ctx, read)
}

// unreadable says why events cannot be read: they are damaged, or written by another version of the program.
func unreadable(head storage.Head, events []storage.Sealed, err error) error {
	for i := range events {
		if err := events[i].Follows(head); err != nil {
			return err
		}
		head = events[i].Head()
	}
	return err
}

// unsealed gives sealed events as a log does.
func unsealed(events []storage.Sealed) func(context.Context) iter.Seq2[storage.Event, error] {
	return func(context.Context) iter.Seq2[storage.Event, error] {
		return func(yield func(storage.Event, error) bool) {
			for i := range events {
				if !yield(events[i].Event, nil) {
					return
				}
			}
		}
	}
}

// foldTaken folds what was stored of others' events. What their builds measure is measured here too.
func (w *writer) foldTaken(ctx context.Context, events []decodedEvent) error {
	var erased []uint64
	for _, ev := range events {
		w.count(ev)
		switch v := ev.value.(type) {
		case *forgotten:
			erased = append(erased, v.Seqs...)
			w.erasing.forgets.Add(1)
		case *build:
			if !v.Refused {
				w.ahead = &unfinished{snapshot{rules: w.rules, matter: w.matter, built: ev.place, how: *v, image: w.picture(), forgets: w.erasing.forgets.Load()}, w.state.Freeze(), w.since}
			}
		}
		w.dirty = w.dirty || counts(ev.kind)
		if slices.Contains([]byte{kindTool, kindCapability, kindRemoved, kindAlias}, ev.kind) {
			w.known = nil
		}
	}
	w.counted.Store(w.matter.seq)
	w.applyRules()
	if len(erased) == 0 {
		return nil
	}
	w.previous.Store(nil)
	return w.erase(ctx, erased)
}

// measureAhead computes the measures of a build that another process started, from the log where the state
// counts what was forgotten before it.
func (w *writer) measureAhead() {
	u := w.ahead
	w.ahead = nil
	if u.built.seq <= w.built.seq {
		return
	}
	if !w.tainted && u.image != nil { // also then: a build in between may have dropped what was forgotten
		w.finishBuild(u, "another replica started it", false)
		return
	}
	j := w.begin(Job{Kind: "build", Reason: "another replica started it", At: u.built.seq}, nil)
	w.replayBehind(j, u.snapshot, u.since)
}

// startsBuilds reports whether this process is the one to start builds that nobody asked for.
func (w *writer) startsBuilds() bool { return w.replica == nil || w.replica.builds.Load() }

// appendShared makes entries durable in the shared log, then in the copy, and folds them. More than one append holds is
// stored in parts.
func (w *writer) appendShared(entries []entry, records []storage.Record) (receipts []storage.Receipt, err error) {
	log := w.log.(storage.Installer)
	for len(receipts) < len(records) {
		if err := w.replica.usable(); err != nil {
			return receipts, err
		}
		rest := records[len(receipts):]
		known, err := log.Known(context.WithoutCancel(w.life.ctx), rest[:min(len(rest), eventlog.MaxEvents)])
		if err != nil {
			return receipts, err
		}
		part, got := cut(log.Head().Seq, rest, known)
		if len(part) > 0 {
			switch err := w.replicate(log, part); {
			case errors.Is(err, errBehind) && len(receipts) > 0: // the parts before stand, so this one does too
				continue
			case err != nil:
				return receipts, err
			}
		}
		w.countStored(entries[len(receipts):], got)
		receipts = append(receipts, got...)
	}
	return receipts, nil
}

// cut returns the beginning of records that one append holds, without those that are known, and the receipts of what
// it returns or leaves out.
func cut(after uint64, records []storage.Record, known []storage.Receipt) (part []storage.Record, receipts []storage.Receipt) {
	first, size := map[string]int{}, 0 // of each key, its index in part
	for i := range known {
		r := records[i]
		if size += len(r.Payload); len(part) > 0 && size > eventlog.MaxBytes {
			break
		}
		receipt := known[i]
		if j, twice := first[r.Key]; receipt.Seq == 0 && twice && r.Key != "" {
			receipt = storage.Receipt{Seq: after + uint64(j) + 1, Status: storage.Duplicate}
			if !bytes.Equal(part[j].Payload, r.Payload) {
				receipt.Status = storage.Conflict
			}
		} else if receipt.Seq == 0 {
			first[r.Key] = len(part)
			part = append(part, r)
			receipt = storage.Receipt{Seq: after + uint64(len(part)), Status: storage.Stored}
		}
		receipts = append(receipts, receipt)
	}
	return part, receipts
}

// replicate appends records to the shared log and then to the copy. A call whose outcome is unknown is repeated, which
// counts once; after a second failure writes are refused until the log answers again, and what it stored after all is
// taken from it then.
func (w *writer) replicate(log storage.Installer, part []storage.Record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.life.ctx), sharedTimeout)
	defer cancel()
	head := log.Head()
	events, err := storage.Seal(head, part)
	if err != nil {
		return err
	}
	var conflict *eventlog.ErrConflict
	err = w.replica.log.Append(ctx, w.replica.name, events)
	if err != nil && !errors.As(err, &conflict) {
		err = w.replica.log.Append(ctx, w.replica.name, events)
	}
	if errors.As(err, &conflict) {
		switch err = w.pull(ctx); {
		case err == nil && log.Head() != head:
			return errBehind
		case err == nil && conflict.At < head.Seq:
			err = w.shorter(head.Seq, conflict.At)
		case err == nil:
			err = conflict
		}
	}
	if err != nil {
		w.replica.note(err)
		return errors.Join(w.replica.usable(), err)
	}
	return log.Install(context.WithoutCancel(ctx), events)
}
