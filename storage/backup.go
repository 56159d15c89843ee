package storage

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
)

// A backup is a header and frames:
//
//	"WAYMARKB" format
//	section ""          R…           H    rows of the system table
//	section "default"   R… E…        H    rows, then events from 1, then the head
//	…                                     workspaces in order of their names
//	trailer                               counts and the SHA-256 of all bytes before it
//
// A frame is kind, length, crc32c, body. Keys, names and seqs rise, so one content has one spelling:
// equal stores give equal backups. Keys of records are kept as hashes; snapshots are left out, since
// they can be made again. A stream that was cut anywhere lacks the trailer and is refused.
const (
	backupMagic  = "WAYMARKB"
	backupFormat = 1

	frameSection = 'S'
	frameRow     = 'R'
	frameEvent   = 'E'
	frameHead    = 'H'
	frameTrailer = 'T'
	frameRaw     = 'K'

	frameHeader = 9
	frameMax    = MaxPayload + 1<<10
)

func appendFrame(b []byte, kind byte, body []byte) []byte {
	b = append(b, kind)
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	b = binary.BigEndian.AppendUint32(b, frameSum(kind, body))
	return append(b, body...)
}

func frameSum(kind byte, body []byte) uint32 {
	var h [5]byte
	h[0] = kind
	binary.BigEndian.PutUint32(h[1:], uint32(len(body)))
	return crc32.Update(crc32.Checksum(h[:], castagnoli), castagnoli, body)
}

// backupWriter writes a backup; its caller keeps to the order above.
type backupWriter struct {
	w    *bufio.Writer
	sum  hash.Hash
	buf  []byte
	body []byte
	s    BackupSummary
}

func newBackupWriter(w io.Writer) (*backupWriter, error) {
	bw := &backupWriter{w: bufio.NewWriterSize(w, 64<<10), sum: sha256.New()}
	return bw, bw.write(append([]byte(backupMagic), backupFormat))
}

func (bw *backupWriter) write(b []byte) error {
	bw.sum.Write(b)
	bw.s.Bytes += int64(len(b))
	_, err := bw.w.Write(b)
	return err
}

func (bw *backupWriter) frame(kind byte, body []byte) error {
	bw.body = body[:0]
	bw.buf = appendFrame(bw.buf[:0], kind, body)
	return bw.write(bw.buf)
}

func (bw *backupWriter) section(name string) error {
	if name != "" {
		bw.s.Workspaces++
	}
	return bw.frame(frameSection, append(bw.body[:0], name...))
}

func (bw *backupWriter) row(key string, version uint64, value []byte) error {
	bw.s.Rows++
	b := binary.BigEndian.AppendUint64(bw.body[:0], version)
	b = binary.BigEndian.AppendUint16(b, uint16(len(key)))
	b = append(b, key...)
	return bw.frame(frameRow, append(b, value...))
}

// event writes seq and the event as it is stored, chain included.
func (bw *backupWriter) event(seq uint64, stored []byte) error {
	bw.s.Events++
	b := binary.BigEndian.AppendUint64(bw.body[:0], seq)
	return bw.frame(frameEvent, append(b, stored...))
}

func (bw *backupWriter) end(h Head) error {
	b := binary.BigEndian.AppendUint64(bw.body[:0], h.Seq)
	return bw.frame(frameHead, append(b, h.Chain[:]...))
}

func (bw *backupWriter) finish() (BackupSummary, error) {
	sum := bw.sum.Sum(nil)
	b := binary.BigEndian.AppendUint64(nil, uint64(bw.s.Workspaces))
	b = binary.BigEndian.AppendUint64(b, bw.s.Events)
	b = binary.BigEndian.AppendUint64(b, bw.s.Rows)
	if err := bw.frame(frameTrailer, append(b, sum...)); err != nil {
		return BackupSummary{}, err
	}
	bw.s.SHA256 = hex.EncodeToString(sum)
	return bw.s, bw.w.Flush()
}

// A backupSink takes what a backup holds. The reader has checked order, checksums and chain.
type backupSink interface {
	section(name string) error
	row(key string, version uint64, value []byte) error
	event(e storedEvent) error
	end(h Head) error
}

// backupReader checks the grammar of a backup while it reads.
type backupReader struct {
	r    *bufio.Reader
	sum  hash.Hash
	s    BackupSummary
	sink backupSink

	sections int
	open     bool // inside a section
	name     string
	row      string
	rows     int
	head     Head
}

