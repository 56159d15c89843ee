// Package wiring learns which field of one tool's result is which argument of another, from digests of the
// values that were seen:
//
//	search  → {"items":[{"id":"i-17"},{"id":"i-18"}]}        items[].id  ●
//	comment ← {"item":"i-18","text":"…"}                     item      ◀─┘   seen in 31 of 33 calls
//
// A value comes from where an episode shows it first. If that is an argument it came from outside, and
// says nothing; if it is a result, the field of the result fed every argument that has the value
// afterwards. A call is a case of a wire if it has the argument and came after the other tool's result.
//
// Equal values may be equal by chance: a branch called main, a region that never changes. So each case is
// also asked of the other tool's result in the episode before; what would have matched there as well is no
// evidence ([Wire.Supported]).
//
// Tools are dense ids, values are digests. The table has one owner and no lock.
package wiring

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"slices"

	"waymark/internal/numeric"
)

// Bounds of a table.
const (
	maxFields = 1 << 16 // names of fields
	maxWires  = 256     // into one tool
	maxCases  = 1024    // of one tool: pairs of an argument and a tool before
	maxSeen   = 8       // different values of a wire that are told apart
	Back      = 64      // calls before a call that are looked at
)

// Values are the digests of one call: of its arguments and of its result.
type Values struct {
	In, Out []Field
}

// Field is the digests at one path, rising, each once.
type Field struct {
	Path   int32 // of the table
	Values []uint64
}

// Wire says how often a field of a result was an argument.
type Wire struct {
	From    int32  // the tool whose result it is
	Out, In string // paths, with [] for any item of a list
	Count   uint32 // cases in which the value came from there
	Of      uint32 // cases
	Chance  uint32 // cases in which it would have come from there in another episode
	Fresh   uint32 // different values among them, at most 8
}

// The least that a wire is believed by; chosen, and measured on planted histories (wiring_test.go).
const (
	leastValues = 2   // different ones
	leastShare  = 0.1 // of the cases, beyond chance: the lower end of the interval
	leastBeyond = 2   // cases beyond chance
	manyValues  = 4   // or as many values, in half of the cases
)

// Supported reports whether there is reason to believe a wire: two different values that came from there, in
// two cases more than by chance, where chance explains less than half of them and the share of the cases is
// .1 at least, by the lower end of its 95 % Wilson interval (two of two, three of eight). Or four different
// values in half of the cases: a list that hardly changes, of which now this and now that item is taken.
func (w *Wire) Supported() bool {
	if w.Fresh < leastValues {
		return false
	}
	beyond := int(w.Count) - int(w.Chance)
	return beyond >= leastBeyond && 2*beyond >= int(w.Count) && numeric.WilsonLower(float64(beyond), float64(w.Of), numeric.Z95) >= leastShare ||
		w.Fresh >= manyValues && 2*w.Count >= w.Of
}

// Better orders wires into the same argument: more cases beyond chance first, then more cases, then the
// shorter path, the path, and the tool.
func Better(a, b *Wire) int {
	return cmp.Or(
		cmp.Compare(int(b.Count)-int(b.Chance), int(a.Count)-int(a.Chance)), cmp.Compare(b.Count, a.Count),
		cmp.Compare(len(a.Out), len(b.Out)), cmp.Compare(a.Out, b.Out), cmp.Compare(a.From, b.From),
	)
}

// Call is a call that came before another.
type Call struct {
	Tool   int32
	Values *Values
}

// Table is what was observed.
type Table struct {
	paths  []string
	number map[string]int32
	rows   []*row    // by tool
	recent []results // by tool
}

// row is what was observed of the arguments of one tool.
type row struct {
	cases []cases // by in, from
	links []link  // by in, from, out
}

// cases counts the calls that had an argument while a result of tool from was known: the denominator of a
// wire's share.
type cases struct {
	in, from int32
	n        uint32
}

