package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"waymark/evaluate"
)

// writePage writes the whole page: the words are fixed, the numbers and what they say are those measured.
func (r *report) writePage(w io.Writer) {
	fmt.Fprintf(w, `# Validation of the seed's constants

The scoring reference that this project started from lists constants that are arbitrary and need validation. This page says what each
is worth on held-out tasks of public data sets, with the answer to each of its questions first. `+"`make validation DIR=folder`"+` writes it
into the folder OUT. All intervals, set by set, are in [validation.tsv](validation.tsv).

%s

How it is measured: of the train episodes alone (the test part is never read), every fifth task is held out, or the latest fifth where there are times; attempts at one task
stay together. The rest is the history of a model. Of at most %d positions of each set and kind, spread evenly, the raw signals of all candidates are
taken down once (`+"`suggest.Situation`"+`); then every value of every constant ranks the same candidates, so that every difference is paired. Differences
are of the mean reciprocal rank (MRR) unless another metric is named, intervals are 95 %%, drawn over episodes. "All" is the mean over the sets, each counting alike.
An asterisk marks a difference whose own interval leaves out 0; with this many comparisons one in twenty would do so by chance. These are the seed's formulas alone: profile
`+"`learned`"+` (docs/lab/quality.md) fits its weights to each history and needs none of them.

`, r.setsAsked(), r.most)
	r.writeLevels(w)
	r.writeAnswers(w)
	r.writeJoint(w)
	fmt.Fprint(w, "## The numbers\n\n")
	for _, t := range r.tables {
		r.writeTableOf(w, t)
	}
	r.writeLimits(w)
}

func (r *report) setsAsked() string {
	var names []string
	for _, s := range r.sets {
		names = append(names, s.name)
	}
	text := "Sets: " + strings.Join(names, ", ") + "."
	if len(r.untrained) > 0 {
		text += " Without train episodes, and so without a part: " + strings.Join(r.untrained, ", ") + "."
	}
	return text
}

func (r *report) writeLevels(w io.Writer) {
	fmt.Fprint(w, "| set | history / held out | next: questions, MRR, hit@1 | with intent: questions, MRR, hit@1 | intents: NDCG@10 |\n|---|---|---|---|---|\n")
	for _, s := range r.sets {
		cell := func(kind string) string {
			q := s.questions[kind]
			if q == nil {
				return "–"
			}
			m := q.measure(&seed).means()
			return fmt.Sprintf("%d, %.3f, %.3f", len(q.situations), m["MRR"], m["hit@1"])
		}
		tools := "–"
		if q := s.questions[kindTools]; q != nil {
			tools = fmt.Sprintf("%d, %.3f", len(q.situations), q.measure(&seed).means()["NDCG@10"])
		}
		fmt.Fprintf(w, "| %s | %d / %d | %s | %s | %s |\n", s.name, s.history, s.held, cell(kindNext), cell(kindIntent), tools)
	}
	fmt.Fprintln(w)
}

// of are the tables of a sweep.
func (r *report) of(key string) []table {
	return slices.DeleteFunc(slices.Clone(r.tables), func(t table) bool { return t.key != key })
}

// all is the change of a value on all sets together.
func (x result) all(metric string) evaluate.Difference { return x.changes[everySet][metric] }

var kindNames = map[string]string{
	kindNext: "next tool", kindIntent: "next tool with the intent", kindTools: "tools for an intent",
}

// standing is what a table shows of the first value, the seed's.
type standing struct {
	best                  result // of the others
	better, worse, others int    // values that change anything, by the interval over all sets
}

func (t table) standing() standing {
	var s standing
	for _, x := range t.rows {
		if !x.matters() {
			continue
		}
		d := x.all(t.metrics[0])
		if s.others == 0 || d.Mean > s.best.all(t.metrics[0]).Mean {
			s.best = x
		}
		s.others++
		if d.Interval[0] > 0 {
			s.better++
		}
		if d.Interval[1] < 0 {
			s.worse++
		}
	}
	return s
}

