package wiring

import (
	"slices"

	"waymark/internal/codec"
)

// Image is a table at one moment, to be written.
type Image struct{ t Table }

// Image returns a copy that does not change, at the cost of what was observed.
func (t *Table) Image() *Image {
	c := Table{paths: slices.Clone(t.paths), rows: make([]*row, len(t.rows)), recent: slices.Clone(t.recent)}
	for i, r := range t.rows {
		if r == nil {
			continue
		}
		c.rows[i] = &row{slices.Clone(r.cases), slices.Clone(r.links)}
		for j := range c.rows[i].links {
			w := &c.rows[i].links[j]
			w.seen = slices.Clone(w.seen)
		}
	}
	return &Image{c}
}

// Write writes the image for [Read].
func (i *Image) Write(to *codec.Writer) {
	to.Texts(i.t.paths)
	to.Uint(uint64(len(i.t.rows)))
	for _, r := range i.t.rows {
		if r == nil {
			r = &row{}
		}
		to.Uint(uint64(len(r.cases)))
		for _, c := range r.cases {
			to.Uint(uint64(c.in))
			to.Uint(uint64(c.from))
			to.Uint(uint64(c.n))
		}
		to.Uint(uint64(len(r.links)))
		for _, w := range r.links {
			to.Uint(uint64(w.in))
			to.Uint(uint64(w.from))
			to.Uint(uint64(w.out))
			to.Uint(uint64(w.count))
			to.Uint(uint64(w.chance))
			to.Longs(w.seen)
		}
	}
	to.Uint(uint64(len(i.t.recent)))
	for _, r := range i.t.recent {
		to.Int(int64(r.episode))
		to.Int(int64(r.before))
		writeFields(to, r.last)
		writeFields(to, r.former)
	}
}

func writeFields(to *codec.Writer, fields []Field) {
	to.Uint(uint64(len(fields)))
	for _, f := range fields {
		to.Uint(uint64(f.Path))
		to.Longs(f.Values)
	}
}

// Write writes the values of a call for [Table.ReadValues].
func (v *Values) Write(to *codec.Writer) {
	writeFields(to, v.In)
	writeFields(to, v.Out)
}

// ReadValues reads what [Values.Write] wrote.
func (t *Table) ReadValues(from *codec.Reader) Values {
	return Values{t.readFields(from), t.readFields(from)}
}

// Read reads what [Image.Write] wrote, of at most so many tools. What is damaged fails from.
func Read(from *codec.Reader, tools int) *Table {
	t := New()
	for _, p := range from.Texts() {
		t.number[p] = int32(len(t.paths))
		t.paths = append(t.paths, p)
	}
	if len(t.number) != len(t.paths) || len(t.paths) > maxFields {
		from.Fail("%d paths, %d of them different", len(t.paths), len(t.number))
	}
	within := func(x uint64, n int) int32 {
		if x >= uint64(n) {
			from.Fail("%d of %d", x, n)
			return 0
		}
		return int32(x)
	}
	if n := from.Len(2); n <= tools {
		t.rows = make([]*row, n)
	} else {
		from.Fail("arguments of %d tools, where there are %d", n, tools)
	}
	for i := range t.rows {
		r := &row{}
		for range from.Len(3) {
			r.cases = append(r.cases, cases{within(from.Uint(), len(t.paths)), within(from.Uint(), tools), uint32(from.Uint())})
		}
		for range from.Len(6) {
			w := link{in: within(from.Uint(), len(t.paths)), from: within(from.Uint(), tools), out: within(from.Uint(), len(t.paths))}
			w.count, w.chance, w.seen = uint32(from.Uint()), uint32(from.Uint()), from.Longs()
			r.links = append(r.links, w)
		}
		if from.Err() != nil {
			return New()
		}
		if len(r.cases) > 0 {
			t.rows[i] = r
		}
	}
	if n := from.Len(4); n <= tools {
		t.recent = make([]results, n)
	} else {
		from.Fail("results of %d tools, where there are %d", n, tools)
	}
	for i := range t.recent {
		t.recent[i] = results{int32(from.Int()), int32(from.Int()), t.readFields(from), t.readFields(from)}
	}
	if from.Err() != nil {
		return New()
	}
	return t
}

func (t *Table) readFields(from *codec.Reader) (fields []Field) {
	for range from.Len(2) {
		f := Field{Path: int32(from.Uint()), Values: from.Longs()}
		if f.Path < 0 || int(f.Path) >= len(t.paths) {
			from.Fail("path %d of %d", f.Path, len(t.paths))
			return nil
		}
		fields = append(fields, f)
	}
	return fields
}
