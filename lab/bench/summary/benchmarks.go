package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// benchmarks are results by name, in order of appearance.
type benchmarks struct{ list []*benchmark }

// A benchmark has the values of every unit, one for each time it ran.
type benchmark struct {
	name   string
	values map[string][]float64
}

// add takes a line such as
//
//	BenchmarkPageRank/tools=1000/of=gonum-2   	 4711	 25310 ns/op	 17 sweeps
//
// The number of processors, after the last hyphen, is not part of the name. Other lines are passed over.
func (b *benchmarks) add(line string) {
	fields := strings.Fields(line)
	if len(fields) < 4 || len(fields)%2 != 0 || !strings.HasPrefix(fields[0], "Benchmark") {
		return
	}
	if _, err := strconv.Atoi(fields[1]); err != nil {
		return
	}
	name := strings.TrimPrefix(fields[0], "Benchmark")
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		if _, err := strconv.Atoi(name[i+1:]); err == nil {
			name = name[:i]
		}
	}
	at := slices.IndexFunc(b.list, func(x *benchmark) bool { return x.name == name })
	if at < 0 {
		at = len(b.list)
		b.list = append(b.list, &benchmark{name, map[string][]float64{}})
	}
	for i := 2; i < len(fields); i += 2 {
		if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
			b.list[at].values[fields[i+1]] = append(b.list[at].values[fields[i+1]], v)
		}
	}
}

// of is the median of a unit.
func (b *benchmark) of(unit string) (median float64, known bool) {
	v := slices.Clone(b.values[unit])
	if len(v) == 0 {
		return 0, false
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2, true
}

// without takes key=value out of the name.
func (b *benchmark) without(key string) (rest, value string, found bool) {
	parts := strings.Split(b.name, "/")
	for i, p := range parts {
		if v, ok := strings.CutPrefix(p, key+"="); ok {
			return strings.Join(slices.Delete(parts, i, i+1), "/"), v, true
		}
	}
	return b.name, "", false
}

// groups puts together what differs in the value of one key only.
func (b *benchmarks) groups(key string) []group {
	var all []group
	for _, x := range b.list {
		rest, value, found := x.without(key)
		if !found {
			continue
		}
		at := slices.IndexFunc(all, func(g group) bool { return g.name == rest })
		if at < 0 {
			at = len(all)
			all = append(all, group{name: rest})
		}
		all[at].values = append(all[at].values, value)
		all[at].members = append(all[at].members, x)
	}
	return all
}

type group struct {
	name    string
	values  []string // of the key
	members []*benchmark
}

// exponent is the least-squares slope of log y over log x: y grows as x to that power.
func exponent(x, y []float64) float64 {
	mx, my := 0.0, 0.0
	for i := range x {
		mx += math.Log(x[i]) / float64(len(x))
		my += math.Log(y[i]) / float64(len(x))
	}
	xy, xx := 0.0, 0.0
	for i := range x {
		dx := math.Log(x[i]) - mx
		xy += dx * (math.Log(y[i]) - my)
		xx += dx * dx
	}
	return xy / xx
}
