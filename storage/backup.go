package storage

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// A backup is all entries of one consistent state but snapshots and leases, in their order, so one content has one
// spelling, whatever the engine:
//
//	"WAYMARKB" format
//	table space name value     each with its length before it
//	…
//	0 SHA-256                  of all bytes before; a stream that was cut anywhere lacks it and is refused
//
// [Restore] checks that every log in it is whole.
const backupMagic = "WAYMARKB\x02"

// SecretRow begins the keys of rows that no backup has.
const SecretRow = "~"

// BackupSummary says what a backup holds. SHA256 covers all bytes before it; Bytes is the length with it.
type BackupSummary struct {
	Workspaces int    `json:"workspaces"`
	Events     uint64 `json:"events"`
	Rows       uint64 `json:"rows"`
	Bytes      int64  `json:"bytes"`
	SHA256     string `json:"sha256"`
}

func (s *BackupSummary) count(k Key, value []byte) {
	switch k.Table {
	case tableEvents:
		s.Events++
	case tableRows:
		s.Rows++
	case tableHeads:
		if h, err := decodeHeader(value); err == nil && h.exists() && k.Name != "" {
			s.Workspaces++
		}
	}
}

// summed counts and digests the bytes of a backup.
type summed struct {
	sum   hash.Hash
	bytes int64
}

func (s *summed) Write(b []byte) (int, error) {
	s.bytes += int64(len(b))
	return s.sum.Write(b)
}

// Backup writes the store as it is at one moment; appends go on meanwhile.
func (s *Store) Backup(ctx context.Context, to io.Writer) (summary BackupSummary, err error) {
	sum := &summed{sum: sha256.New()}
	out := bufio.NewWriterSize(to, 64<<10)
	w := io.MultiWriter(out, sum)
	err = s.view(ctx, func(r Reader) error {
		spaces := []string{""}
		for p, err := range r.Scan(tableHeads, "", "", "") {
			if err != nil {
				return err
			}
			h, err := decodeHeader(p.Value)
			if err != nil {
				return damaged("workspace %q: %v", p.Name, err)
			}
			if p.Name != "" && h.exists() {
				spaces = append(spaces, h.space(p.Name))
			}
		}
		if _, err := io.WriteString(w, backupMagic); err != nil {
			return err
		}
		for _, t := range []kind{tableHeads, tableEvents, tableKeys, tableRows} {
			for _, space := range spaces {
				for p, err := range r.Scan(t, space, "", "") {
					if err == nil {
						err = ctx.Err()
					}
					if err == nil && t == tableHeads { // how often it was changed belongs to this store
						h, _ := decodeHeader(p.Value)
						h.changes = 1
						p.Value = h.encode()
					}
					if t == tableRows && strings.HasPrefix(p.Name, SecretRow) {
						continue
					}
					if err == nil {
						err = writeEntry(w, p)
					}
					if err != nil {
						return err
					}
					summary.count(p.Key, p.Value)
				}
			}
		}
		_, err := w.Write([]byte{0})
		return err
	})
	if err == nil {
		digest := sum.sum.Sum(nil)
		summary.SHA256, summary.Bytes = hex.EncodeToString(digest), sum.bytes+sha256.Size
		if _, err = out.Write(digest); err == nil {
			err = out.Flush()
		}
	}
	if err != nil {
		return BackupSummary{}, fmt.Errorf("backup: %w", err)
	}
	return summary, nil
}

func writeEntry(w io.Writer, p Pair) error {
	b := []byte{byte(p.Table)}
	for _, part := range [][]byte{[]byte(p.Space), []byte(p.Name), p.Value} {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(part))), part...)
	}
	_, err := w.Write(b)
	return err
}

// entryReader reads a backup and checks its form.
type entryReader struct {
	in     *bufio.Reader
	sum    *summed
	digest string // once the end was read
}

func (r *entryReader) read(b []byte) error {
	if _, err := io.ReadFull(r.in, b); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged("the backup is cut short")
	} else if err != nil {
		return err
	}
	_, err := r.sum.Write(b)
	return err
}

