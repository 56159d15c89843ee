package episodic

import "slices"

// pageSize is the number of elements of a page.
const pageSize = 256

// A List is a mutable list whose immutable views share pages with it:
//
//	List  ─┬─▶ page 0 ◀─┬─ View        after element 300 was set: page 1 is a copy,
//	       ├─▶ page 1'  ├─▶ page 1     the other pages belong to both
//	       └─▶ page 2 ◀─┘
//
// The first change of a page after a view copies that page; a view costs eight bytes per page. A List must not be used
// by several goroutines at once. The zero List is empty; elements that were never set are zero.
type List[T any] struct {
	pages []*page[T] // nil if no element of the page was set
	epoch uint64     // the number of views; a page with another epoch is shared with a view
}

// page is the unit of copying: a change after a view copies the elements of one page.
type page[T any] struct {
	epoch uint64
	items [pageSize]T
}

// At is element i.
func (l *List[T]) At(i int32) T { return at(l.pages, i) }

// Set makes x element i.
func (l *List[T]) Set(i int32, x T) {
	p := int(i) / pageSize
	for len(l.pages) <= p {
		l.pages = append(l.pages, nil)
	}
	own := l.pages[p]
	switch {
	case own == nil:
		own = &page[T]{epoch: l.epoch}
	case own.epoch != l.epoch:
		own = &page[T]{l.epoch, own.items}
	}
	l.pages[p] = own
	own.items[int(i)%pageSize] = x
}

// Freeze returns a view of the current list.
func (l *List[T]) Freeze() View[T] {
	l.epoch++
	return View[T]{slices.Clone(l.pages)}
}

// A View is a list at one moment. It may be read from any number of goroutines.
type View[T any] struct {
	pages []*page[T]
}

// At is element i.
func (v View[T]) At(i int32) T { return at(v.pages, i) }

// Ref returns a pointer to element i, which must have been set. The element must not be written to.
func (v View[T]) Ref(i int32) *T { return &v.pages[int(i)/pageSize].items[int(i)%pageSize] }

func at[T any](pages []*page[T], i int32) (x T) {
	if p := int(i) / pageSize; p < len(pages) && pages[p] != nil {
		return pages[p].items[int(i)%pageSize]
	}
	return x
}