// link counts how often a value of an argument was in a field of a result of the same episode (count), and
// how often one was in the tool's last result of another episode (chance), which could not have been its
// source.
type link struct {
	in, from, out int32
	count, chance uint32
	seen          []uint64 // the first different values
}

// results are the last two results of a tool, of different episodes.
type results struct {
	episode, before int32
	last, former    []Field
}

// New returns an empty table.
func New() *Table { return &Table{number: map[string]int32{}} }

// Values takes the digests of a call in: of arguments and result, by path.
func (t *Table) Values(inputs, outputs map[string][]string) Values {
	return Values{t.fields(inputs), t.fields(outputs)}
}

// fields decodes digests to their first 64 bits, sorted and distinct. Digests that are damaged or too short
// are left out.
func (t *Table) fields(digests map[string][]string) []Field {
	var fields []Field
	paths := make([]string, 0, len(digests))
	for path := range digests {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		f := Field{Path: t.path(path)}
		if f.Path < 0 {
			continue
		}
		for _, d := range digests[path] {
			raw, err := base64.RawURLEncoding.DecodeString(d)
			if err == nil && len(raw) >= 8 {
				f.Values = append(f.Values, binary.BigEndian.Uint64(raw))
			}
		}
		slices.Sort(f.Values)
		if f.Values = slices.Compact(f.Values); len(f.Values) > 0 {
			fields = append(fields, f)
		}
	}
	return fields
}

// path numbers a path; -1 once there are maxFields, since names may come from data without bound.
func (t *Table) path(name string) int32 {
	i, ok := t.number[name]
	if !ok {
		if len(t.paths) >= maxFields {
			return -1
		}
		i = int32(len(t.paths))
		t.paths = append(t.paths, name)
		t.number[name] = i
	}
	return i
}

// Observe counts one call of an episode. Before are the calls of the episode that it may know of, in their
// order, the last [Back] of them. It reports whether anything is known of the tool's arguments that was not
// before.
func (t *Table) Observe(episode, tool int32, v *Values, before []Call) (changed bool) {
	if len(v.In) > 0 && slices.ContainsFunc(before, func(c Call) bool { return len(c.Values.Out) > 0 }) {
		for len(t.rows) <= int(tool) {
			t.rows = append(t.rows, nil)
		}
		if t.rows[tool] == nil {
			t.rows[tool] = &row{}
		}
		for i := range v.In {
			t.rows[tool].argument(t, episode, &v.In[i], before)
		}
		changed = true
	}
	if len(v.Out) > 0 {
		for len(t.recent) <= int(tool) {
			t.recent = append(t.recent, results{episode: -1, before: -1})
		}
		r := &t.recent[tool]
		if r.episode != episode {
			r.before, r.former = r.episode, r.last
			r.episode = episode
		}
		r.last = v.Out
	}
	return changed
}

// elsewhere is the last result of a tool in another episode.
func (t *Table) elsewhere(tool, episode int32) []Field {
	if int(tool) >= len(t.recent) {
		return nil
	}
	r := &t.recent[tool]
	if r.episode != episode {
		return r.last
	}
	return r.former
}

// source is a field of a result.
type source struct{ tool, path int32 }

// argument counts the values of one argument.
func (r *row) argument(t *Table, episode int32, in *Field, before []Call) {
	fed := map[source][]uint64{} // values that came from there
	for _, v := range in.Values {
		for i := range before {
			c := &before[i]
			if has(c.Values.In, v) {
				break // it came from outside
			}
			found := false
			for _, f := range c.Values.Out {
				if contains(f.Values, v) {
					fed[source{c.Tool, f.Path}] = append(fed[source{c.Tool, f.Path}], v)
					found = true
				}
			}
			if found {
				break
			}
		}
	}
	var tools []int32
	for _, c := range before {
		if len(c.Values.Out) > 0 && !slices.Contains(tools, c.Tool) {
			tools = append(tools, c.Tool)
		}
	}
	for _, from := range tools {
		r.addCase(in.Path, from)
	}
	feeds := make([]source, 0, len(fed))
	for s := range fed {
		feeds = append(feeds, s)
	}
	slices.SortFunc(feeds, func(a, b source) int { return cmp.Or(cmp.Compare(a.tool, b.tool), cmp.Compare(a.path, b.path)) })
	for _, s := range feeds {
		r.feed(in.Path, s, fed[s])
	}
	for i := range r.links {
		w := &r.links[i]
		if w.in != in.Path || !slices.Contains(tools, w.from) {
			continue
		}
		for _, f := range t.elsewhere(w.from, episode) {
			if f.Path == w.out && slices.ContainsFunc(in.Values, func(v uint64) bool { return contains(f.Values, v) }) {
				w.chance++
			}
		}
	}
}

