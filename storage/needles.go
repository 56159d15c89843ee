package storage

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
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

// searchFile returns how many texts a file holds, and its size.
func (s *needles) searchFile(path string) (n int, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	found := make(map[string]bool)
	buf := make([]byte, 1<<20)
	kept := 0 // bytes of the chunk before in which a text may have begun
	for {
		n, err := io.ReadFull(f, buf[kept:])
		size += int64(n)
		s.find(buf[:kept+n], found)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return len(found), size, nil
		}
		if err != nil {
			return len(found), size, err
		}
		kept = copy(buf, buf[len(buf)-maxNeedle+1:])
	}
}
