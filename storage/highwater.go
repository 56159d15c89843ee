package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// The high-water file lies beside the database and says how far every log had come when it was last
// written. A database that comes back shorter has lost acknowledged events, which badger itself does
// not report: it cuts its write-ahead log at the first bad byte and goes on.
//
//	"WMHW" format commits count {len name seq chain[32]}... crc32c
//
// commits counts the commits of the whole database, so that lost table rows are noticed too.
const (
	highWaterName   = "highwater"
	highWaterMagic  = "WMHW"
	highWaterFormat = 1
)

// A mark is the content of the high-water file.
type mark struct {
	commits uint64
	heads   map[string]Head
}

func encodeMark(m mark) []byte {
	b := append([]byte(highWaterMagic), highWaterFormat)
	b = binary.BigEndian.AppendUint64(b, m.commits)
	b = binary.BigEndian.AppendUint32(b, uint32(len(m.heads)))
	for _, name := range slices.Sorted(maps.Keys(m.heads)) {
		h := m.heads[name]
		b = append(b, byte(len(name)))
		b = append(b, name...)
		b = binary.BigEndian.AppendUint64(b, h.Seq)
		b = append(b, h.Chain[:]...)
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func decodeMark(b []byte) (mark, error) {
	const fixed = len(highWaterMagic) + 1 + 8 + 4
	m := mark{heads: make(map[string]Head)}
	switch {
	case len(b) < fixed+4:
		return m, errShort
	case binary.BigEndian.Uint32(b[len(b)-4:]) != crc32.Checksum(b[:len(b)-4], castagnoli):
		return m, errChecksum
	case string(b[:4]) != highWaterMagic || b[4] != highWaterFormat:
		return m, errFormat
	}
	m.commits = binary.BigEndian.Uint64(b[5:])
	n := binary.BigEndian.Uint32(b[13:])
	b = b[fixed : len(b)-4]
	last := ""
	for i := range n {
		if len(b) < 1 || len(b) < 1+int(b[0])+40 {
			return m, errShort
		}
		name := string(b[1 : 1+int(b[0])])
		if i > 0 && name <= last {
			return m, errFormat // one spelling for one content
		}
		b = b[1+len(name):]
		h := Head{Seq: binary.BigEndian.Uint64(b)}
		copy(h.Chain[:], b[8:])
		m.heads[name], last = h, name
		b = b[40:]
	}
	if len(b) != 0 {
		return m, errFormat
	}
	return m, nil
}

// readMark returns ok false if there is no file.
func readMark(dir string) (m mark, ok bool, err error) {
	b, err := os.ReadFile(filepath.Join(dir, highWaterName))
	if errors.Is(err, fs.ErrNotExist) {
		return mark{}, false, nil
	}
	if err != nil {
		return mark{}, false, fmt.Errorf("reading the high-water file: %w", err)
	}
	m, err = decodeMark(b)
	if err != nil {
		return m, true, fmt.Errorf("%w: high-water file: %w", ErrDamaged, err)
	}
	return m, true, nil
}

func writeMark(dir string, m mark) error {
	if err := ReplaceFile(filepath.Join(dir, highWaterName), encodeMark(m)); err != nil {
		return fmt.Errorf("writing the high-water file: %w", err)
	}
	return nil
}

// ReplaceFile puts new content in place of a file, so that after a crash one finds the old or the
// new content whole: temporary file, fsync, rename, fsync of the directory.
func ReplaceFile(path string, content []byte) (err error) {
	tmp := path + ".tmp"
	f, err := openFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(tmp)
		}
	}()
	if _, err = writeTo(f, content); err == nil {
		err = syncFile(f)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if err = rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
