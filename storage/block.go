package storage

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/dgraph-io/badger/v4"
)

// Events of one commit that follow each other in a log are stored together, since what badger costs
// is entries more than bytes. The entry has the key of its last event and is that event alone or
//
//	format { length event }...        length of four bytes, big-endian
//
// so a search for the key of an event finds the entry that holds it. Every event has its checksum,
// and the numbers follow from the key and the count: a changed length is seen as one or the other.
const (
	blockFormat = 2
	blockBytes  = 16 << 10 // above which a block takes no further event; an erasure rewrites one
)

// a run is a block being filled.
type run struct {
	n    int
	last uint64
	buf  []byte
}

// add encodes an event into the run.
func (r *run) add(e *storedEvent) {
	if r.n == 0 {
		r.buf = append(r.buf[:0], blockFormat)
	}
	r.buf = binary.BigEndian.AppendUint32(r.buf, uint32(eventSize(e)))
	r.buf = appendEvent(r.buf, e)
	r.n, r.last = r.n+1, e.Seq
}

// value is the entry of the run.
func (r *run) value() []byte {
	if r.n == 1 {
		return r.buf[5:]
	}
	return r.buf
}

// records takes an entry apart; last is the number in its key. It appends the stored events to dst.
func records(dst [][]byte, last uint64, entry []byte) (first uint64, _ [][]byte, err error) {
	if len(entry) == 0 {
		return last, dst, errShort
	}
	if entry[0] != blockFormat {
		return last, append(dst, entry), nil
	}
	had := len(dst)
	for b := entry[1:]; len(b) > 0; {
		if len(b) < 4 || uint64(len(b)-4) < uint64(binary.BigEndian.Uint32(b)) {
			return last, dst, errShort
		}
		n := 4 + int(binary.BigEndian.Uint32(b))
		dst, b = append(dst, b[4:n:n]), b[n:]
	}
	n := uint64(len(dst) - had)
	if n < 2 || n > last { // one event alone has one spelling, and numbers start at 1
		return last, dst, errFormat
	}
	return last - n + 1, dst, nil
}

// keyIndex finds the event of a key. It is made when the log is read at the start and holds 64 bits
// of each key's hash, drawn with a seed of the process, so that nobody can choose two keys that meet;
// should two meet all the same, the later one is kept whole. What it finds is a candidate: the event
// has the hash and decides.
type keyIndex struct {
	seed  maphash.Seed
	first map[uint64]uint64
	more  map[[32]byte]uint64
	bits  uint64 // of the hash that count; fewer only in tests
}

func newKeyIndex() *keyIndex {
	return &keyIndex{seed: maphash.MakeSeed(), first: make(map[uint64]uint64), bits: ^uint64(0)}
}

func (x *keyIndex) slot(hash *[32]byte) uint64 { return maphash.Bytes(x.seed, hash[:]) & x.bits }

// find returns the event that may have the key. sure is set if it does.
func (x *keyIndex) find(hash *[32]byte) (seq uint64, sure, ok bool) {
	if seq, ok := x.more[*hash]; ok {
		return seq, true, true
	}
	seq, ok = x.first[x.slot(hash)]
	return seq, false, ok
}

// add enters a key that is not in the index.
func (x *keyIndex) add(hash *[32]byte, seq uint64) {
	s := x.slot(hash)
	if _, taken := x.first[s]; !taken {
		x.first[s] = seq
		return
	}
	if x.more == nil {
		x.more = make(map[[32]byte]uint64)
	}
	x.more[*hash] = seq
}

// buffers are the memory of runs. Badger keeps what it was given until the commit, and copies it then,
// so the next group has them again.
type buffers struct {
	all  [][]byte
	used int
}

func (b *buffers) next() []byte {
	if b.used == len(b.all) {
		b.all = append(b.all, make([]byte, 0, blockBytes+blockBytes/8))
	}
	b.used++
	return b.all[b.used-1]
}

// put adds an event to the run of its log. Badger sees it when the run is full or the group is.
func (t *tx) put(w *space, e *storedEvent) error {
	r := t.runs[w]
	if r == nil {
		r = &run{buf: t.buffers.next()}
		t.runs[w] = r
	}
	if r.n > 0 && len(r.buf)+eventSize(e) > blockBytes {
		if err := t.flush(w); err != nil {
			return err
		}
	}
	r.add(e)
	return nil
}

// flush hands the run of a log to badger.
func (t *tx) flush(w *space) error {
	r := t.runs[w]
	if r == nil || r.n == 0 {
		return nil
	}
	if err := t.set(eventKey(w.name, r.last), r.value()); err != nil {
		return err
	}
	t.blocks[w] = append(t.blocks[w], r.last)
	*r = run{buf: t.buffers.next()}
	return nil
}

// flushAll hands over all runs. In which order does not matter: it is one transaction.
func (t *tx) flushAll() error {
	for w := range t.runs {
		if err := t.flush(w); err != nil {
			return err
		}
	}
	return nil
}

// A finder reads durable events for the committer, and keeps the entry it has read last: who sends
// a batch again sends it in order.
type finder struct {
	txn   *badger.Txn
	it    *badger.Iterator
	w     *space
	first uint64
	last  uint64
	found [][]byte
}

// entry returns the number of the last event of the entry that holds seq, or ErrNotFound.
func (f *finder) entry(db *badger.DB, w *space, seq uint64) (last uint64, err error) {
	if f.w == w && f.first <= seq && seq <= f.last {
		return f.last, nil
	}
	if f.w != w {
		f.close()
		f.txn = db.NewTransaction(false)
		f.it = f.txn.NewIterator(badger.IteratorOptions{Prefix: prefix(kindEvent, w.name)})
		f.w = w
	}
	f.first, f.last = 1, 0
	if f.it.Seek(eventKey(w.name, seq)); !f.it.Valid() {
		return 0, ErrNotFound
	}
	_, last, err = splitSeq(f.it.Item().Key())
	if err != nil {
		return 0, err
	}
	v, err := f.it.Item().ValueCopy(nil)
	if err != nil {
		return 0, err
	}
	first, found, err := records(f.found[:0], last, v)
	if err != nil {
		return 0, err
	}
	if first > seq {
		return 0, ErrNotFound
	}
	f.first, f.last, f.found = first, last, found
	return last, nil
}

// event returns a durable event.
func (f *finder) event(db *badger.DB, w *space, seq uint64) (storedEvent, error) {
	if _, err := f.entry(db, w, seq); err != nil {
		return storedEvent{}, err
	}
	return decodeEvent(seq, f.found[seq-f.first])
}

func (f *finder) close() {
	if f.it != nil {
		f.it.Close()
		f.txn.Discard()
		*f = finder{found: f.found}
	}
}
