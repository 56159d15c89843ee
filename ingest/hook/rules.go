package hook

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gonum.org/v1/gonum/mathext"

	"waymark/episodic"
)

// A rule applies in a context: the previous call, or a failure. A rule is active if the lower confidence bound of its
// rate over distinct sessions reaches a threshold, and if its rate differs from the rate outside the context by more
// than chance, corrected for the number of candidate rules. The thresholds are frozen: see docs/feeds.md.
const (
	minSessions = 5       // minimum number of sessions with the context
	confidence  = 0.05    // probability that the true rate lies below the bound
	threshold   = 0.6     // minimum of the bound
	guard       = 0.02    // probability that any rule of a kind becomes active in a history without structure
	mostSteps   = 200_000 // newest steps from which rules are derived
	mostRules   = 200     // limit, because every hook reads all rules
)

// Rule is one piece of advice: a pitfall, before the call is made, or a repair, after the failure.
type Rule struct {
	Repair bool    `json:"repair,omitempty"` // Tool worked after After failed; else a pitfall: Tool fails after After
	After  string  `json:"after"`            // previous call, "" at the start of a task; of a repair, the failed tool
	Tool   string  `json:"tool"`             // tool that fails, or that worked
	K      int     `json:"k"`                // sessions in which it failed, or worked
	N      int     `json:"n"`                // sessions with the context
	Bound  float64 `json:"bound"`
}

// Line formats the rule as one sentence.
func (r *Rule) Line() string {
	if r.Repair {
		return fmt.Sprintf("Waymark: where %s failed here, %s came next and worked %d of %d times.", r.After, r.Tool, r.K, r.N)
	}
	where := "right after " + r.After
	if r.After == "" {
		where = "as the first call"
	}
	return fmt.Sprintf("Waymark: %s failed %d of %d times here %s.", r.Tool, r.K, r.N, where)
}

// History holds the newest steps of a history, from which rules are derived.
type History struct {
	walks []walk
	steps int
}

type walk struct {
	session string
	steps   []did
}

// did is a step with the fields that rules need.
type did struct {
	tool    string
	outcome episodic.Outcome
}

// Add appends an episode. It drops the oldest episodes if the history exceeds mostSteps.
func (h *History) Add(e *episodic.Episode) {
	w := walk{session: "s" + e.Session, steps: make([]did, len(e.Steps))}
	if e.Session == "" {
		w.session = "e" + e.ID
	}
	for i := range e.Steps {
		w.steps[i] = did{e.Steps[i].Tool, e.Steps[i].Outcome}
	}
	h.walks, h.steps = append(h.walks, w), h.steps+len(w.steps)
	for h.steps > mostSteps && len(h.walks) > 1 {
		h.steps -= len(h.walks[0].steps)
		h.walks = h.walks[1:]
	}
}

// condition is the condition of a rate.
type condition struct {
	what         int
	before, tool string // "" is any tool; start is the beginning of a task
}

const start = "^" // cannot be a tool in a rule: not a plain name

const (
	follows = iota // any call follows the tool
	fails          // the tool fails, after the given call
	repairs        // the next call works after the tool failed
)

type outcome struct {
	condition
	tool string
}

// counts holds the sessions with each context (trials), and those in whose first such context an event happened (hits).
type counts struct {
	trials map[condition]int
	last   map[condition]string // the session counted last; walks are sorted by session
	hits   map[outcome]int
}

func (c *counts) try(ctx condition, session string, hit bool, tool string) {
	if was, counted := c.last[ctx]; counted && was == session {
		return
	}
	c.last[ctx] = session
	if c.trials[ctx]++; hit {
		c.hits[outcome{ctx, tool}]++
	}
}

