package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"waymark/suggest"
)

func (a *app) showSources(stats suggest.Stats) {
	var rows [][]string
	all, teaching := 0, 0
	for name, n := range stats.Sources {
		all, teaching = all+n, teaching+n-stats.Limited[name]
	}
	share := func(n, of int) string { return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(max(1, of))) }
	for _, name := range slices.Sorted(maps.Keys(stats.Sources)) {
		n, limited := stats.Sources[name], stats.Limited[name]
		rows = append(rows, []string{clean(name), strconv.Itoa(n), share(n, all), strconv.Itoa(limited), share(n-limited, teaching)})
	}
	if len(rows) == 0 {
		return
	}
	a.printf("\n")
	columns(a.out, []string{"source", "episodes", "share", "limited", "influence"}, rows)
}
