package storage

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Texts shorter than MinSearched bytes would be found by accident; of longer ones than maxNeedle the beginning is
// searched.
const (
	MinSearched = 8
	maxNeedle   = 64
)

// needles are texts to be found in one pass over much data. A text is looked up by its first eight bytes, a filter of
// which says for nearly all places that nothing begins there.
type needles struct {
	by     map[uint64][]string
	filter [1 << 12]uint64
	n      int
}

func newNeedles(texts []string) *needles {
	s := &needles{by: make(map[uint64][]string)}
	for _, text := range texts {
		if len(text) < MinSearched {
			continue
		}
		text = text[:min(len(text), maxNeedle)]
		h := binary.LittleEndian.Uint64([]byte(text[:8]))
		if !slices.Contains(s.by[h], text) {
			s.by[h] = append(s.by[h], text)
			s.n++
			word, bit := place(h)
			s.filter[word] |= bit
		}
	}
	return s
}

func (s *needles) len() int { return s.n }

func place(h uint64) (word, bit uint64) {
	h = h * 0x9e3779b97f4a7c15 >> 46 // 18 bits
	return h >> 6, 1 << (h & 63)
}

// find adds the texts that b holds to found.
func (s *needles) find(b []byte, found map[string]bool) {
	for i := 0; i+8 <= len(b); i++ {
		h := binary.LittleEndian.Uint64(b[i:])
		if word, bit := place(h); s.filter[word]&bit == 0 {
			continue
		}
		for _, text := range s.by[h] {
			if strings.HasPrefix(string(b[i:min(len(b), i+maxNeedle)]), text) {
				found[text] = true
			}
		}
	}
}

func (s *needles) count(b []byte) int {
	if s.n == 0 {
		return 0
	}
	found := make(map[string]bool)
	s.find(b, found)
	return len(found)
}

// searchFile returns how many texts a file holds, and its size. A snapshot, also one that is being written, is
// searched a second time as it decompresses.
func (s *needles) searchFile(path string) (n int, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	found := make(map[string]bool)
	size, err = s.search(f, found)
	if ext := filepath.Ext(path); err == nil && (ext == snapshotExt || ext == snapshotTemp) {
		err = s.searchCompressed(f, found)
	}
	return len(found), size, err
}

// search adds the texts that r holds to found, and returns how much it has read.
func (s *needles) search(r io.Reader, found map[string]bool) (size int64, err error) {
	buf := make([]byte, 1<<20)
	kept := 0 // bytes of the chunk before in which a text may have begun
	for {
		n, err := io.ReadFull(r, buf[kept:])
		size += int64(n)
		s.find(buf[:kept+n], found)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return size, nil
		}
		if err != nil {
			return size, err
		}
		kept = copy(buf, buf[len(buf)-maxNeedle+1:])
	}
}

// searchCompressed searches the content of a snapshot as far as it decompresses. Behind the content stands the
// checksum, and a file that is being written ends anywhere, so what cannot be decompressed is the end.
func (s *needles) searchCompressed(f *os.File, found map[string]bool) error {
	if _, err := f.Seek(int64(snapshotHeader), io.SeekStart); err != nil {
		return err
	}
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer z.Close()
	_, err = s.search(untilError{z}, found)
	return err
}

// untilError ends at the first error.
type untilError struct{ io.Reader }

func (r untilError) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}