// next returns the next entry; ok is false at the end, of which the digest has been compared.
func (r *entryReader) next() (p Pair, ok bool, err error) {
	var first [1]byte
	if err := r.read(first[:]); err != nil {
		return p, false, err
	}
	if p.Table = kind(first[0]); p.Table == 0 {
		return p, false, r.end()
	}
	var parts [3][]byte
	for i, most := range []uint32{maxWorkspace + 24, maxRowKey, MaxPayload + eventHead} {
		var length [4]byte
		if err := r.read(length[:]); err != nil {
			return p, false, err
		}
		n := binary.BigEndian.Uint32(length[:])
		if n > most {
			return p, false, damaged("the backup has a value of %d bytes", n)
		}
		parts[i] = make([]byte, n)
		if err := r.read(parts[i]); err != nil {
			return p, false, err
		}
	}
	p.Space, p.Name, p.Value = string(parts[0]), string(parts[1]), parts[2]
	switch p.Table {
	case tableHeads, tableEvents, tableKeys, tableRows:
		return p, true, nil
	}
	return p, false, damaged("the backup has an entry of unknown kind %q", p.Table)
}

func (r *entryReader) end() error {
	want := r.sum.sum.Sum(nil)
	r.digest = hex.EncodeToString(want)
	got := make([]byte, len(want))
	if err := r.read(got); err != nil {
		return err
	}
	if string(got) != string(want) {
		return damaged("the backup does not match its SHA-256")
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		return damaged("the backup has bytes after its end")
	}
	return nil
}

// restore fills an engine that has no entries. Nothing of it may be used unless it returns nil.
func restore(ctx context.Context, in io.Reader, e Engine) (summary BackupSummary, err error) {
	r := &entryReader{in: bufio.NewReaderSize(in, 64<<10), sum: &summed{sum: sha256.New()}}
	magic := make([]byte, len(backupMagic))
	if err := r.read(magic); err != nil {
		return summary, err
	}
	if string(magic) != backupMagic {
		return summary, damaged("this is not a backup of this version of the program")
	}
	var batch []Pair
	size := 0
	flush := func() error {
		err := e.Update(ctx, nil, func(Reader) ([]Pair, error) { return batch, nil })
		batch, size = nil, 0
		return err
	}
	for {
		p, ok, err := r.next()
		if err != nil {
			return summary, fmt.Errorf("after %d events: %w", summary.Events, err)
		}
		if !ok {
			break
		}
		if err := ctx.Err(); err != nil {
			return summary, err
		}
		more := len(p.Value) + len(p.Name) + len(p.Space) + 200
		if len(batch) == maxRecords || size+more > maxBytes {
			if err := flush(); err != nil {
				return summary, err
			}
		}
		batch, size = append(batch, p), size+more
		summary.count(p.Key, p.Value)
	}
	if err := flush(); err != nil {
		return summary, err
	}
	summary.SHA256, summary.Bytes = r.digest, r.sum.bytes
	return summary, nil
}

// Restore makes a store in dir from a backup. dir must be empty or not exist. The store is built
// beside it and takes its name only after the last byte of the backup has been verified and all is
// on disk; after an error nothing is left.
func Restore(ctx context.Context, in io.Reader, dir string, opts Options) (summary BackupSummary, err error) {
	defer func() {
		if err != nil {
			summary, err = BackupSummary{}, fmt.Errorf("restore into %s: %w", dir, err)
		}
	}()
	if dir, err = filepath.Abs(dir); err != nil {
		return summary, err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return summary, errors.New("the directory is not empty")
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return summary, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return summary, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".restore-")
	if err != nil {
		return summary, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	e, err := openBadger(temp, opts)
	if err != nil {
		return summary, err
	}
	if summary, err = restore(ctx, in, e); err != nil {
		return summary, errors.Join(err, e.Close())
	}
	s, err := New(ctx, e, opts) // which verifies every log
	if err != nil {
		return summary, err
	}
	if err := s.Close(); err != nil {
		return summary, err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return summary, err
	}
	if err := os.Rename(temp, dir); err != nil {
		return summary, err
	}
	return summary, syncDir(filepath.Dir(dir))
}