// matters reports whether a value changes any number.
func (x result) matters() bool {
	for _, by := range x.changes { // any order
		for _, d := range by {
			if d != (evaluate.Difference{}) {
				return true
			}
		}
	}
	return false
}

// hardly is a gain too small to care for.
const hardly = .005

// verdict says in one sentence what a table shows of the seed's value.
func (t table) verdict() string {
	s := t.standing()
	switch {
	case s.others == 0:
		return "no value changes anything"
	case s.better > 0:
		up, down := t.clear(s.best)
		return fmt.Sprintf("best is %s, %s, with clear gains on %d of %d sets and clear losses on %d", s.best.name, change(s.best.all(t.metrics[0])), up, len(t.sets), down)
	case s.worse == s.others:
		return fmt.Sprintf("all %d others are worse", s.others)
	case s.worse > 0:
		return fmt.Sprintf("of %d others none is better by more than chance, %d are worse", s.others, s.worse)
	}
	return fmt.Sprintf("no value differs by more than chance (most: %s, %s)", s.best.name, change(s.best.all(t.metrics[0])))
}

// ruling says in a few words whether the seed's value is a good one.
func ruling(tables []table) string {
	var best table
	most, worse := 0.0, false
	for _, t := range tables {
		s := t.standing()
		worse = worse || s.worse > 0
		if s.better > 0 {
			if gain := s.best.all(t.metrics[0]).Mean; gain > most {
				best, most = t, gain
			}
		}
	}
	switch {
	case most >= hardly:
		x := best.standing().best
		up, down := best.clear(x)
		return fmt.Sprintf("**Not the best**: %s ranks better (%s, %s; clearly better on %d of %d sets, clearly worse on %d)", x.name, kindNames[best.kind], signed(most), up, len(best.sets), down)
	case most > 0:
		return fmt.Sprintf("**Hardly matters**: no other value gains as much as %.3f", hardly)
	case worse:
		return "**Holds**: no other value ranks better by more than chance"
	}
	return "**No clear difference** between any values"
}

// comparison says in words what a row changes, by kind of question where these differ.
func comparison(tables []table, name string) string {
	var words, by []string
	for _, t := range tables {
		word := "no clear difference"
		switch d := t.row(name).all(t.metrics[0]); {
		case d.Interval[0] > 0:
			word = "better"
		case d.Interval[1] < 0:
			word = "worse"
		}
		words, by = append(words, word), append(by, fmt.Sprintf("%s (%s)", word, kindNames[t.kind]))
	}
	if len(slices.Compact(slices.Clone(words))) == 1 {
		return name + ": " + words[0]
	}
	return name + ": " + strings.Join(by, ", ")
}

// clear counts the sets on which the interval of a value leaves out 0.
func (t table) clear(x result) (up, down int) {
	for _, s := range t.sets {
		d := x.changes[s][t.metrics[0]]
		if d.Interval[0] > 0 {
			up++
		}
		if d.Interval[1] < 0 {
			down++
		}
	}
	return up, down
}

func signed(x float64) string {
	if math.Abs(x) < .0005 {
		return "0.000"
	}
	return fmt.Sprintf("%+.3f", x)
}

func change(d evaluate.Difference) string {
	return fmt.Sprintf("%s (%s … %s)", signed(d.Mean), signed(d.Interval[0]), signed(d.Interval[1]))
}

// short is a change within one cell.
func short(d evaluate.Difference) string {
	text := signed(d.Mean)
	if text != signed(0) && (d.Interval[0] > 0 || d.Interval[1] < 0) {
		text += " *"
	}
	return text
}

// row of a table by its name.
func (t table) row(name string) result {
	i := slices.IndexFunc(t.rows, func(x result) bool { return x.name == name })
	return t.rows[i]
}

// answer is one sentence about a sweep: the ruling, unless only the values asked for are of interest, then
// what each of these is worth.
func (r *report) answer(rules bool, key string, asked ...string) string {
	tables := r.of(key)
	if len(tables) == 0 {
		return "No set can say."
	}
	var parts []string
	if rules {
		parts = append(parts, ruling(tables))
	}
	for _, name := range asked {
		parts = append(parts, comparison(tables, name))
	}
	return strings.Join(parts, "; ") + "."
}

