package live

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"waymark/internal/codec"
	"waymark/storage"
	"waymark/storage/eventlog"
	"waymark/suggest"
)

// One replica computes what a build measures, and the others fetch it: its snapshot is a blob of the shared log, and a
// control row says which.
//
//	the builder     measure ─▶ row ─▶ blob
//	the others      wait for the row ─▶ blob ─▶ compare what it counts with what is counted here ─▶ read the measures
//	a new replica   copy the events up to the build, take the blob for its snapshot, fold the rest
//
// What is counted must be equal, byte for byte, so a replica that folded something else is found at each build. Measures
// are computed anew, and compared, for one build in verifyOneIn. If fetching fails, the replica computes the build.
//
// A row is written before its blob and removed after it, so that no blob is left that no row names: it would keep what is
// forgotten later.

// sharedBuild is the row.
type sharedBuild struct {
	Seq    uint64 `json:"seq"`              // the build event
	Format int    `json:"format"`           // of the snapshot; replicas of other formats compute the build
	Sum    string `json:"sha256,omitempty"` // of the blob; empty: it could not be stored, and each replica computes the build
}

const (
	verifyOneIn = 16

	sharedBuildLook = 250 * time.Millisecond
	blobPatience    = 10 * time.Second // until a blob follows its row
	blobTimeout     = time.Minute      // of one transfer
	buildPatience   = 10 * time.Minute // until a row follows the build event
	preloadTime     = 30 * time.Second

	mostInflated = 256 // times its bytes that a blob may take when it is decompressed: small ones have words of JSON again and again
)

// whatItCounts is what a replica that folded something else has otherwise.
const whatItCounts = "what it counts"

var errBuildDiffers = errors.New("the build that another replica computed differs from this replica's: one of them is wrong; waymark rebuild --verify on each says which")

func (b *sharedBuild) sum() (sum [32]byte) {
	_, _ = hex.Decode(sum[:], []byte(b.Sum))
	return sum
}

// sharedBuildIn reads the row of a workspace; nil if there is none.
func sharedBuildIn(ctx context.Context, table storage.Table) *sharedBuild {
	b, _ := sharedBuildVersion(ctx, table)
	return b
}

// sharedBuildVersion is sharedBuildIn with the version of the row.
func sharedBuildVersion(ctx context.Context, table storage.Table) (*sharedBuild, uint64) {
	value, version, err := table.Get(ctx, eventlog.BuiltBlob)
	b := &sharedBuild{}
	if err != nil || json.Unmarshal(value, b) != nil || b.Sum != "" && len(b.Sum) != 2*sha256.Size {
		return nil, 0
	}
	return b, version
}

// usable reports whether there is a blob that this program reads.
func (b *sharedBuild) usable() bool { return b != nil && b.Sum != "" && b.Format == snapshotFormat }

// write makes b the row of a workspace.
func (b *sharedBuild) write(ctx context.Context, rows sharedTable, log string) error {
	row, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return rows.PutIn(ctx, log, eventlog.BuiltBlob, row)
}

// offering is the compressed snapshot of a build, for the others.
type offering struct {
	bytes.Buffer
	z *zstd.Encoder
}

// offers returns what compresses a snapshot for the others; nil if this replica shares none.
func (e *Engine) offers() (*offering, error) {
	if _, shared := e.table.(sharedTable); e.replica == nil || !shared || !e.replica.builds.Load() {
		return nil, nil
	}
	o := &offering{z: encoders.Get().(*zstd.Encoder)}
	o.z.Reset(&o.Buffer)
	_, err := o.z.Write(blobHead(e.replica.name))
	return o, err
}

// encoders are kept: of a small workspace, the tables of a new one take longer than what is compressed.
var encoders = sync.Pool{New: func() any {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic("live: options of zstd: " + err.Error())
	}
	return z
}}

// close ends compressing.
func (o *offering) close() error {
	err := o.z.Close()
	encoders.Put(o.z)
	return err
}

// blobHead begins the blob of a workspace: two with one history must have two blobs, since each deletes its own.
func blobHead(log string) []byte {
	w := &codec.Writer{}
	w.Blob([]byte(log))
	return w.Bytes
}

// offer shares a snapshot in place of the one before.
func (e *Engine) offer(ctx context.Context, s *snapshot, o *offering) error {
	ctx, cancel := context.WithTimeout(ctx, blobTimeout)
	defer cancel()
	rows := e.table.(sharedTable)
	if err := rows.Sync(ctx); err != nil {
		return err
	}
	sum := sha256.Sum256(o.Bytes())
	b := sharedBuild{Seq: s.built.seq, Format: snapshotFormat, Sum: hex.EncodeToString(sum[:])}
	before := sharedBuildIn(ctx, rows)
	if before != nil && (before.Seq > b.Seq || *before == b && e.hasBlob(ctx, before)) {
		return nil
	}
	if before != nil && before.Sum != "" && before.Sum != b.Sum {
		if err := e.replica.log.DeleteBlob(ctx, before.sum()); err != nil {
			return err
		}
	}
	if err := b.write(ctx, rows, e.replica.name); err != nil {
		return err
	}
	if _, err := e.replica.log.PutBlob(ctx, o.Bytes()); err != nil { // it may be stored all the same
		return errors.Join(err, e.offerNone(b.Seq))
	}
	if e.erasing.forgets.Load() != s.forgets { // while it was written
		return e.withdraw(ctx, b.Seq+1)
	}
	if err := rows.Sync(ctx); err != nil {
		return err
	}
	if now := sharedBuildIn(ctx, rows); now == nil || *now != b { // another build replaced it, or the workspace was deleted
		return e.replica.log.DeleteBlob(ctx, sum)
	}
	return nil
}

