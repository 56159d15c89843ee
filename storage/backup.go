package storage

import (
	"bufio"
	"cmp"
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
	"slices"
	"strings"
)

// A backup contains all entries of one consistent state except snapshots, leases and marks, in a fixed order. So equal
// content gives equal bytes, whatever the engine:
//
//	"WAYMARKB" format
//	table, length of space, name and value     a [frame]
//	space name value
//	…
//	an empty frame, then the SHA-256 of all bytes before it; a stream that was cut anywhere lacks it
//
// [Restore] checks that every log in it is complete and intact.
const backupMagic = "WAYMARKB\x03"

var backupTables = []kind{tableHeads, tableEvents, tableKeys, tableRows}

// BackupSummary describes the content of a backup. SHA256 covers all bytes before it;
// Bytes is the length including it.
type BackupSummary struct {
	Workspaces int    `json:"workspaces"`
	Events     uint64 `json:"events"`
	Rows       uint64 `json:"rows"`
	Bytes      int64  `json:"bytes"`
	SHA256     string `json:"sha256"`
}

func (s *BackupSummary) count(p Pair) {
	switch p.Table {
	case tableEvents:
		s.Events++
	case tableRows:
		s.Rows++
	case tableHeads:
		if h, err := decodeHeader(p.Value); err == nil && h.exists() && p.Name != "" {
			s.Workspaces++
		}
	}
}

// Backup writes one consistent state of the store. Appends continue meanwhile.
func (s *Store) Backup(ctx context.Context, to io.Writer) (summary BackupSummary, err error) {
	sum := sha256.New()
	out := bufio.NewWriterSize(to, 64<<10)
	write := func(b []byte) {
		sum.Write(b)
		_, _ = out.Write(b) // Flush returns the error
		summary.Bytes += int64(len(b))
	}
	err = s.view(ctx, "", func(r Reader, _ header) error {
		write([]byte(backupMagic))
		spaces := []string{""}
		for _, t := range backupTables {
			for _, space := range spaces {
				for p, err := range r.Scan(t, space, "", "") {
					if err = cmp.Or(err, ctx.Err()); err != nil {
						return err
					}
					if t == tableHeads {
						h, err := decodeHeader(p.Value)
						if err != nil {
							return damaged("workspace %q: %v", p.Name, err)
						}
						if p.Name != "" && h.exists() {
							spaces = append(spaces, h.space(p.Name))
						}
						h.Changes = 1 // the number of changes is local to this store
						p.Value = h.encode()
					}
					write(encodeEntry(p))
					summary.count(p)
				}
			}
		}
		write(encodeEntry(Pair{}))
		return nil
	})
	if err == nil {
		digest := sum.Sum(nil)
		summary.SHA256 = hex.EncodeToString(digest)
		write(digest)
		err = out.Flush()
	}
	if err != nil {
		return BackupSummary{}, fmt.Errorf("backup: %w", err)
	}
	return summary, nil
}

// frame precedes each entry. The frame with Table 0 marks the end.
type frame struct {
	Table              kind
	Space, Name, Value uint32 // lengths in bytes
}

func encodeEntry(p Pair) []byte {
	b, _ := binary.Append(nil, binary.BigEndian, frame{p.Table, uint32(len(p.Space)), uint32(len(p.Name)), uint32(len(p.Value))})
	return append(append(append(b, p.Space...), p.Name...), p.Value...)
}

// entryReader reads a backup and checks its format.
type entryReader struct {
	in     *bufio.Reader
	sum    hash.Hash
	bytes  int64
	digest string // set when the end was read
}

func (r *entryReader) read(n int) ([]byte, error) {
	b := make([]byte, n)
	got, err := io.ReadFull(r.in, b)
	r.bytes += int64(got)
	r.sum.Write(b[:got])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = damaged("the backup is cut short")
	}
	return b, err
}

// next returns the next entry. The zero Pair marks the end; the digest has then been verified.
func (r *entryReader) next() (p Pair, err error) {
	var f frame
	b, err := r.read(binary.Size(f))
	if err != nil {
		return p, err
	}
	switch _, err = binary.Decode(b, binary.BigEndian, &f); {
	case f == frame{}:
		return p, r.end()
	case err != nil, !slices.Contains(backupTables, f.Table), f.Space > maxWorkspace+24, f.Name > maxRowKey, f.Value > MaxPayload+eventHead:
		return p, damaged("the backup has an entry of unknown form")
	}
	b, err = r.read(int(f.Space + f.Name + f.Value))
	name, value := b[f.Space:], b[f.Space+f.Name:]
	return Pair{Key{f.Table, string(b[:f.Space]), string(name[:f.Name])}, value}, err
}