// has reports whether any field has a value.
func has(fields []Field, v uint64) bool {
	return slices.ContainsFunc(fields, func(f Field) bool { return contains(f.Values, v) })
}

func contains(rising []uint64, v uint64) bool { _, ok := slices.BinarySearch(rising, v); return ok }

// addCase keeps cases sorted. Beyond maxCases no new pair is counted.
func (r *row) addCase(in, from int32) {
	i, ok := slices.BinarySearchFunc(r.cases, cases{in: in, from: from}, func(a, b cases) int {
		return cmp.Or(cmp.Compare(a.in, b.in), cmp.Compare(a.from, b.from))
	})
	if !ok {
		if len(r.cases) >= maxCases {
			return
		}
		r.cases = slices.Insert(r.cases, i, cases{in: in, from: from})
	}
	r.cases[i].n++
}

// feed counts a link and remembers up to maxSeen different values: one constant value seen often is weak
// evidence.
func (r *row) feed(in int32, s source, values []uint64) {
	i, ok := slices.BinarySearchFunc(r.links, link{in: in, from: s.tool, out: s.path}, byField)
	if !ok {
		if len(r.links) >= maxWires {
			return
		}
		r.links = slices.Insert(r.links, i, link{in: in, from: s.tool, out: s.path})
	}
	w := &r.links[i]
	w.count++
	for _, v := range values {
		if len(w.seen) < maxSeen && !slices.Contains(w.seen, v) {
			w.seen = append(w.seen, v)
		}
	}
}

// byField is the order of row.links.
func byField(a, b link) int {
	return cmp.Or(cmp.Compare(a.in, b.in), cmp.Compare(a.from, b.from), cmp.Compare(a.out, b.out))
}

// Wires are the wires into the tools given, which are one tool under several names, that are supported; by
// argument, the best of each first. canon says as which tool another is counted.
func (t *Table) Wires(tools []int32, canon func(int32) int32) []Wire {
	type key struct{ in, from, out int32 }
	sums, seen, of := map[key]*Wire{}, map[key][]uint64{}, map[key]uint32{}
	var keys []key
	for _, tool := range tools {
		if int(tool) >= len(t.rows) || t.rows[tool] == nil {
			continue
		}
		for _, c := range t.rows[tool].cases {
			of[key{c.in, canon(c.from), 0}] += c.n
		}
		for _, w := range t.rows[tool].links {
			k := key{w.in, canon(w.from), w.out}
			if sums[k] == nil {
				sums[k] = &Wire{From: k.from, Out: t.paths[w.out], In: t.paths[w.in]}
				keys = append(keys, k)
			}
			sums[k].Count += w.count
			sums[k].Chance += w.chance
			for _, v := range w.seen {
				if len(seen[k]) < maxSeen && !slices.Contains(seen[k], v) {
					seen[k] = append(seen[k], v)
				}
			}
		}
	}
	var wires []Wire
	for _, k := range keys {
		w := sums[k]
		w.Of, w.Fresh = max(w.Count, of[key{k.in, k.from, 0}]), uint32(len(seen[k]))
		if w.Supported() {
			wires = append(wires, *w)
		}
	}
	slices.SortFunc(wires, func(a, b Wire) int { return cmp.Or(cmp.Compare(a.In, b.In), Better(&a, &b)) })
	return wires
}