// evidence are the numbers behind an answer.
func (r *report) evidence(rules bool, key string, asked ...string) string {
	var lines []string
	for _, t := range r.of(key) {
		var parts []string
		if rules {
			parts = append(parts, t.verdict())
		}
		for _, name := range asked {
			parts = append(parts, fmt.Sprintf("%s %s", name, change(t.row(name).all(t.metrics[0]))))
		}
		where := ""
		if len(t.sets) <= 3 {
			where = " on " + strings.Join(t.sets, ", ")
		}
		lines = append(lines, fmt.Sprintf("%s%s: %s.", upper(kindNames[t.kind]), where, strings.Join(parts, "; ")))
	}
	return strings.Join(lines, " ")
}

func (r *report) writeAnswers(w io.Writer) {
	fmt.Fprint(w, "## The seed's questions, answered\n\n| question | answer | evidence |\n|---|---|---|\n")
	row := func(rules bool, question, before, key string, asked ...string) {
		fmt.Fprintf(w, "| %s | %s%s | %s |\n", question, before, r.answer(rules, key, asked...), r.evidence(rules, key, asked...))
	}
	line := func(question, before, key string, asked ...string) { row(true, question, before, key, asked...) }
	values := func(question, before, key string, asked ...string) { row(false, question, before, key, asked...) }
	line("80/20 PageRank boost: why not 70/30?", "", "rank", "70/30")
	line("0.40 base of community confidence: why not 0.35?", "", "base", "0.35")
	line("/2 of Adamic-Adar: why divide by 2?", "", "norm", "/1", "off")
	values("0.25 vs 0.20, episodic: asymmetry justified?", "With outcomes of whole tasks in place of those of steps: ", "episodic", "0.20/0.20", "0.25/0.20", "off", "0.20/0.25 with exclusion")
	for _, b := range r.bounds {
		share := 0.0
		if b.having > 0 {
			share = 100 * float64(b.bound) / float64(b.having)
		}
		line(upper(r.of(b.key)[0].title)+": why?", fmt.Sprintf("Bounds %.1f %% of the candidates it concerns. ", share), b.key, "no cap", "off")
	}
	line("Weights of ToolScore .50/.25/.15/.10", "", "weights", "cooccurrence alone")
	line("Capabilities 1: which signals; does MixedScore beat the placeholder?", "", "stored", placeholder)
	values("Capabilities 2: do spectral clusters help, and more than communities?", "Against the seed's boost by clusters: ", "boost", "no boost", boostTwice, "communities in place of clusters")
	values("Capabilities 3: explicit edges through capabilities?", "Against MixedScore alone: ", "stored", throughEdges, bestOfBoth)
	values("Capabilities 4: the weights of the placeholder, each taken out", "Against MixedScore: ", "stored", placeholder, "CapabilityScore without overlap",
		"CapabilityScore without success rate", "CapabilityScore without PageRank", "CapabilityScore without text")
	values("Relevance: Jaccard, containment or text?", r.unscored(), "stored", "MixedScore, relevance = containment", "MixedScore, relevance = text or Jaccard")
	line("Reliability: thresholds .5 and .9, factors .1 and 1.2", "", "reliability", "no factor")
	fmt.Fprintf(w, "\n**Which signals matter (ablation)?** %s\n\n**Adaptive weights, per-domain tuning: worth it?** %s\n\n", r.ablated(), r.tuned())
}

// ablated sorts the signals by what becomes of the ranking without them.
func (r *report) ablated() string {
	var parts []string
	for _, t := range r.of("ablation") {
		var needed, harmful, idle []string
		for _, x := range t.rows {
			if !x.matters() {
				continue
			}
			switch d := x.all(t.metrics[0]); {
			case d.Interval[1] < 0:
				needed = append(needed, fmt.Sprintf("%s %s", x.name, signed(d.Mean)))
			case d.Interval[0] > 0:
				harmful = append(harmful, fmt.Sprintf("%s %s", x.name, signed(d.Mean)))
			default:
				idle = append(idle, x.name)
			}
		}
		for _, group := range []struct {
			name  string
			items []string
		}{{"worse without", needed}, {"better without", harmful}, {"no clear difference without", idle}} {
			if len(group.items) > 0 {
				parts = append(parts, fmt.Sprintf("%s, %s: %s.", upper(kindNames[t.kind]), group.name, strings.Join(group.items, ", ")))
			}
		}
	}
	return strings.Join(parts, " ")
}