// offerKept shares the snapshot of the active model where the log has no result of its build: it was built before there
// was a shared log, or whoever computed it ended.
func (e *Engine) offerKept(ctx context.Context) error {
	built, forgets := e.current.Load().built, e.erasing.forgets.Load()
	if _, shared := e.table.(sharedTable); !shared || built == 0 || e.erasing.unerased.Load() {
		return nil
	}
	if b := sharedBuildIn(ctx, e.table); b != nil && b.Seq >= built && b.Sum != "" {
		return nil
	}
	select { // many workspaces start at once
	case e.opts.slots <- struct{}{}:
		defer func() { <-e.opts.slots }()
	case <-ctx.Done():
		return nil
	}
	for s, err := range e.log.Snapshots(ctx) {
		if err != nil || s.Seq != built || codec.NewReader(s.Data).Uint() != snapshotFormat {
			continue
		}
		o, err := e.offers()
		if err != nil || o == nil {
			return err
		}
		if _, err = o.z.Write(s.Data); err == nil {
			err = o.close()
		}
		if err == nil {
			err = e.offer(ctx, &snapshot{built: place{seq: built}, forgets: forgets}, o)
		}
		return err
	}
	return nil
}

func (e *Engine) hasBlob(ctx context.Context, b *sharedBuild) bool {
	_, err := e.replica.log.Blob(ctx, b.sum())
	return err == nil
}

// withdraw removes a shared build from before an event: it counts what is forgotten.
func (e *Engine) withdraw(ctx context.Context, seq uint64) error {
	rows, shared := e.table.(sharedTable)
	if e.replica == nil || !shared {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, blobTimeout)
	defer cancel()
	for {
		if err := rows.Sync(ctx); err != nil {
			return err
		}
		b, version := sharedBuildVersion(ctx, rows)
		if b == nil || b.Seq >= seq || b.Sum == "" {
			return nil
		}
		if err := e.replica.log.DeleteBlob(ctx, b.sum()); err != nil {
			return fmt.Errorf("delete the shared result of the build at event %d: %w", b.Seq, err)
		}
		if err := rows.DeleteVersion(ctx, eventlog.BuiltBlob, version); !errors.Is(err, storage.ErrConflict) {
			return err
		} // else another build is in its place, which may count it, too
	}
}

// offerNone says that there is no result of a build: each replica that needs it computes it. It has a time of its own, since
// that of storing the result may be over, and ends when the engine gives up closing.
func (e *Engine) offerNone(seq uint64) error {
	rows, shared := e.table.(sharedTable)
	if e.replica == nil || !shared || !e.replica.builds.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(e.life.keeping, sharedTimeout)
	defer cancel()
	before := sharedBuildIn(ctx, rows)
	if before != nil && before.Seq > seq {
		return nil
	}
	if before != nil && before.Sum != "" {
		if err := e.replica.log.DeleteBlob(ctx, before.sum()); err != nil {
			return err
		}
	}
	return (&sharedBuild{Seq: seq, Format: snapshotFormat}).write(ctx, rows, e.replica.name)
}

// awaitShared waits until the result of a build is shared or this process is to compute it: it starts builds itself, the log
// does not answer, or a question waits for it (hurry is closed).
func (e *Engine) awaitShared(ctx context.Context, seq uint64, hurry <-chan struct{}) {
	if _, shared := e.table.(sharedTable); !shared {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, buildPatience)
	defer cancel()
	for !e.replica.builds.Load() && e.replica.usable() == nil {
		if b := sharedBuildIn(ctx, e.table); b != nil && b.Seq >= seq {
			return
		}
		select {
		case <-hurry:
			return
		case <-ctx.Done():
			return
		case <-time.After(sharedBuildLook):
		}
	}
}

// fetchBlob reads a shared snapshot of a workspace, for which it waits for so long.
func fetchBlob(ctx context.Context, log eventlog.Log, name string, b *sharedBuild, patience time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, blobTimeout)
	defer cancel()
	var data []byte
	for began := time.Now(); ; {
		var err error
		if data, err = log.Blob(ctx, b.sum()); err == nil {
			break
		}
		if !errors.Is(err, eventlog.ErrNoBlob) || time.Since(began) >= patience {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(sharedBuildLook):
		}
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostInflated*uint64(len(data)+1<<10)))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	data, err = z.DecodeAll(data, nil)
	rest, ok := bytes.CutPrefix(data, blobHead(name))
	if err == nil && !ok {
		err = fmt.Errorf("%w: blob %s is of another workspace", storage.ErrDamaged, b.Sum)
	}
	return rest, err
}

