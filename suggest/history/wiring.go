package history

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"waymark/internal/numeric"
)

// Bounds of a [Wiring].
const (
	maxFeeds = 1024 // of one tool: pairs of an argument and a tool before
	maxLinks = 32   // of such a pair: fields of the result
	maxSeen  = 8    // different values of a link that are distinguished
	Back     = 64   // calls before a call that are looked at
)

// Values are the digests of one call: of its arguments and of its result.
type Values struct {
	In, Out []Field
}

// Field is the digests at one path, rising, each once.
type Field struct {
	Path   string
	Values []uint64
}

func (f *Field) has(v uint64) bool { _, ok := slices.BinarySearch(f.Values, v); return ok }

// has reports whether any field has a value.
func has(fields []Field, v uint64) bool {
	return slices.ContainsFunc(fields, func(f Field) bool { return f.has(v) })
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

// order puts wires by argument, those with more cases beyond chance first, then those with more cases, then by the
// shorter path, the path, and the tool.
func (a Wire) order(b Wire) int {
	return cmp.Or(
		cmp.Compare(a.In, b.In), cmp.Compare(int(b.Count)-int(b.Chance), int(a.Count)-int(a.Chance)), cmp.Compare(b.Count, a.Count),
		cmp.Compare(len(a.Out), len(b.Out)), cmp.Compare(a.Out, b.Out), cmp.Compare(a.From, b.From),
	)
}

// Reference returns the name of the argument and the path within the result by which a reference names the wire: the first
// item stands for a list where one value is asked for, the list itself where all are. Not ok for arguments inside of
// others, and for names that were not kept.
func (w *Wire) Reference() (name, path string, ok bool) {
	out := w.Out
	name, all := strings.CutSuffix(w.In, "[]")
	if all {
		if out, ok = strings.CutSuffix(out, "[]"); !ok || strings.Contains(out, "[]") {
			return "", "", false
		}
	}
	if name == "" || strings.ContainsAny(name, ".[*") || strings.Contains(out, "*") {
		return "", "", false
	}
	path = strings.ReplaceAll(out, "[]", "[0]")
	if path != "" && path[0] != '[' {
		path = "." + path
	}
	return name, path, true
}

// Call is a call that came before another.
type Call struct {
	Tool   int32
	Values *Values
}

// Wiring is what was observed of the values of calls, to learn which field of one tool's result is which argument of another:
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
// The zero value is empty. It has one owner and no lock. Snapshots hold exported fields.
type Wiring struct {
	Rows   [][]feed    // by tool, by in, from
	Recent [][2]result // by tool, its last result and the last one of another episode
}

// Fits reports whether a table that was read has no more than so many tools.
func (t *Wiring) Fits(tools int) bool {
	for _, row := range t.Rows {
		if slices.ContainsFunc(row, func(f feed) bool { return f.From < 0 || int(f.From) >= tools }) {
			return false
		}
	}
	return max(len(t.Rows), len(t.Recent)) <= tools
}

// feed is an argument of a tool and another tool before it.
type feed struct {
	In    string
	From  int32
	Calls uint32 // that had the argument while a result of the other tool was known: the denominator of the share
	Links []link
}

// link counts how often a value of an argument was in a field of a result of the same episode (count), and
// how often one was in the tool's last result of another episode (chance), which could not have been its
// source.
type link struct {
	Out           string
	Count, Chance uint32
	Seen          []uint64 // the first different values: one constant value seen often is weak evidence
}

// result is a result of an episode.
type result struct {
	Episode int32
	Fields  []Field
}

// ValuesOf takes the digests of a call in: of arguments and result, by path.
func ValuesOf(inputs, outputs map[string][]string) Values {
	return Values{fields(inputs), fields(outputs)}
}

// fields decodes digests to their first 64 bits, sorted and distinct. Digests that are damaged or too short
// are left out.
func fields(digests map[string][]string) (fields []Field) {
	for _, path := range slices.Sorted(maps.Keys(digests)) {
		f := Field{Path: path}
		for _, d := range digests[path] {
			if raw, err := base64.RawURLEncoding.DecodeString(d); err == nil && len(raw) >= 8 {
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

// Observe counts one call of an episode. Before are the calls of the episode that it may know of, in their
// order, the last [Back] of them.
func (t *Wiring) Observe(episode, tool int32, v *Values, before []Call) {
	for i := range v.In {
		t.argument(episode, tool, &v.In[i], before)
	}
	if len(v.Out) > 0 {
		for len(t.Recent) <= int(tool) {
			t.Recent = append(t.Recent, [2]result{})
		}
		r := &t.Recent[tool]
		if r[0].Episode != episode {
			r[1] = r[0]
		}
		r[0] = result{episode, v.Out}
	}
}

// elsewhere is the last result of a tool in another episode.
func (t *Wiring) elsewhere(tool, episode int32) []Field {
	if int(tool) >= len(t.Recent) {
		return nil
	}
	r := &t.Recent[tool]
	if r[0].Episode != episode {
		return r[0].Fields
	}
	return r[1].Fields
}

// argument counts the values of one argument.
func (t *Wiring) argument(episode, tool int32, in *Field, before []Call) {
	came := map[int32]map[string][]uint64{} // by tool and path, the values that came from there
	var met []int32
	for _, c := range before {
		if len(c.Values.Out) > 0 && came[c.Tool] == nil {
			came[c.Tool], met = map[string][]uint64{}, append(met, c.Tool)
		}
	}
	for _, v := range in.Values {
		first := slices.IndexFunc(before, func(c Call) bool { return has(c.Values.In, v) || has(c.Values.Out, v) })
		if first < 0 || has(before[first].Values.In, v) {
			continue // it came from outside
		}
		from := came[before[first].Tool]
		for _, f := range before[first].Values.Out {
			if f.has(v) {
				from[f.Path] = append(from[f.Path], v)
			}
		}
	}
	for _, from := range met {
		f := t.feed(tool, in.Path, from)
		if f == nil {
			continue
		}
		f.Calls++
		for _, path := range slices.Sorted(maps.Keys(came[from])) {
			f.add(link{path, 1, 0, came[from][path]})
		}
		for i := range f.Links {
			for _, o := range t.elsewhere(from, episode) {
				if o.Path == f.Links[i].Out && slices.ContainsFunc(in.Values, o.has) {
					f.Links[i].Chance++
				}
			}
		}
	}
}

// feed returns the entry of an argument and a tool before; nil if it is new and there are too many.
func (t *Wiring) feed(tool int32, in string, from int32) *feed {
	for len(t.Rows) <= int(tool) {
		t.Rows = append(t.Rows, nil)
	}
	row := t.Rows[tool]
	i, ok := slices.BinarySearchFunc(row, feed{In: in, From: from}, func(a, b feed) int {
		return cmp.Or(cmp.Compare(a.In, b.In), cmp.Compare(a.From, b.From))
	})
	if !ok {
		if len(row) >= maxFeeds {
			return nil
		}
		row = slices.Insert(row, i, feed{In: in, From: from})
		t.Rows[tool] = row
	}
	return &row[i]
}

// add adds to the counts of a field.
func (f *feed) add(more link) {
	i := slices.IndexFunc(f.Links, func(l link) bool { return l.Out == more.Out })
	if i < 0 {
		if len(f.Links) >= maxLinks {
			return
		}
		i = len(f.Links)
		f.Links = append(f.Links, link{Out: more.Out})
	}
	l := &f.Links[i]
	l.Count, l.Chance = l.Count+more.Count, l.Chance+more.Chance
	for _, v := range more.Seen {
		if len(l.Seen) < maxSeen && !slices.Contains(l.Seen, v) {
			l.Seen = append(l.Seen, v)
		}
	}
}

// Wires are the wires into the tools given, which are one tool under several names, that are supported; by
// argument, the best of each first. canon says as which tool another is counted.
func (t *Wiring) Wires(tools []int32, canon func(int32) int32) (wires []Wire) {
	joined := Wiring{}
	for _, tool := range tools {
		if int(tool) >= len(t.Rows) {
			continue
		}
		for _, f := range t.Rows[tool] {
			if one := joined.feed(0, f.In, canon(f.From)); one != nil {
				one.Calls += f.Calls
				for _, l := range f.Links {
					one.add(l)
				}
			}
		}
	}
	for _, row := range joined.Rows {
		for _, f := range row {
			for _, l := range f.Links {
				w := Wire{f.From, l.Out, f.In, l.Count, max(l.Count, f.Calls), l.Chance, uint32(len(l.Seen))}
				if w.Supported() {
					wires = append(wires, w)
				}
			}
		}
	}
	slices.SortFunc(wires, Wire.order)
	return wires
}

// observeCall looks where the values of step x come from: from the steps it came after, directly or not,
// the nearest [Back] of them.
func (s *State) observeCall(episode int32, x int, nodes []int32, values []Values, before [][]int) {
	var calls []Call
	if len(values[x].In) > 0 {
		near := []int{x}
		for at := 0; at < len(near) && len(near) <= Back; at++ {
			for _, b := range before[near[at]] {
				if !slices.Contains(near, b) {
					near = append(near, b)
				}
			}
		}
		for _, i := range slices.Sorted(slices.Values(near[1:min(len(near), Back+1)])) {
			calls = append(calls, Call{Tool: nodes[i], Values: &values[i]})
		}
	}
	s.wires.Observe(episode, nodes[x], &values[x], calls)
}