// readBackup reads to the end of r. Nothing it has given to the sink may be believed unless it
// returns nil: the last word is the trailer's.
func readBackup(r io.Reader, sink backupSink) (BackupSummary, error) {
	br := &backupReader{r: bufio.NewReaderSize(r, 64<<10), sum: sha256.New(), sink: sink}
	head := make([]byte, len(backupMagic)+1)
	if err := br.read(head); err != nil {
		return BackupSummary{}, err
	}
	br.sum.Write(head)
	if string(head[:len(backupMagic)]) != backupMagic {
		return BackupSummary{}, damaged("this is not a backup")
	}
	if v := head[len(backupMagic)]; v != backupFormat {
		return BackupSummary{}, fmt.Errorf("the backup has format %d, this program knows %d; %s", v, backupFormat, otherProgram)
	}
	for {
		kind, body, err := br.frame()
		if err != nil {
			return BackupSummary{}, fmt.Errorf("after %d events: %w", br.s.Events, err)
		}
		if kind == frameTrailer {
			return br.finish(body)
		}
		if err := br.take(kind, body); err != nil {
			return BackupSummary{}, fmt.Errorf("after %d events: %w", br.s.Events, err)
		}
	}
}

func (br *backupReader) read(b []byte) error {
	n, err := io.ReadFull(br.r, b)
	br.s.Bytes += int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged("the backup is cut short")
	}
	return err
}

func (br *backupReader) frame() (kind byte, body []byte, err error) {
	var h [frameHeader]byte
	if err := br.read(h[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(h[1:])
	if n > frameMax {
		return 0, nil, damaged("a frame of %d bytes", n)
	}
	body = make([]byte, n)
	if err := br.read(body); err != nil {
		return 0, nil, err
	}
	if frameSum(h[0], body) != binary.BigEndian.Uint32(h[5:]) {
		return 0, nil, damaged("a frame whose %v", errChecksum)
	}
	if h[0] != frameTrailer {
		br.sum.Write(h[:])
		br.sum.Write(body)
	}
	return h[0], body, nil
}

func (br *backupReader) take(kind byte, body []byte) error {
	switch {
	case kind == frameSection && !br.open:
		return br.takeSection(string(body))
	case kind == frameRow && br.open && br.head.Seq == 0:
		return br.takeRow(body)
	case kind == frameEvent && br.open && br.name != "":
		return br.takeEvent(body)
	case kind == frameHead && br.open:
		return br.takeHead(body)
	}
	return damaged("a frame of kind %q where none may be", kind)
}

func (br *backupReader) takeSection(name string) error {
	if first := br.sections == 0; first != (name == "") || !first && name <= br.name {
		return damaged("section %q is out of order", name)
	}
	if name != "" {
		if err := checkWorkspace(name); err != nil {
			return damaged("%v", err)
		}
		br.s.Workspaces++
	}
	br.sections++
	br.open, br.name, br.row, br.rows, br.head = true, name, "", 0, Head{}
	return br.sink.section(name)
}

func (br *backupReader) takeRow(body []byte) error {
	if len(body) < 10 || len(body) < 10+int(binary.BigEndian.Uint16(body[8:])) {
		return damaged("a row that is cut short")
	}
	version, n := binary.BigEndian.Uint64(body), int(binary.BigEndian.Uint16(body[8:]))
	key, value := string(body[10:10+n]), body[10+n:]
	if err := checkRow(key, value); err != nil || version == 0 || br.rows > 0 && key <= br.row {
		return damaged("row %q of workspace %q is out of order or range", key, br.name)
	}
	br.row = key
	br.rows++
	br.s.Rows++
	return br.sink.row(key, version, value)
}

func (br *backupReader) takeEvent(body []byte) error {
	if len(body) < 8 {
		return damaged("an event that is cut short")
	}
	seq := binary.BigEndian.Uint64(body)
	if seq != br.head.Seq+1 {
		return damaged("workspace %q: event %d follows %d", br.name, seq, br.head.Seq)
	}
	e, err := decodeEvent(seq, body[8:])
	if err == nil {
		err = e.check(br.head)
	}
	if err == nil && len(e.Payload) > MaxPayload {
		err = errors.New("payload too large")
	}
	if err != nil {
		return damaged("workspace %q: event %d: %v", br.name, seq, err)
	}
	br.head = Head{Seq: seq, Chain: e.Chain}
	br.s.Events++
	return br.sink.event(e)
}

func (br *backupReader) takeHead(body []byte) error {
	h := Head{}
	if len(body) == 40 {
		h.Seq = binary.BigEndian.Uint64(body)
		copy(h.Chain[:], body[8:])
	}
	if len(body) != 40 || h != br.head {
		return damaged("workspace %q does not end at its head", br.name)
	}
	br.open = false
	return br.sink.end(h)
}

func (br *backupReader) finish(body []byte) (BackupSummary, error) {
	sum := br.sum.Sum(nil)
	want := binary.BigEndian.AppendUint64(nil, uint64(br.s.Workspaces))
	want = binary.BigEndian.AppendUint64(want, br.s.Events)
	want = binary.BigEndian.AppendUint64(want, br.s.Rows)
	if br.open || br.sections == 0 || string(append(want, sum...)) != string(body) {
		return BackupSummary{}, damaged("the backup does not match its trailer")
	}
	switch _, err := br.r.ReadByte(); {
	case err == nil:
		return BackupSummary{}, damaged("the backup has bytes after its trailer")
	case !errors.Is(err, io.EOF):
		return BackupSummary{}, err
	}
	br.s.SHA256 = hex.EncodeToString(sum)
	return br.s, nil
}
