package episodic

import (
	"math"
	"slices"
	"time"

	"waymark/internal/codec"
)

// An Image is a memory at one moment, to be written. It shares the memory's rows, which the memory
// copies before it changes them.
type Image struct {
	rows          [][]tally
	epoch, newest time.Time
	sources       []int32
}

// Image returns the memory as it is now, at the cost of one pass over the tools.
func (m *Memory) Image() *Image {
	clear(m.own)
	i := &Image{rows: slices.Clone(m.rows), epoch: m.epoch, newest: m.newest}
	for s := range m.sources {
		i.sources = append(i.sources, s)
	}
	slices.Sort(i.sources)
	return i
}

// Write writes the image for [ReadMemory].
func (i *Image) Write(w *codec.Writer) {
	writeTime(w, i.epoch)
	writeTime(w, i.newest)
	w.Ints(i.sources)
	w.Uint(uint64(len(i.rows)))
	for _, row := range i.rows {
		w.Uint(uint64(len(row)))
		for j := range row {
			t := &row[j]
			w.Int(int64(t.before))
			w.Uint(uint64(len(t.by)))
			for _, by := range t.by {
				w.Uint(uint64(by.source))
				for k := range by.known {
					w.Uint(uint64(by.known[k]))
					w.Float(by.aged[k])
					w.Float(by.flat[k])
				}
			}
		}
	}
}

// What a source and a tally, which has one, take at least.
const (
	sourceBytes = 1 + 2*(1+8+8)
	tallyBytes  = 1 + 1 + sourceBytes
)

// ReadMemory reads what [Image.Write] wrote, of at most so many tools and sources. What is damaged
// fails r.
func ReadMemory(r *codec.Reader, tools, sources int) *Memory {
	m := NewMemory()
	m.epoch, m.newest = readTime(r), readTime(r)
	for _, s := range r.Ints() {
		m.sources[s] = true
	}
	n := r.Len(1)
	if n > tools {
		r.Fail("outcomes of %d tools, where there are %d", n, tools)
		n = 0
	}
	m.rows, m.own, m.marked = make([][]tally, n), make([]bool, n), make([]bool, n)
	for tool := range m.rows {
		row := make([]tally, r.Len(tallyBytes))
		last := int64(NoTool) - 1
		for j := range row {
			t := &row[j]
			before := r.Int()
			if before <= last || before >= int64(tools) {
				r.Fail("outcomes of tool %d after %d", tool, before)
				break
			}
			last, t.before = before, int32(before)
			t.by = readSources(r, sources)
		}
		if len(row) > 0 && row[0].before != NoTool {
			r.Fail("outcomes of tool %d lack its own", tool)
		}
		if r.Err() != nil {
			return NewMemory()
		}
		m.rows[tool], m.own[tool] = row, true
		if len(row) > 0 {
			m.mark(int32(tool))
		}
	}
	return m
}

// readSources checks that sources rise, which joinSources relies on.
func readSources(r *codec.Reader, sources int) []bySource {
	by := make([]bySource, r.Len(sourceBytes))
	for i := range by {
		s := r.Uint()
		if s >= uint64(sources) || i > 0 && int32(s) <= by[i-1].source {
			r.Fail("source %d of %d", s, sources)
			return nil
		}
		by[i].source = int32(s)
		for k := range by[i].known {
			by[i].known[k] = int32(min(r.Uint(), math.MaxInt32))
			by[i].aged[k], by[i].flat[k] = r.Float(), r.Float()
		}
	}
	if len(by) == 0 {
		r.Fail("outcomes of no source")
	}
	return by
}

func writeTime(w *codec.Writer, t time.Time) {
	w.Bool(!t.IsZero())
	if !t.IsZero() {
		w.Int(t.Unix())
		w.Uint(uint64(t.Nanosecond()))
	}
}

// readTime reads what writeTime wrote: a flag, then seconds and nanoseconds in UTC.
func readTime(r *codec.Reader) time.Time {
	if !r.Bool() {
		return time.Time{}
	}
	seconds, nanoseconds := r.Int(), r.Uint()
	if nanoseconds >= uint64(time.Second) {
		r.Fail("%d nanoseconds of a second", nanoseconds)
		return time.Time{}
	}
	return time.Unix(seconds, int64(nanoseconds)).UTC()
}
