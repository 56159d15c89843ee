package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// compared sets those of every other program against of=waymark, by processor time where it was reported.
func (b *benchmarks) compared() string {
	var rows [][]string
	for _, g := range b.groups("of") {
		own := slices.Index(g.values, "waymark")
		if own < 0 {
			continue
		}
		unit := "ns/op"
		ours, processor := g.members[own].of("cpu-ns/op")
		if processor {
			unit = "cpu-ns/op"
		} else {
			ours, _ = g.members[own].of(unit)
		}
		for i, peer := range g.values {
			if theirs, known := g.members[i].of(unit); i != own && known && ours > 0 {
				rows = append(rows, []string{g.name, peer, nanoseconds(ours), nanoseconds(theirs), short(theirs / ours)})
			}
		}
	}
	return table("In one run, time of the peer / ours", []string{"benchmark", "peer", "ours", "peer's", "ratio"}, rows)
}

// grown is the growth with tools from 10,000 on, where two sizes or more were measured. Edges
// walked are a measure that neither the caches nor the load of the machine can distort.
func (b *benchmarks) grown() string {
	const from = 10_000
	var rows [][]string
	for _, g := range b.groups("tools") {
		row, known := []string{g.name, "", "–", "–"}, false
		time := "ns/op"
		if _, processor := g.members[0].of("cpu-ns/op"); processor {
			time = "cpu-ns/op"
		}
		for column, unit := range map[int]string{2: time, 3: "edges/op"} {
			var x, y []float64
			for i, size := range g.values {
				n, err := strconv.ParseFloat(size, 64)
				if v, measured := g.members[i].of(unit); err == nil && n >= from && measured && v > 0 {
					x, y = append(x, n), append(y, v)
				}
			}
			if len(x) > 1 {
				row[1] = fmt.Sprintf("%.0f–%.0f", slices.Min(x), slices.Max(x))
				row[column] = fmt.Sprintf("%.2f", exponent(x, y))
				known = true
			}
		}
		if known {
			rows = append(rows, row)
		}
	}
	return table("Growth exponent: cost ~ tools to this power", []string{"benchmark", "tools", "time", "edges walked"}, rows)
}

// units lists what was reported per edge.
func (b *benchmarks) units() string {
	var rows [][]string
	for _, x := range b.list {
		row, known := []string{x.name}, false
		for _, unit := range []string{"ns/edge", "B/edge"} {
			v, measured := x.of(unit)
			known = known || measured
			if row = append(row, "–"); measured {
				row[len(row)-1] = short(v)
			}
		}
		if known {
			rows = append(rows, row)
		}
	}
	return table("Per edge", []string{"benchmark", "ns", "bytes"}, rows)
}

func table(title string, head []string, rows [][]string) string {
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n\n| %s |\n|---|%s\n", title, strings.Join(head, " | "), strings.Repeat("--:|", len(head)-1))
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r, " | "))
	}
	return b.String()
}

func nanoseconds(ns float64) string {
	switch {
	case ns >= 1e9:
		return short(ns/1e9) + " s"
	case ns >= 1e6:
		return short(ns/1e6) + " ms"
	case ns >= 1e3:
		return short(ns/1e3) + " µs"
	}
	return short(ns) + " ns"
}

// short writes three digits, or all of a larger whole part.
func short(x float64) string {
	if x >= 100 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}