func (c *counts) walk(w walk) {
	before := start
	for i, s := range w.steps {
		next := did{}
		if i+1 < len(w.steps) {
			next = w.steps[i+1]
		}
		failed := s.outcome == episodic.Failure
		c.try(condition{what: follows, tool: s.tool}, w.session, next.tool != "", next.tool)
		if s.outcome.Known() {
			c.try(condition{what: fails, tool: s.tool}, w.session, failed, s.tool)
			c.try(condition{what: fails, before: before, tool: s.tool}, w.session, failed, s.tool)
		}
		if failed {
			c.try(condition{what: repairs, tool: s.tool}, w.session, next.outcome == episodic.Success, next.tool)
		}
		before = s.tool
	}
}

// candidate is a rule to be tested, with the probability of its rate if the context made no difference.
type candidate struct {
	outcome
	k, n   int
	chance float64
}

// Derive returns the active rules of the history, sorted by their bound, highest first.
func (h *History) Derive() []Rule {
	c := &counts{trials: map[condition]int{}, last: map[condition]string{}, hits: map[outcome]int{}}
	walks := slices.Clone(h.walks)
	slices.SortStableFunc(walks, func(a, b walk) int { return strings.Compare(a.session, b.session) })
	for _, w := range walks {
		c.walk(w)
	}
	tried := map[int][]candidate{}
	for e := range c.hits {
		if x, ok := c.candidate(e); ok {
			tried[e.what] = append(tried[e.what], x)
		}
	}
	rules := []Rule{}
	for _, all := range tried {
		level := significant(all)
		for _, x := range all {
			bound := lowerBound(x.k, x.n)
			if bound < threshold || x.chance > level {
				continue
			}
			r := Rule{Repair: x.what == repairs, After: x.condition.tool, Tool: x.tool, K: x.k, N: x.n, Bound: bound}
			if !r.Repair {
				r.After = strings.TrimPrefix(x.before, start)
			}
			if plain(r.Tool) && (r.After == "" || plain(r.After)) {
				rules = append(rules, r)
			}
		}
	}
	slices.SortFunc(rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(b.Bound, a.Bound), strings.Compare(a.Line(), b.Line()))
	})
	return rules[:min(len(rules), mostRules)]
}

// candidate returns the counts and the chance of an event if enough sessions have its context. The rate outside the
// context is that of the wider context without this one.
func (c *counts) candidate(e outcome) (x candidate, ok bool) {
	k, n := c.hits[e], c.trials[e.condition]
	if n < minSessions || e.what == follows || e.what == fails && e.before == "" {
		return x, false
	}
	wider := outcome{condition{what: fails, tool: e.condition.tool}, e.tool}
	if e.what == repairs {
		wider.what = follows
	}
	hits, all := max(0, c.hits[wider]-k), max(0, c.trials[wider.condition]-n)
	return candidate{e, k, n, tail(k, n, (float64(hits)+0.5)/(float64(max(all, hits))+1))}, true
}

// significant returns the largest chance that remains significant for the number of candidates (Benjamini and
// Hochberg): in a history without structure the probability that any candidate passes is guard.
func significant(all []candidate) (level float64) {
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(a.chance, b.chance) })
	for i, x := range all {
		if x.chance <= guard*float64(i+1)/float64(len(all)) {
			level = x.chance
		}
	}
	return level
}

// plain reports whether a name may appear in a sentence: it contains nothing that could be read as more than a name. A
// regular expression would need milliseconds to compile in every hook.
func plain(name string) bool {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_.:/@-", r)
	}
	return name != "" && utf8.RuneCountInString(name) <= 80 && !strings.ContainsFunc(name, odd)
}

// lowerBound is the Clopper–Pearson lower bound of a probability for k successes in n trials: the true value lies below
// it with the probability confidence.
func lowerBound(k, n int) float64 {
	if k <= 0 || n <= 0 {
		return 0
	}
	return mathext.InvRegIncBeta(float64(k), float64(n-k+1), confidence)
}

// tail is the probability of at least k successes in n trials with success probability p.
func tail(k, n int, p float64) float64 {
	switch {
	case k <= 0 || p >= 1:
		return 1
	case p <= 0 || k > n:
		return 0
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}
