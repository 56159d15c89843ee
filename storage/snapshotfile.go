package storage

import (
	"bufio"
	"context"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

// A snapshot is a file of its own, since the log tree and the queue of commits are no place for
// hundreds of megabytes:
//
//	"WMSN" format seq chain[32] stored length zstd(content) xxhash64
//
// chain is that of event seq, so a snapshot of another history is told apart from one of this log.
// stored is how many bytes the compressed content takes, length those of the content. The checksum covers
// what is stored, then the header: the header is written last, when the lengths are known. It finds damage,
// not forgery; SHA-256 would find no more and takes twenty times as long where the processor has no
// instructions for it.
const (
	snapshotMagic  = "WMSN"
	snapshotFormat = 2

	snapshotHeader  = len(snapshotMagic) + 1 + 8 + 32 + 8 + 8
	snapshotTrailer = 8

	snapshotChunk = 1 << 20 // between two looks at the context
	snapshotStep  = 4 << 20 // written or removed between two syncs
	snapshotExt   = ".snapshot"
	snapshotTemp  = ".tmp"

	// mostCompressed is how many times its stored bytes a content is believed to have before it is decompressed.
	mostCompressed = 32
)

// snapshotHead is what the header of a file says.
type snapshotHead struct {
	Head
	stored, length uint64 // bytes of the content in the file, and decompressed
}

// appendTo appends the header.
func (h *snapshotHead) appendTo(b []byte) []byte {
	b = append(b, snapshotMagic...)
	b = append(b, snapshotFormat)
	b = binary.BigEndian.AppendUint64(b, h.Seq)
	b = append(b, h.Chain[:]...)
	b = binary.BigEndian.AppendUint64(b, h.stored)
	return binary.BigEndian.AppendUint64(b, h.length)
}

// A snapshotWriter compresses into a file, on the goroutine that writes: nobody waits for a snapshot, and it must
// not take all processors from the questions.
type snapshotWriter struct {
	f    *os.File
	z    *zstd.Encoder
	sum  *xxhash.Digest
	head snapshotHead
}

func newSnapshotWriter(f *os.File) (*snapshotWriter, error) {
	w := &snapshotWriter{f: f, sum: xxhash.New()}
	_, err := f.Seek(int64(snapshotHeader), io.SeekStart)
	if err == nil {
		w.z, err = zstd.NewWriter(storedWriter{w}, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false))
	}
	return w, err
}

func (w *snapshotWriter) add(chunk []byte) error {
	w.head.length += uint64(len(chunk))
	_, err := w.z.Write(chunk)
	return err
}

// storedWriter writes what is compressed.
type storedWriter struct{ w *snapshotWriter }

func (s storedWriter) Write(b []byte) (int, error) {
	s.w.sum.Write(b)
	n, err := writeTo(s.w.f, b)
	s.w.head.stored += uint64(n)
	return n, err
}

// finish writes what stands around the content and makes the file durable.
func (w *snapshotWriter) finish(h Head) error {
	err := w.z.Close()
	w.head.Head = h
	header := w.head.appendTo(nil)
	w.sum.Write(header)
	if err == nil {
		_, err = writeTo(w.f, binary.BigEndian.AppendUint64(nil, w.sum.Sum64()))
	}
	if err == nil {
		_, err = w.f.WriteAt(header, 0)
	}
	if err == nil {
		err = syncFile(w.f)
	}
	return err
}

// readSnapshot reads and verifies a file of the given size, and decompresses its content.
func readSnapshot(ctx context.Context, r io.Reader, size int64) (h Head, content []byte, err error) {
	head, stored, err := readStored(ctx, r, size)
	if err != nil {
		return head.Head, nil, err
	}
	content, err = head.decompress(stored)
	return head.Head, content, err
}

// decompress allocates the content once, unless the header claims an unusual length.
func (h *snapshotHead) decompress(stored []byte) ([]byte, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	content, err := z.DecodeAll(stored, make([]byte, 0, min(h.length, mostCompressed*uint64(len(stored)))))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	if uint64(len(content)) != h.length {
		return nil, fmt.Errorf("a content of %d bytes decompresses to %d", h.length, len(content))
	}
	return content, nil
}

