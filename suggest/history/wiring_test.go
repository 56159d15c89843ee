package history

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"testing"

	"github.com/stretchr/testify/assert"
)

// digest stands for the keyed digest of a value.
func digest(v string) string {
	h := fnv.New64a()
	h.Write([]byte(v))
	return base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint64(nil, h.Sum64()), 0))
}

type values map[string][]string

func (v values) digests() map[string][]string {
	d := map[string][]string{}
	for path, list := range v {
		for _, x := range list {
			d[path] = append(d[path], digest(x))
		}
	}
	return d
}

type call struct {
	tool    int32
	in, out values
}

// observe counts an episode that is a chain.
func observe(t *Wiring, episode int32, calls ...call) {
	var before []Call
	for _, c := range calls {
		v := ValuesOf(c.in.digests(), c.out.digests())
		t.Observe(episode, c.tool, &v, before[max(0, len(before)-Back):])
		before = append(before, Call{c.tool, &v})
	}
}

func itself(tool int32) int32 { return tool }

func wiresInto(t *Wiring, tool int32) []string {
	var s []string
	for _, w := range t.Wires([]int32{tool}, itself) {
		s = append(s, fmt.Sprintf("%s ← %d %s %d/%d", w.In, w.From, w.Out, w.Count, w.Of))
	}
	return s
}

func TestWires(t *testing.T) {
	one := func(path, v string) values { return values{path: {v}} }
	id := func(i int) string { return fmt.Sprint("id-", i) }
	for _, tt := range []struct {
		name    string
		episode func(i int) []call
		want    []string // into tool 9
	}{
		{"from the call before", func(i int) []call {
			return []call{{1, nil, one("id", id(i))}, {9, one("item", id(i)), nil}}
		}, []string{"item ← 1 id 6/6"}},
		{"an item of a list, two calls before", func(i int) []call {
			return []call{{1, nil, values{"items[].id": {id(10 * i), id(10*i + 1)}}}, {2, nil, one("x", "constant")}, {9, one("item", id(10*i+1)), nil}}
		}, []string{"item ← 1 items[].id 6/6"}},
		{"where it was seen first", func(i int) []call {
			return []call{{1, nil, one("id", id(i))}, {2, one("id", id(i)), one("echo", id(i))}, {9, one("item", id(i)), nil}}
		}, []string{"item ← 1 id 6/6"}},
		{"from outside", func(i int) []call {
			return []call{{1, one("id", id(i)), one("id", id(i))}, {9, one("item", id(i)), nil}}
		}, nil},
		{"always the same", func(i int) []call {
			return []call{{1, nil, one("region", "eu-west")}, {9, one("region", "eu-west"), nil}}
		}, nil},
		{"one value", func(i int) []call {
			if i > 0 {
				return []call{{1, nil, one("id", id(i))}, {9, one("item", id(-i)), nil}}
			}
			return []call{{1, nil, one("id", id(i))}, {9, one("item", id(i)), nil}}
		}, nil},
		{"two results of one tool", func(i int) []call {
			return []call{{1, nil, one("id", id(2*i))}, {1, nil, one("id", id(2*i+1))}, {9, one("item", id(2*i)), nil}}
		}, []string{"item ← 1 id 6/6"}},
		{"of half of the calls", func(i int) []call {
			v := id(i)
			if i%2 == 0 {
				v = id(-1 - i)
			}
			return []call{{1, nil, one("id", id(i))}, {9, one("item", v), nil}}
		}, []string{"item ← 1 id 3/6"}},
		{"a list that is always the same", func(i int) []call {
			return []call{{1, nil, values{"names[]": {"aaa", "bbb", "ccc", "ddd", "eee", "fff"}}}, {9, one("name", []string{"aaa", "bbb", "ccc", "ddd", "eee", "fff"}[i]), nil}}
		}, []string{"name ← 1 names[] 6/6"}},
		{"its own result the next time", func(i int) []call {
			return []call{{9, nil, one("next", id(i))}, {9, one("cursor", id(i)), nil}}
		}, []string{"cursor ← 9 next 6/6"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := &Wiring{}
			for i := range 6 {
				observe(table, int32(i), tt.episode(i)...)
			}
			assert.Equal(t, tt.want, wiresInto(table, 9))
		})
	}
}

// Two names of one tool are one tool.
func TestNamesAreJoined(t *testing.T) {
	table := &Wiring{}
	for i := range 4 {
		from, to := int32(1+i%2), int32(8+i%2)
		observe(table, int32(i), call{from, nil, values{"id": {fmt.Sprint("id-", i)}}}, call{to, values{"item": {fmt.Sprint("id-", i)}}, nil})
	}
	got := table.Wires([]int32{8, 9}, func(tool int32) int32 {
		if tool == 2 {
			return 1
		}
		return tool
	})
	assert.Equal(t, []Wire{{From: 1, Out: "id", In: "item", Count: 4, Of: 4, Fresh: 4}}, got)
}

// A table is bounded, whatever is called.
func TestATableIsBounded(t *testing.T) {
	table := &Wiring{}
	for e := range 60 {
		var calls []call
		out := values{}
		for p := range 30 {
			out[fmt.Sprintf("f%d_%d", e, p)] = []string{fmt.Sprint("v", e, p)}
		}
		calls = append(calls, call{int32(e), nil, out})
		for p := range 30 {
			calls = append(calls, call{70, values{fmt.Sprintf("a%d_%d", e, p): {fmt.Sprint("v", e, p)}}, nil})
		}
		observe(table, int32(e), calls...)
	}
	assert.LessOrEqual(t, len(table.Rows[70]), maxFeeds)
	for _, f := range table.Rows[70] {
		assert.LessOrEqual(t, len(f.Links), maxLinks)
	}
}

func TestReferences(t *testing.T) {
	for _, tt := range []struct{ in, out, name, path string }{
		{"id", "id", "id", ".id"},
		{"id", "items[].user.id", "id", ".items[0].user.id"},
		{"id", "[]", "id", "[0]"},
		{"id", "[][].x", "id", "[0][0].x"},
		{"id", "", "id", ""},
		{"ids[]", "ids[]", "ids", ".ids"},
		{"ids[]", "[]", "ids", ""},
		{"ids[]", "items[].id", "", ""},
		{"ids[]", "id", "", ""},
		{"where.id", "id", "", ""},
		{"*", "id", "", ""},
		{"id", "*.id", "", ""},
		{"", "id", "", ""},
	} {
		name, path, ok := (&Wire{In: tt.in, Out: tt.out}).Reference()
		assert.Equal(t, tt.name != "", ok, "%s %s", tt.in, tt.out)
		assert.Equal(t, []string{tt.name, tt.path}, []string{name, path}, "%s %s", tt.in, tt.out)
	}
}
