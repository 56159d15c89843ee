package history

import (
	"hash/maphash"
	"sync/atomic"
)

// index finds nodes by their ids, in a table with linear probing that only grows. One owner adds;
// whoever reads has the ids of some moment and takes no notice of nodes beyond them. So every model
// reads the same table, and none copies it.
type index struct {
	seed  maphash.Seed
	slots []atomic.Int32 // 1 + node; 0 where free
}

func newIndex() *index { return &index{maphash.MakeSeed(), make([]atomic.Int32, 16)} }

// find probes linearly. A table is at most half full, so a free slot ends the search. Nodes beyond ids belong
// to newer states that share the table, and are passed over.
func (x *index) find(ids []string, id string) (int32, bool) {
	mask := uint64(len(x.slots) - 1)
	for at := maphash.String(x.seed, id) & mask; ; at = (at + 1) & mask {
		node := x.slots[at].Load() - 1
		if node < 0 {
			return 0, false
		}
		if int(node) < len(ids) && ids[node] == id {
			return node, true
		}
	}
}

// with adds the last of the ids. It returns a larger table where this one is half full.
func (x *index) with(ids []string) *index {
	if 2*len(ids) <= len(x.slots) {
		x.add(ids[len(ids)-1], int32(len(ids)-1))
		return x
	}
	larger := &index{x.seed, make([]atomic.Int32, 2*len(x.slots))}
	for i, id := range ids {
		larger.add(id, int32(i))
	}
	return larger
}

// add must not be called with an id that the table has.
func (x *index) add(id string, node int32) {
	mask := uint64(len(x.slots) - 1)
	at := maphash.String(x.seed, id) & mask
	for x.slots[at].Load() != 0 {
		at = (at + 1) & mask
	}
	x.slots[at].Store(node + 1)
}

// clone is the same table for another owner.
func (x *index) clone() *index {
	c := &index{x.seed, make([]atomic.Int32, len(x.slots))}
	for i := range x.slots {
		c.slots[i].Store(x.slots[i].Load())
	}
	return c
}