func (r *entryReader) end() error {
	want := r.sum.Sum(nil)
	r.digest = hex.EncodeToString(want)
	got, err := r.read(len(want))
	switch {
	case err != nil:
		return err
	case string(got) != string(want):
		return damaged("the backup does not match its SHA-256")
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		return damaged("the backup has bytes after its end")
	}
	return nil
}

var (
	restoring    = Key{tableMarks, "", "restoring"}
	errRestoring = errors.New("a restore into it has not finished; remove its half-made data (the directory, " +
		"or in PostgreSQL: drop table waymark_entries) and restore again")
)

// Restore fills an empty directory or database, see [Open], from a backup. After an error it is empty again. Until the
// last byte of the backup and every log are verified, [Open] rejects the store.
func Restore(ctx context.Context, in io.Reader, where string, opts Options) (summary BackupSummary, err error) {
	entries, err := os.ReadDir(where)
	address, isNew := strings.Contains(where, "://"), errors.Is(err, os.ErrNotExist)
	if address || isNew {
		err = nil
	} else if len(entries) > 0 {
		err = errors.New("the directory is not empty")
	}
	var e Engine
	if err == nil {
		e, err = openEngine(ctx, where, opts)
	}
	if err == nil {
		summary, err = restore(ctx, in, e, opts)
		err = errors.Join(err, e.Close())
		if err != nil && !address {
			err = errors.Join(err, os.RemoveAll(filepath.Join(where, "db")), os.Remove(filepath.Join(where, markName)), os.Remove(filepath.Join(where, "lock")))
			if isNew {
				err = errors.Join(err, os.Remove(where))
			}
		}
	}
	if err != nil {
		return BackupSummary{}, fmt.Errorf("restore into %s: %w", Name(where), err)
	}
	return summary, nil
}

func restore(ctx context.Context, in io.Reader, e Engine, opts Options) (summary BackupSummary, err error) {
	err = e.Update(ctx, []string{""}, func(r Reader) ([]Pair, error) {
		values, err := r.Get(restoring)
		if err == nil && values[0] != nil {
			err = errRestoring
		}
		for _, failed := range r.Scan(tableHeads, "", "", "") {
			err = cmp.Or(err, failed, errors.New("the store is not empty"))
			break
		}
		return []Pair{{restoring, []byte{1}}}, err
	})
	if err != nil {
		return summary, err
	}
	summary, err = load(ctx, in, e)
	s := newStore(e, opts)
	if err == nil {
		err = s.look(ctx)
	}
	if err == nil {
		err = s.verify(ctx)
	}
	if err == nil {
		err = e.Update(ctx, nil, func(Reader) ([]Pair, error) { return []Pair{{Key: restoring}}, nil })
	} else if p, ok := e.(*postgres); ok {
		err = errors.Join(err, p.clear(context.WithoutCancel(ctx)))
	}
	return summary, err
}

// load writes the entries of a backup into an engine.
func load(ctx context.Context, in io.Reader, e Engine) (summary BackupSummary, err error) {
	r := &entryReader{in: bufio.NewReaderSize(in, 64<<10), sum: sha256.New()}
	if magic, err := r.read(len(backupMagic)); err != nil {
		return summary, err
	} else if string(magic) != backupMagic {
		return summary, damaged("this is not a backup of this version of the program")
	}
	var batch []Pair
	size := 0
	for end := false; !end; {
		p, err := r.next()
		if err != nil {
			return summary, fmt.Errorf("after %d events: %w", summary.Events, cmp.Or(ctx.Err(), err))
		}
		more := len(p.Value) + len(p.Name) + len(p.Space) + 200
		if end = p.Table == 0; end || len(batch) == maxRecords || size+more > maxBytes {
			if err := e.Update(ctx, nil, func(Reader) ([]Pair, error) { return batch, nil }); err != nil {
				return summary, err
			}
			batch, size = nil, 0
		}
		batch, size = append(batch, p), size+more
		summary.count(p)
	}
	summary.SHA256, summary.Bytes = r.digest, r.bytes
	return summary, nil
}
