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
	maxFeeds = 1024 // per tool: pairs of an argument and an earlier tool
	maxLinks = 32   // per pair: fields of the result
	maxSeen  = 8    // distinct values stored per link
	Back     = 64   // earlier calls examined for each call
)

// Values holds the digests of the arguments and of the result of one call.
type Values struct {
	In, Out []Field
}

// Field holds the distinct digests at one path, in ascending order.
type Field struct {
	Path   string
	Values []uint64
}

func (f *Field) has(v uint64) bool { _, ok := slices.BinarySearch(f.Values, v); return ok }

// has reports whether any field has a value.
func has(fields []Field, v uint64) bool {
	return slices.ContainsFunc(fields, func(f Field) bool { return f.has(v) })
}

// Wire counts how often a field of a result was the source of an argument.
type Wire struct {
	From    int32  // the tool that returned the result
	Out, In string // paths, with [] for any item of a list
	Count   uint32 // cases in which the value came from there
	Of      uint32 // all cases, see [Wiring]
	Chance  uint32 // cases in which a value also matches the tool's last result in another episode
	Fresh   uint32 // distinct values among the Count cases, at most 8
}

// The least evidence for a supported wire; chosen by hand, and measured on planted histories (wiring_test.go).
const (
	leastValues = 2   // distinct ones
	leastShare  = 0.1 // of the cases, beyond chance, by the lower end of the interval
	leastBeyond = 2   // cases beyond chance
	manyValues  = 4   // alternative: as many distinct values, in half of the cases
)

// Supported reports whether the evidence for a wire is sufficient: at least two distinct values came from there, in
// at least two cases more than by chance; chance explains at most half of the cases; and the share of the cases beyond
// chance is at least .1 by the lower end of its 95 % Wilson interval (two of two, three of eight). Alternatively, four
// distinct values in half of the cases are sufficient: a list that hardly changes, from which various items are taken.
func (w *Wire) Supported() bool {
	if w.Fresh < leastValues {
		return false
	}
	beyond := int(w.Count) - int(w.Chance)
	return beyond >= leastBeyond && 2*beyond >= int(w.Count) && numeric.WilsonLower(float64(beyond), float64(w.Of), numeric.Z95) >= leastShare ||
		w.Fresh >= manyValues && 2*w.Count >= w.Of
}

// order compares wires by argument, then by cases beyond chance (more first), cases (more first), length of the path,
// path, and tool.
func (a Wire) order(b Wire) int {
	return cmp.Or(
		cmp.Compare(a.In, b.In), cmp.Compare(int(b.Count)-int(b.Chance), int(a.Count)-int(a.Chance)), cmp.Compare(b.Count, a.Count),
		cmp.Compare(len(a.Out), len(b.Out)), cmp.Compare(a.Out, b.Out), cmp.Compare(a.From, b.From),
	)
}

// Reference returns the argument name and the path within the result with which a reference expresses the wire. For one
// value, the path selects the first item of a list; for all values, it selects the list itself. ok is false for nested
// arguments and for names that were stored as *.
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

// Call is an earlier call of the same episode.
type Call struct {
	Tool   int32
	Values *Values
}

// Wiring records where argument values come from, to learn which result field of one tool is which argument of another:
//
//	search  → {"items":[{"id":"i-17"},{"id":"i-18"}]}        items[].id  ●
//	comment ← {"item":"i-18","text":"…"}                     item      ◀─┘   seen in 31 of 33 calls
//
// The source of a value is its first appearance in the episode. If that is an argument, the value came from
// outside and is no evidence. If it is a result, that field of the result is the source of all later arguments
// with the value. A call is a case of a wire if it has the argument and follows a result of the other tool.
//
// Equal values may be equal by chance: a branch called main, a region that never changes. So each case is
// also compared with the other tool's last result in another episode. A match there counts as chance and is
// no evidence ([Wire.Supported]).
//
// The zero value is empty. It has one owner and no lock. Snapshots store its exported fields.
type Wiring struct {
	Rows   [][]feed    // by tool; a row is sorted by In, then From
	Recent [][2]result // by tool: its last result and its last result in another episode
}

// Fits reports whether a decoded table has only tools below the given number.
func (t *Wiring) Fits(tools int) bool {
	for _, row := range t.Rows {
		if slices.ContainsFunc(row, func(f feed) bool { return f.From < 0 || int(f.From) >= tools }) {
			return false
		}
	}
	return max(len(t.Rows), len(t.Recent)) <= tools
}

// feed is a pair of an argument and an earlier tool.
type feed struct {
	In    string
	From  int32
	Calls uint32 // calls with the argument after a result of the other tool: the denominator of the share
	Links []link
}

// link counts how often a field of a result in the same episode contained a value of the argument (Count), and
// how often the tool's last result in another episode contained one (Chance), which cannot have been the
// source.
type link struct {
	Out           string
	Count, Chance uint32
	Seen          []uint64 // the first distinct values: one constant value seen often is weak evidence
}

// result holds the fields of a result and its episode.
type result struct {
	Episode int32
	Fields  []Field
}

// ValuesOf decodes the digests of the arguments and of the result of a call, by path.
func ValuesOf(inputs, outputs map[string][]string) Values {
	return Values{fields(inputs), fields(outputs)}
}

// fields decodes digests to their first 64 bits, sorted and distinct. It skips digests that are damaged or too
// short.
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

// Observe counts one call of an episode. before lists the earlier calls whose values may have reached it, in
// order, at most the last [Back].
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

// elsewhere returns the last result of a tool in another episode.
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

// argument counts the values of one argument by their sources.
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

// feed returns the entry of an argument and an earlier tool, and adds a new one; nil if the row is full.
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

// add adds the counts of a link to those of the same field. A new field is ignored if the list is full.
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

// Wires returns the supported wires into the given tools, which are spellings of one tool, sorted by argument and
// then best first. canon returns the node under which a tool is counted.
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

// observeCall records the sources of the values of step x. Possible sources are its direct and indirect predecessors,
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
