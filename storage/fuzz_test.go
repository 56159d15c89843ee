package storage

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// What decodes must encode to the same bytes: there is one spelling for each event.
func FuzzEvent(f *testing.F) {
	keyed := newEvent(Record{Key: "k", Payload: []byte("payload")})
	keyed.Chain = chainNext([32]byte{}, 1, keyed.Digest)
	plain := newEvent(Record{})
	erased := keyed
	erased.Erased, erased.Payload = true, nil
	for _, e := range []storedEvent{keyed, plain, erased} {
		b := encodeEvent(&e)
		f.Add(b)
		f.Add(b[:len(b)-1])
		f.Add(b[:recordHead])
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		decodeOne(t, b)
		if len(b) >= recordHead { // past the checksum, which random bytes never meet
			decodeOne(t, seal(bytes.Clone(b), b[1]))
		}
	})
}

func decodeOne(t *testing.T, b []byte) {
	e, err := decodeEvent(7, b)
	if err == nil && !bytes.Equal(encodeEvent(&e), b) {
		t.Fatalf("%x decodes, but encodes to %x", b, encodeEvent(&e))
	}
	e.check(Head{})
	decodeRow(b)
}

// appendSnapshot is a snapshot file in one piece; stored is the compressed content.
func appendSnapshot(b []byte, h snapshotHead, stored []byte) []byte {
	h.stored = uint64(len(stored))
	header := h.appendTo(nil)
	b = append(append(b, header...), stored...)
	return binary.BigEndian.AppendUint64(b, snapshotSum(header, stored))
}

func snapshotSum(header, stored []byte) uint64 {
	sum := xxhash.New()
	sum.Write(stored)
	sum.Write(header)
	return sum.Sum64()
}

func FuzzSnapshot(f *testing.F) {
	for _, content := range []string{"", "content"} {
		h := snapshotHead{Head: Head{Seq: 7, Chain: [32]byte{1}}, length: uint64(len(content))}
		z, err := zstd.NewWriter(nil)
		require.NoError(f, err)
		b := appendSnapshot(nil, h, z.EncodeAll([]byte(content), nil))
		f.Add(b)
		f.Add(b[:len(b)-1])
		f.Add(b[:snapshotHeader])
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		whole := bytes.Clone(b) // with the checksum that random bytes never meet
		if n := len(b) - snapshotTrailer; n >= snapshotHeader {
			whole = binary.BigEndian.AppendUint64(whole[:n], snapshotSum(whole[:snapshotHeader], whole[snapshotHeader:n]))
		}
		for _, b := range [][]byte{b, whole} {
			h, stored, err := readStored(t.Context(), bytes.NewReader(b), int64(len(b)))
			if err == nil && !bytes.Equal(appendSnapshot(nil, h, stored), b) {
				t.Fatalf("%x is read, but written as %x", b, appendSnapshot(nil, h, stored))
			}
			if _, content, err := readSnapshot(t.Context(), bytes.NewReader(b), int64(len(b))); err == nil && uint64(len(content)) != h.length {
				t.Fatalf("%x claims %d bytes and has %d", b, h.length, len(content))
			}
		}
	})
}

func FuzzHighWater(f *testing.F) {
	f.Add(encodeMark(mark{}))
	f.Add(encodeMark(mark{commits: 7, heads: map[string]Head{"a": {Seq: 1}, "default": {Seq: 4711, Chain: [32]byte{1}}}}))
	f.Add([]byte(highWaterMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, withSum(b)} {
			if m, err := decodeMark(b); err == nil && !bytes.Equal(encodeMark(m), b) {
				t.Fatalf("%x decodes, but encodes to %x", b, encodeMark(m))
			}
		}
	})
}

// withSum replaces the last four bytes by the checksum of those before.
func withSum(b []byte) []byte {
	if len(b) < 4 {
		return b
	}
	b = b[:len(b)-4]
	return append(bytes.Clone(b), sumBytes(b)...)
}

type discardSink struct{}

func (discardSink) section(string) error             { return nil }
func (discardSink) row(string, uint64, []byte) error { return nil }
func (discardSink) event(storedEvent) error          { return nil }
func (discardSink) end(Head) error                   { return nil }

// memorySink builds a Memory, to see whether what was read is written the same again.
type memorySink struct {
	m *memory
	s *memorySpace
}

func (k *memorySink) section(name string) (err error) {
	k.s = k.m.system
	if name != "" {
		k.s, err = k.m.space(name)
	}
	return err
}

func (k *memorySink) row(key string, version uint64, value []byte) error {
	k.s.rows[key] = Entry{key, value, version}
	return nil
}

func (k *memorySink) event(e storedEvent) error {
	k.s.events = append(k.s.events, e)
	return nil
}

func (k *memorySink) end(Head) error { return nil }

func FuzzBackup(f *testing.F) {
	m := NewMemory()
	fillForBackup(f, m)
	var out bytes.Buffer
	if _, err := m.Backup(f.Context(), &out); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Add(out.Bytes()[:200])
	f.Add([]byte(backupMagic + "\x01T\x00\x00\x00\x00"))
	f.Add([]byte("S\x00H\x28" + string(make([]byte, 40)) + "S\x01aH\x28" + string(make([]byte, 40))))
	f.Fuzz(func(t *testing.T, b []byte) {
		readOne(t, b)
		readOne(t, reframe(b))
	})
}

// reframe takes the bytes for kinds, lengths and bodies and makes frames with right checksums and a
// right trailer of them, so that what lies behind the checksums is reached.
func reframe(b []byte) []byte {
	out := append([]byte(backupMagic), backupFormat)
	var counts [3]uint64
	for len(b) >= 2 && len(b) >= 2+int(b[1]) {
		body := b[2 : 2+int(b[1])]
		switch {
		case b[0] == frameSection && len(body) > 0:
			counts[0]++
		case b[0] == frameEvent:
			counts[1]++
		case b[0] == frameRow:
			counts[2]++
		}
		out = appendFrame(out, b[0], body)
		b = b[2+len(body):]
	}
	var trailer []byte
	for _, n := range counts {
		trailer = binary.BigEndian.AppendUint64(trailer, n)
	}
	sum := sha256.Sum256(out)
	return appendFrame(out, frameTrailer, append(trailer, sum[:]...))
}

func readOne(t *testing.T, b []byte) {
	sink := &memorySink{m: NewMemory()}
	s, err := readBackup(bytes.NewReader(b), sink)
	if err != nil {
		if _, again := readBackup(bytes.NewReader(b), discardSink{}); again == nil || again.Error() != err.Error() {
			t.Fatalf("read twice: %v, then %v", err, again)
		}
		return
	}
	var out bytes.Buffer
	again, err := sink.m.Backup(t.Context(), &out)
	if err != nil || again != s || !bytes.Equal(out.Bytes(), b) {
		t.Fatal(errors.Join(err, errors.New("a backup that is read is not written the same")))
	}
}

func sumBytes(b []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.Checksum(b, castagnoli))
}