// fetchBuild reads the measures of a build from its shared result; nil if there is none that this process can use. verify
// says that they are to be computed, too. The builder does not wait for the blob, nor does a replica where a question waits
// for the build (hurry is closed).
func (e *Engine) fetchBuild(ctx context.Context, u *unfinished, hurry <-chan struct{}) (m *suggest.Measures, verify bool) {
	b := sharedBuildIn(ctx, e.table)
	if e.replica == nil || u.image == nil || !b.usable() || b.Seq != u.built.seq {
		return nil, false
	}
	patience := blobPatience
	select {
	case <-hurry:
		patience = 0
	default:
		if e.replica.builds.Load() {
			patience = 0
		}
	}
	data, err := fetchBlob(ctx, e.replica.log, e.replica.name, b, patience)
	if err != nil {
		if ctx.Err() == nil {
			e.opts.Logger.Warn("the shared result of a build could not be read; it is computed here", "workspace", e.name, "event", b.Seq, "error", err)
		}
		return nil, false
	}
	var own bytes.Buffer
	w := &codec.Writer{To: &own}
	if err := u.writeCounted(w); err != nil || w.Flush() != nil {
		return nil, false
	}
	if !bytes.HasPrefix(data, own.Bytes()) {
		e.differs(b.Seq, whatItCounts)
		return nil, false
	}
	if was := e.replica.differs.Load(); was != nil && strings.Contains((*was).Error(), whatItCounts) {
		e.replica.differs.Store(nil)
	}
	r := codec.NewReader(data[own.Len():])
	m = suggest.ReadMeasures(r, u.counts, e.opts.Thesaurus)
	if err := r.End(); err != nil { // the bytes are those that were shared
		e.differs(b.Seq, err.Error())
		return nil, false
	}
	u.how.choose(m)
	return m, b.sum()[0]%verifyOneIn == 0
}

// differs notes that a shared build is not what is computed here.
func (e *Engine) differs(seq uint64, what string) {
	err := fmt.Errorf("event %d, %s: %w", seq, what, errBuildDiffers)
	e.opts.Logger.Error("two replicas do not agree", "workspace", e.name, "error", err)
	e.replica.differs.Store(&err)
}

// compareBuilt compares measures that were fetched with those that were computed here.
func (e *Engine) compareBuilt(u *unfinished, fetched, computed *suggest.Measures) {
	var parts [2][]suggest.Part
	for i, m := range []*suggest.Measures{fetched, computed} {
		model, err := suggest.NewModel(u.counts, m, suggest.Stamp{})
		if err != nil {
			return
		}
		parts[i] = model.Parts()
	}
	for i, p := range parts[0] {
		if p != parts[1][i] {
			e.differs(u.built.seq, p.Name)
			return
		}
	}
	e.replica.differs.Store(nil)
}

// preload copies the events of the shared log up to its last build, and the result of that build for a snapshot, so that
// the workspace opens with them and folds only what came after. What fails is left to the engine, which folds everything.
func (w *Workspaces) preload(ctx context.Context, shared string, log storage.Log, table storage.Table) error {
	b := sharedBuildIn(ctx, table)
	if !b.usable() || log.Head().Seq >= b.Seq {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, preloadTime)
	defer cancel()
	data, err := fetchBlob(ctx, w.opts.Shared, shared, b, 0)
	if err != nil {
		return err
	}
	into, batch, size := log.(storage.Installer), []storage.Sealed(nil), 0
	var erased []uint64 // the shared log keeps what is forgotten
	for e, err := range w.opts.Shared.Read(ctx, shared, log.Head().Seq, false) {
		if err != nil {
			return err
		}
		batch, size = append(batch, e), size+len(e.Payload)
		if len(e.Payload) > 0 && e.Payload[0] == kindForgotten {
			_, v, err := decode(e.Payload)
			if err != nil {
				return err
			}
			erased = append(erased, v.(*forgotten).Seqs...)
		}
		if e.Seq == b.Seq || len(batch) == eventlog.MaxEvents || size+storage.MaxPayload > eventlog.MaxBytes {
			if err := into.Install(ctx, batch); err != nil {
				return err
			}
			batch, size = nil, 0
		}
		if e.Seq == b.Seq {
			break
		}
	}
	r := codec.NewReader(data)
	if format, _, built := readPlaces(r); r.Err() != nil || format != snapshotFormat || (storage.Head{Seq: built.seq, Chain: built.chain}) != log.Head() {
		return fmt.Errorf("%w: the shared result of the build at event %d is of another history", storage.ErrDamaged, b.Seq)
	}
	if len(erased) > 0 {
		if err := errors.Join(log.Erase(ctx, erased), log.DropSnapshots(ctx)); err != nil {
			return err
		}
	}
	return log.PutSnapshot(ctx, b.Seq, func(to io.Writer) error {
		_, err := to.Write(data)
		return err
	})
}
