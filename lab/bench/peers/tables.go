package main

import (
	"fmt"
	"slices"
	"strings"
)

// ratios is the table of costs, a peer's over ours.
func ratios(done []outcome, cpu bool) string {
	var b strings.Builder
	b.WriteString("| task | tools | peer | ours | peer's | ratio | floor | aim | |\n|---|--:|---|--:|--:|--:|--:|--:|---|\n")
	for _, o := range done {
		ours := o.contest.cost(o.ours, cpu)
		for _, p := range o.contest.peers {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | ", title(o.contest), tools(o.n), p.name, duration(ours))
			r, ran := o.peers[p.name]
			if !ran {
				fmt.Fprintf(&b, "– | – | – | – | %s |\n", o.not[p.name])
				continue
			}
			theirs := o.contest.cost(r, cpu)
			ratio := theirs / ours
			fmt.Fprintf(&b, "%s | %s | ", duration(theirs), figure(ratio))
			if m, asked := p.marks[o.n]; asked {
				fmt.Fprintf(&b, "%s | %s | %s |\n", figure(m.floor), figure(m.aim), m.verdict(ratio))
			} else {
				b.WriteString("– | – | |\n")
			}
		}
	}
	return b.String()
}

func (m mark) verdict(ratio float64) string {
	switch {
	case ratio >= m.aim:
		return "aim reached"
	case ratio >= m.floor:
		return "floor reached"
	}
	return "floor missed"
}

// qualities is the table of the gates.
func qualities(done []outcome) string {
	var b strings.Builder
	b.WriteString("| task | tools | asked for | measured | |\n|---|--:|---|---|---|\n")
	for _, o := range done {
		for _, g := range o.contest.gates {
			said, ok := g.check(o.ours, o.peers)
			if said == "not compared" || !concerns(g.sizes, o.n) {
				continue
			}
			verdict := "holds"
			if !ok {
				verdict = "fails"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", title(o.contest), tools(o.n), g.name, said, verdict)
		}
	}
	return b.String()
}

func concerns(sizes []int, n int) bool {
	return sizes == nil || slices.Contains(sizes, n)
}

func title(c contest) string {
	name := map[string]string{
		"pagerank": "PageRank", "aa": "Adamic-Adar, 50 best", "louvain": "communities",
		"spectral": "co-clustering", "lex": "BM25, 10 best", "store": "durable event",
	}[c.task]
	switch {
	case c.k > 0:
		return fmt.Sprintf("%s, k = %d", name, c.k)
	case c.task == "store":
		return fmt.Sprintf("%s, %s writers, commits of %s", name, c.args[1], c.args[3])
	}
	return name
}

// tools writes a number with its thousands apart.
func tools(n int) string {
	switch {
	case n == 0:
		return "–"
	case n < 1000:
		return fmt.Sprint(n)
	}
	rest := fmt.Sprintf(",%03d", n%1000)
	return tools(n/1000) + rest
}

// duration writes seconds with three digits.
func duration(s float64) string {
	switch {
	case s >= 1:
		return fmt.Sprintf("%.3g s", s)
	case s >= 1e-3:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g µs", s*1e6)
}

func figure(x float64) string {
	if x >= 100 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}
