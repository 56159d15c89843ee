package wiring

import "waymark/internal/codec"

// Write writes the table for [Read].
func (t *Table) Write(to *codec.Writer) {
	to.Uint(uint64(len(t.rows)))
	for _, row := range t.rows {
		to.Uint(uint64(len(row)))
		for _, f := range row {
			to.Blob([]byte(f.in))
			to.Uint(uint64(f.from))
			to.Uint(uint64(f.calls))
			to.Uint(uint64(len(f.links)))
			for _, l := range f.links {
				to.Blob([]byte(l.out))
				to.Uint(uint64(l.count))
				to.Uint(uint64(l.chance))
				to.Longs(l.seen)
			}
		}
	}
	to.Uint(uint64(len(t.recent)))
	for _, last := range t.recent {
		for _, r := range last {
			to.Int(int64(r.episode))
			writeFields(to, r.fields)
		}
	}
}

func writeFields(to *codec.Writer, fields []Field) {
	to.Uint(uint64(len(fields)))
	for _, f := range fields {
		to.Blob([]byte(f.Path))
		to.Longs(f.Values)
	}
}

// Write writes the values of a call for [ReadValues].
func (v *Values) Write(to *codec.Writer) {
	writeFields(to, v.In)
	writeFields(to, v.Out)
}

// ReadValues reads what [Values.Write] wrote.
func ReadValues(from *codec.Reader) Values { return Values{readFields(from), readFields(from)} }

// Read reads what [Table.Write] wrote, of at most so many tools. What is damaged fails from.
func Read(from *codec.Reader, tools int) *Table {
	t := &Table{}
	for range from.Len(1) {
		row := make([]feed, from.Len(4))
		for i := range row {
			f := feed{in: string(from.Blob()), from: index(from, tools), calls: uint32(from.Uint())}
			for range from.Len(4) {
				f.links = append(f.links, link{string(from.Blob()), uint32(from.Uint()), uint32(from.Uint()), from.Longs()})
			}
			row[i] = f
		}
		t.rows = append(t.rows, row)
	}
	for range from.Len(4) {
		t.recent = append(t.recent, [2]result{{int32(from.Int()), readFields(from)}, {int32(from.Int()), readFields(from)}})
	}
	if max(len(t.rows), len(t.recent)) > tools {
		from.Fail("arguments of %d and results of %d tools, where there are %d", len(t.rows), len(t.recent), tools)
	}
	if from.Err() != nil {
		return &Table{}
	}
	return t
}

// index reads a number below n.
func index(from *codec.Reader, n int) int32 {
	x := from.Uint()
	if x >= uint64(n) {
		from.Fail("%d of %d", x, n)
		return 0
	}
	return int32(x)
}

func readFields(from *codec.Reader) (fields []Field) {
	for range from.Len(2) {
		fields = append(fields, Field{string(from.Blob()), from.Longs()})
	}
	return fields
}