// readStored reads and verifies a file of the given size without decompressing it. What is stored is
// allocated once, after its size in the header has been found to be that of the file.
func readStored(ctx context.Context, r io.Reader, size int64) (h snapshotHead, stored []byte, err error) {
	header := make([]byte, snapshotHeader)
	if _, err := io.ReadFull(r, header); err != nil {
		return h, nil, err
	}
	b := header[len(snapshotMagic):]
	if string(header[:len(snapshotMagic)]) != snapshotMagic || b[0] != snapshotFormat {
		return h, nil, errFormat
	}
	h.Seq = binary.BigEndian.Uint64(b[1:])
	copy(h.Chain[:], b[9:])
	h.stored = binary.BigEndian.Uint64(b[41:])
	h.length = binary.BigEndian.Uint64(b[49:])
	if room := size - int64(len(header)) - snapshotTrailer; room < 0 || h.stored != uint64(room) || uint64(int(h.stored)) != h.stored {
		return h, nil, fmt.Errorf("a content of %d bytes in a file of %d", h.stored, size)
	}
	stored = make([]byte, h.stored)
	sum := xxhash.New()
	for rest := stored; len(rest) > 0; {
		if err := ctx.Err(); err != nil {
			return h, nil, err
		}
		chunk := rest[:min(len(rest), snapshotChunk)]
		if _, err := io.ReadFull(r, chunk); err != nil {
			return h, nil, err
		}
		sum.Write(chunk)
		rest = rest[len(chunk):]
	}
	sum.Write(header)
	var trailer [snapshotTrailer]byte
	if _, err := io.ReadFull(r, trailer[:]); err != nil {
		return h, nil, err
	}
	if binary.BigEndian.Uint64(trailer[:]) != sum.Sum64() {
		return h, nil, errChecksum
	}
	return h, stored, nil
}

// chunks is a writer that hands on at most snapshotChunk bytes at a time.
type chunks func(chunk []byte) error

func (c chunks) Write(p []byte) (n int, err error) {
	for n < len(p) {
		chunk := p[n:min(n+snapshotChunk, len(p))]
		if err := c(chunk); err != nil {
			return n, err
		}
		n += len(chunk)
	}
	return n, nil
}

// stream runs write and fails if a chunk did, whatever write says.
func stream(write func(io.Writer) error, c chunks) error {
	w := bufio.NewWriterSize(c, snapshotChunk)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// Files of snapshots lie in a folder for each workspace. Names of folders differ in more than the
// case of their letters, are no device of any system, and lead nowhere: a plain name stays readable,
// any other is spelt in base32, where 128 bytes take 205 of the 255 a file name may have.
const (
	plainFolder  = "w-"
	spelltFolder = "x-"
)

var folderEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func snapshotFolder(workspace string) string {
	for _, c := range []byte(workspace) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return spelltFolder + folderEncoding.EncodeToString([]byte(workspace))
		}
	}
	return plainFolder + workspace
}

func isSnapshotFolder(e os.DirEntry) bool {
	return e.IsDir() && (strings.HasPrefix(e.Name(), plainFolder) || strings.HasPrefix(e.Name(), spelltFolder))
}

func snapshotName(seq uint64) string { return fmt.Sprintf("%020d%s", seq, snapshotExt) }

// snapshotSeq takes a file name apart; ok is false for a file that is no snapshot.
func snapshotSeq(name string) (seq uint64, ok bool) {
	seq, err := strconv.ParseUint(strings.TrimSuffix(name, snapshotExt), 10, 64)
	return seq, err == nil && name == snapshotName(seq)
}

// snapshotSeqs lists a folder, newest first.
func snapshotSeqs(folder string) (seqs []uint64, err error) {
	entries, err := readDir(folder)
	for i := len(entries) - 1; i >= 0; i-- {
		if seq, ok := snapshotSeq(entries[i].Name()); ok {
			seqs = append(seqs, seq)
		}
	}
	return seqs, err
}

// readDir lists a directory in order of names; one that does not exist is empty.
func readDir(dir string) ([]os.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// makeDir makes a directory in one that exists, durably.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// removeDir removes a directory with all it holds, durably: its files are gone for good before its
// name goes.
func removeDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if err == nil {
			err = removeAll(filepath.Join(dir, e.Name()))
		}
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err == nil {
		err = os.Remove(dir)
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}
