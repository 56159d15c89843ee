package sequence

import (
	"cmp"
	"slices"
)

// A Count says how often a tool followed.
type Count struct{ Tool, N int32 }

// Followers are the tools that came after one context, in order of their number.
type Followers struct {
	Total  int32 // sum of the counts
	Counts []Count
}

// Add counts tool n times more, or fewer where n is negative. It panics if a count falls below 0.
func (f *Followers) Add(tool, n int32) {
	i, found := slices.BinarySearchFunc(f.Counts, tool, func(c Count, t int32) int { return cmp.Compare(c.Tool, t) })
	if !found {
		f.Counts = slices.Insert(f.Counts, i, Count{Tool: tool})
	}
	f.Total += n
	f.Counts[i].N += n
	switch {
	case f.Counts[i].N < 0:
		panic("sequence: forgetting what was never observed")
	case f.Counts[i].N == 0:
		f.Counts = slices.Delete(f.Counts, i, i+1)
	}
}

// N is how often tool followed.
func (f *Followers) N(tool int32) int32 {
	i, found := slices.BinarySearchFunc(f.Counts, tool, func(c Count, t int32) int { return cmp.Compare(c.Tool, t) })
	if !found {
		return 0
	}
	return f.Counts[i].N
}

// A Table holds the followers of contexts. The zero Table is empty and ready.
type Table struct{ rows map[uint64]*Followers }

// Add counts a follower of the context n times more.
func (t *Table) Add(context uint64, tool, n int32) {
	row := t.rows[context]
	if row == nil {
		if t.rows == nil {
			t.rows = map[uint64]*Followers{}
		}
		row = &Followers{}
		t.rows[context] = row
	}
	if row.Add(tool, n); row.Total == 0 {
		delete(t.rows, context)
	}
}

// Row is what followed the context, nil if it never occurred. It must not be changed.
func (t *Table) Row(context uint64) *Followers { return t.rows[context] }

// Len is the number of contexts.
func (t *Table) Len() int { return len(t.rows) }

// Key names a context: a kind and some numbers. Two contexts share a key by chance with a probability
// of about 2⁻⁶⁴ per pair, and would then only share their counts.
func Key(kind int, x ...int32) uint64 {
	h := uint64(kind)*0x9e3779b97f4a7c15 + 0x4d
	for _, v := range x {
		h = (h ^ (uint64(uint32(v)) + 0x9e3779b97f4a7c15)) * 0xff51afd7ed558ccd
		h = (h ^ h>>32) * 0xc4ceb9fe1a85ec53
		h ^= h >> 29
	}
	return h
}