// tuned sums the joint search up.
func (r *report) tuned() string {
	var parts []string
	for _, g := range r.pooled {
		parts = append(parts, fmt.Sprintf("%s: from %.3f, other constants found on other sets give %s, those tuned to the set %s.", upper(kindNames[g.kind]), g.seed, change(g.others), change(g.own)))
	}
	return strings.Join(parts, " ")
}

// unscored says how often the passive relevance leaves out what comes next.
func (r *report) unscored() string {
	all, begun, lost := 0, 0, 0
	for _, s := range r.sets {
		if s.stored != nil {
			a, b, l := reached(s.stored.passive)
			all, begun, lost = all+a, begun+b, lost+l
		}
	}
	return fmt.Sprintf("Jaccard is 0 until a tool of the capability was called: without an intent no right one has a score in %d of %d situations (%d have begun one). ", lost, all, begun)
}

func (r *report) writeJoint(w io.Writer) {
	fmt.Fprintf(w, `## All constants at once

%d random draws of all constants, then %d rounds of steps along one at a time, judged by %d questions of each kind and set. "Others" was
found on all sets but the one it is measured on: what a better table of fixed constants gives to a history it was not made for. "Own" was found on
questions of the set it is measured on, which flatters it: what constants tuned to each domain would give, as far as this search finds them.

| set | questions | seed's MRR | others | own |
|---|---|---|---|---|
`, draws, rounds, judgedAt)
	for _, g := range append(slices.Clone(r.gains), r.pooled...) {
		fmt.Fprintf(w, "| %s | %s | %.3f | %s | %s |\n", g.set, kindNames[g.kind], g.seed, change(g.others), change(g.own))
	}
	k := r.everybody
	fmt.Fprintf(w, `
The best found on all sets together: RankScore %.2f/%.2f, alpha %s; ToolScore %.2f/%.2f/%.2f/%.2f; community %.2f + %s·pagerank + %s·weight + %s·AA;
Adamic-Adar /%.2f; count %s; cap %s.

`, k.Hybrid, k.Rank, alphaName(k), k.Cooccurrence, k.Community, k.AdamicAdar, k.PageRank, k.Base, boundName(k.OfRank), boundName(k.OfWeight), boundName(k.OfAlike),
		k.Norm, boundName(k.OfCount), number(k.Cap))
}

func alphaName(k constants) string {
	if k.AlphaSlope == steep {
		return fmt.Sprintf("%.2f", k.AlphaFloor)
	}
	return fmt.Sprintf("max(%.2f, 1 - %.0f·density)", k.AlphaFloor, k.AlphaSlope)
}

func boundName(c capped) string {
	if math.IsInf(c.Most, 1) || c.Times == 0 {
		return number(c.Times)
	}
	return fmt.Sprintf("%s (at most %s)", number(c.Times), number(c.Most))
}

func number(x float64) string {
	if math.IsInf(x, 1) {
		return "none"
	}
	return fmt.Sprintf("%.2f", x)
}

