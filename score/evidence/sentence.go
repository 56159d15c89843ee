package evidence

import (
	"slices"
	"strings"
	"unicode"
)

// sentences splits a text after . ! or ? where a space and no small letter follows, and at line ends.
func sentences(text string) []string {
	var out []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	for line := range strings.Lines(text) {
		from := 0
		for i := 0; i < len(line); i++ {
			if strings.IndexByte(".!?", line[i]) < 0 {
				continue
			}
			rest := line[i+1:]
			next := strings.TrimLeft(rest, " \t")
			if len(next) < len(rest) && !strings.ContainsFunc(next[:min(1, len(next))], unicode.IsLower) {
				add(line[from : i+1])
				from = i + 1
			}
		}
		add(line[from:])
	}
	return out
}

// pointers refer to a statement made before.
var pointers = wordSet("pointers")

func points(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return pointers[w] })
}

// opposing returns by what a snippet speaks against a hypothesis, or "". Each sentence is read by itself; one
// counts if it says at least half as much of the hypothesis as any other, or if it refers to such a sentence just
// before it, as in "This was refuted". If no sentence has a word of the hypothesis, all count.
func opposing(snippet string, r reading) string {
	texts := sentences(snippet)
	words, share, best := make([][]string, len(texts)), make([]float64, len(texts)), 0.0
	for i, s := range texts {
		words[i] = spoken(s)
		if len(texts) > 1 {
			share[i] = r.share(words[i], r.about)
			best = max(best, share[i])
		}
	}
	counts := func(i int) bool { return 2*share[i] >= best }
	for i := range texts {
		if counts(i) || i > 0 && counts(i-1) && points(words[i]) {
			if m := r.against(words[i]); m != "" {
				return m
			}
		}
	}
	return ""
}

// share is the share of the stems in terms that the words have.
func (r reading) share(words []string, terms map[string]bool) float64 {
	if len(terms) == 0 {
		return 0
	}
	had := map[string]bool{}
	for _, w := range words {
		for _, stem := range stemmed.of(w) {
			if terms[stem] {
				had[stem] = true
			}
		}
	}
	return float64(len(had)) / float64(len(terms))
}

// against returns by what one sentence speaks against the hypothesis: a marker, or "denied" where it denies what
// the hypothesis affirms or the other way round. Of a contrast, "not A but B", the part counts that has more of
// the hypothesis.
func (r reading) against(words []string) string {
	if len(words) == 0 || words[len(words)-1] == "?" {
		return ""
	}
	if m := contradiction(words, r); m != "" {
		return m
	}
	if conditions[words[0]] {
		return ""
	}
	const most, all = .5, .75 // of the hypothesis in a clause that denies it, and in one that affirms what it denies
	var denied, affirmed float64
	for _, clause := range clauses(words) {
		share := r.share(clause, r.terms)
		if turned(clause) {
			denied = max(denied, share)
		} else {
			affirmed = max(affirmed, share)
		}
	}
	switch {
	case !r.turned && !r.denies && denied >= most && denied >= affirmed:
		return "denied"
	case r.turned && r.denies && affirmed >= all && affirmed > denied:
		return "denied"
	}
	return ""
}

// conditions begin sentences that say under what something was or was not so: "with a filter fitted there was no trip"
// does not deny the trip.
var conditions = wordSet("conditions")

// clauses splits a sentence before and after words that separate statements. A clause ends before "rather than"
// and "instead of".
func clauses(words []string) [][]string {
	var out [][]string
	from := 0
	cut := func(to int) {
		if to > from {
			out = append(out, words[from:to])
		}
		from = to
	}
	for i, w := range words {
		switch {
		case w == "rather" || w == "instead":
			cut(i)
		case endsClause(words, i):
			cut(i)
			from = i + 1
		}
	}
	cut(len(words))
	return out
}

// endsClause reports whether word i separates statements, which "because" does not after "not".
func endsClause(words []string, i int) bool {
	return clauseEnds[words[i]] && !(words[i] == "because" && i > 0 && fits("<not>", words[i-1]))
}

// clauseOf is the clause that word i stands in.
func clauseOf(words []string, i int) (from, to int) {
	for from = i; from > 0 && !endsClause(words, from-1); from-- {
	}
	for to = i; to < len(words) && !endsClause(words, to); to++ {
	}
	return from, to
}

// weak negators deny the noun behind them only.
var weak = wordSet("weak")

// turned reports whether a clause denies what it speaks of: an odd number of its words do.
func turned(clause []string) bool {
	odd := false
	for i, w := range clause {
		next := ""
		if i+1 < len(clause) {
			next = clause[i+1]
		}
		switch {
		case weak[w], w == "not" && i > 0 && clause[i-1] == "or": // whether or not
		case negates(clause, i), forms["fail"][w],
			(w == "rather" && next == "than") || (w == "instead" && next == "of") || (w == "far" && next == "from"),
			forms["rule"][w] && slices.Contains(clause[i:min(i+4, len(clause))], "out"),
			slices.ContainsFunc(tables.Denials, func(d string) bool { return strings.HasPrefix(w, d) && (d != "too" || w == d) }):
			odd = !odd
		}
	}
	return odd
}
