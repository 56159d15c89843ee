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

// A Table holds the followers of contexts. Most contexts of a history were only ever followed by one
// tool; such a row takes eight bytes in a list of all of them. The zero Table is empty and ready.
type Table struct {
	at   map[uint64]int32 // of a context: i of ones[i], or -1-i of many[i]
	ones []Count
	many []Followers
	free []int32 // places in ones that are not in use
}

// Add counts a follower of the context n times more, or fewer where n is negative. It panics if a count
// falls below 0.
func (t *Table) Add(context uint64, tool, n int32) {
	i, known := t.at[context]
	switch {
	case !known:
		t.put(context, Count{tool, n})
	case i >= 0 && t.ones[i].Tool == tool:
		t.ones[i].N += n
		if t.ones[i].N == 0 {
			delete(t.at, context)
			t.free = append(t.free, i)
		}
	case i >= 0: // a second tool
		f := Followers{Total: t.ones[i].N, Counts: append(make([]Count, 0, 2), t.ones[i])}
		f.Add(tool, n)
		t.many = append(t.many, f)
		t.at[context] = -int32(len(t.many))
		t.free = append(t.free, i)
		return
	default:
		f := &t.many[-1-i]
		if f.Add(tool, n); f.Total == 0 {
			delete(t.at, context)
		}
		return
	}
	if i, known := t.at[context]; known && t.ones[i].N < 0 {
		panic("sequence: forgetting what was never observed")
	}
}

// put stores a context with a single follower, in a slot that a removed one left if there is any. Most
// contexts of a long history have one follower, and a Count takes less memory than Followers.
func (t *Table) put(context uint64, c Count) {
	if t.at == nil {
		t.at = map[uint64]int32{}
	}
	if last := len(t.free) - 1; last >= 0 {
		i := t.free[last]
		t.free = t.free[:last]
		t.ones[i], t.at[context] = c, i
		return
	}
	t.at[context] = int32(len(t.ones))
	t.ones = append(t.ones, c)
}

// Row is what followed the context, of Total 0 if it never occurred. It must not be changed, and is good
// until the next Add.
func (t *Table) Row(context uint64) Followers {
	i, known := t.at[context]
	switch {
	case !known:
		return Followers{}
	case i >= 0:
		return Followers{t.ones[i].N, t.ones[i : i+1 : i+1]}
	}
	return t.many[-1-i]
}

// Len is the number of contexts.
func (t *Table) Len() int { return len(t.at) }

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