func (r *report) writeTableOf(w io.Writer, t table) {
	fmt.Fprintf(w, "### %s – %s\n\n", upper(t.title), kindNames[t.kind])
	if about := strings.TrimSpace(t.question + " " + t.reading); about != "" {
		fmt.Fprintf(w, "%s\n\n", about)
	}
	fmt.Fprintf(w, "| value |")
	for _, m := range t.metrics {
		fmt.Fprintf(w, " all: %s |", m)
	}
	for _, s := range t.sets {
		fmt.Fprintf(w, " %s |", s)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(t.metrics)+len(t.sets)))
	var idle []string
	for _, x := range t.rows {
		if x.changes != nil && !x.matters() {
			idle = append(idle, x.name)
			continue
		}
		fmt.Fprintf(w, "| %s |", x.name)
		for _, m := range t.metrics {
			if x.changes == nil {
				fmt.Fprintf(w, " %.3f |", t.mean(m))
			} else {
				fmt.Fprintf(w, " %s |", change(x.all(m)))
			}
		}
		for _, s := range t.sets {
			if x.changes == nil {
				fmt.Fprintf(w, " %.3f |", t.levels[s][t.metrics[0]])
			} else {
				fmt.Fprintf(w, " %s |", short(x.changes[s][t.metrics[0]]))
			}
		}
		fmt.Fprintln(w)
	}
	if len(idle) > 0 {
		fmt.Fprintf(w, "\nWithout any effect here: %s.\n", strings.Join(idle, ", "))
	}
	fmt.Fprintln(w)
}

// mean of the seed's over the sets.
func (t table) mean(metric string) float64 {
	total := 0.0
	for _, s := range t.sets {
		total += t.levels[s][metric]
	}
	return total / float64(len(t.sets))
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (r *report) writeLimits(w io.Writer) {
	fmt.Fprint(w, `## What this can and cannot show

- The candidates are those that the engine brings in with the seed's constants; a constant that would bring in others is judged on these.
- Constants that change a confidence and no order (weights by density, confidence of a path) are not judged here.
- One constant is moved at a time; that two would have to move together shows only in the joint search, which is random and coarse.
- Public sets have no outcomes of steps. The outcome of a whole task, copied onto its steps, blames every step of a failed task; what it says of
  boost, penalty and exclusion is a hint. Steps of tasks that succeeded are taken for right.
- Public sets have no capabilities. Those mined here are runs of two to five tools, one right after the other in topological order, that at least three
  plans of the history hold (none that a longer one as frequent contains, no second of the same tools, at most `+fmt.Sprint(mostMined)+` a set). A situation counts where the next
  steps are those of a mined run, from its start or from its middle, and something of it is left to do. That shows whether a formula finds the run that is about to happen among the others. It
  cannot show whether an agent would have wanted it, what it saves, or how capabilities with descriptions of their own (here: names of tools and one past request) would be
  found by text. The better rank of several right ones counts.
- A set takes part in a table where it has at least `+fmt.Sprint(fewest)+` questions. Whether failures exclude a capability is left out; only its score is compared.
- Edges through capabilities come from short tasks made for it: what came before a run in the history, the capability, what came after. An agent that really ran
  capabilities would leave the same edges, but fewer.

| set | mined | next tool: situations, begun, no right one has a score | with the intent: likewise |
|---|---|---|---|
`)
	for _, s := range r.sets {
		if s.stored != nil {
			fmt.Fprintf(w, "| %s | %d | %s | %s |\n", s.name, s.stored.mined, describe(s.stored.passive), describe(s.stored.active))
		}
	}
}

func describe(all []choice) string {
	n, begun, lost := reached(all)
	return fmt.Sprintf("%d, %d, %d", n, begun, lost)
}

// reached counts situations, those in which a right capability has begun, and those in which MixedScore
// gives none of the right ones a score.
func reached(all []choice) (n, begun, lost int) {
	for i := range all {
		if all[i].begun {
			begun++
		}
		if among, _ := all[i].rankOf(formula{score: seedMixing.score}); among == 0 {
			lost++
		}
	}
	return len(all), begun, lost
}

// writeTable writes every difference as one line.
func (r *report) writeTable(w io.Writer) {
	fmt.Fprintln(w, "what\tquestions\tvalue\tset\tmetric\tseed\tdifference\tlow\thigh")
	for _, t := range r.tables {
		for _, x := range t.rows {
			if x.changes == nil {
				continue
			}
			for _, s := range append(slices.Clone(t.sets), everySet) {
				for _, m := range t.metrics {
					level := t.mean(m)
					if s != everySet {
						level = t.levels[s][m]
					}
					d := x.changes[s][m]
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.4f\t%.4f\t%.4f\t%.4f\n", t.key, t.kind, x.name, s, m, level, d.Mean, d.Interval[0], d.Interval[1])
				}
			}
		}
	}
}
