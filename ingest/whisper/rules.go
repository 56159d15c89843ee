// Package whisper derives from a history the few sentences that are worth saying to an agent, and decides when.
//
//	history ──▶ Derive ──▶ Table ──file──▶ hook: Speak ──▶ one line, or silence
//
// A rule is about a context: the calls before. It holds where the lower confidence bound of its rate over distinct
// sessions passes a threshold, and where the rate differs from that outside the context by more than chance, corrected
// for the number of rules tried. What a first-order chain predicts anyway is no rule.
package whisper

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"waymark/episodic"
)

// Kind of a rule.
type Kind string

const (
	Pitfall Kind = "pitfall" // the call fails here
	Repair  Kind = "repair"  // after this failure another call worked
)

// The thresholds. They are frozen: see docs/feeds.md.
const (
	minSessions = 5       // that a rule is about
	confidence  = 0.05    // probability that the true rate lies below the bound
	threshold   = 0.6     // of the bound
	guard       = 0.02    // probability that any rule of a kind holds in a history without structure
	mostSteps   = 200_000 // newest steps that rules are derived from
	mostRules   = 1_000   // a hook reads them, and decodes those about one tool
	longest     = 3       // calls of a context
)

// Rule is one thing to say after a call.
type Rule struct {
	Kind   Kind    `json:"kind"`
	After  string  `json:"after"` // the tool of that call, "" at the beginning of a task; of a repair, the tool that failed
	Tool   string  `json:"tool"`  // that fails, or that worked
	K      int     `json:"k"`     // sessions in which it did
	N      int     `json:"n"`     // sessions with the context
	Bound  float64 `json:"bound"`
	Ahead  bool    `json:"ahead,omitempty"` // a pitfall that is said before the call is made
	First  string  `json:"first,omitempty"` // of a pitfall: the call between that made it work
	FirstK int     `json:"first_k,omitempty"`
	FirstN int     `json:"first_n,omitempty"`
}

// Table is the rules of a history.
type Table struct {
	Version  int    `json:"version"`
	Sessions int    `json:"sessions"`
	Rules    []Rule `json:"rules,omitempty"`
}

const tableVersion = 3

// History is the part of a history that rules are derived from.
type History struct {
	tools    []string
	numbers  map[string]int32
	sessions map[string]int32
	walks    []walk
	steps    int
}

type walk struct {
	session int32
	steps   []step
}

type step struct {
	tool    int32
	outcome episodic.Outcome
}

// NewHistory returns an empty history.
func NewHistory() *History {
	return &History{numbers: map[string]int32{}, sessions: map[string]int32{}}
}

// Add appends an episode; of more than the newest steps the oldest episodes are dropped.
func (h *History) Add(e *episodic.Episode) {
	name := "s" + e.Session
	if e.Session == "" {
		name = "e" + e.ID
	}
	w := walk{session: number(h.sessions, name), steps: make([]step, len(e.Steps))}
	for i := range e.Steps {
		n := number(h.numbers, e.Steps[i].Tool)
		if int(n) == len(h.tools) {
			h.tools = append(h.tools, e.Steps[i].Tool)
		}
		w.steps[i] = step{n, e.Steps[i].Outcome}
	}
	h.walks, h.steps = append(h.walks, w), h.steps+len(w.steps)
	for h.steps > mostSteps && len(h.walks) > 1 {
		h.steps -= len(h.walks[0].steps)
		h.walks = h.walks[1:]
	}
}

func number(numbers map[string]int32, name string) int32 {
	n, ok := numbers[name]
	if !ok {
		n = int32(len(numbers))
		numbers[name] = n
	}
	return n
}

// context is what a rate is about: calls, the newest last, -1 for none, and start for the beginning of a task.
type context struct {
	what  int8
	calls [longest]int32
}

const start = -2

const (
	follows = iota // what comes after this call
	fails          // the last of these calls fails
	repairs        // what works after this call failed
)

type event struct {
	context
	tool int32
}

type trials struct{ n, last int32 }

// counts are the trials and successes of each context, one trial a session: the first.
type counts struct {
	h        *History
	trials   map[context]trials
	hits     map[event]int32
	chain    map[int32]int32 // the most frequent tool after each
	sessions int
}

func at(what int8, calls ...int32) context {
	c := context{what: what, calls: [longest]int32{-1, -1, -1}}
	copy(c.calls[longest-len(calls):], calls)
	return c
}

// try counts a trial of a context, at most one a session, and reports whether it counted.
func (c *counts) try(ctx context, session int32) bool {
	t, ok := c.trials[ctx]
	if ok && t.last == session {
		return false
	}
	c.trials[ctx] = trials{t.n + 1, session}
	return true
}

func (h *History) count() *counts {
	c := &counts{h: h, trials: map[context]trials{}, hits: map[event]int32{}, chain: map[int32]int32{}}
	walks := slices.Clone(h.walks)
	slices.SortStableFunc(walks, func(a, b walk) int { return cmp.Compare(a.session, b.session) })
	next := map[[2]int32]int32{}
	last := int32(-1)
	for _, w := range walks {
		if w.session != last {
			last = w.session
			c.sessions++
		}
		begun := make([]int32, len(w.steps)+1)
		begun[0] = start
		tools := begun[1:]
		for i, s := range w.steps {
			tools[i] = s.tool
			if i > 0 {
				next[[2]int32{tools[i-1], s.tool}]++
			}
		}
		for i := range w.steps {
			c.countAt(w, begun, i)
		}
	}
	best := map[int32]int32{}
	for pair, n := range next {
		if n > best[pair[0]] || n == best[pair[0]] && h.tools[pair[1]] < h.tools[c.chain[pair[0]]] {
			best[pair[0]], c.chain[pair[0]] = n, pair[1]
		}
	}
	return c
}

// countAt counts what follows the call at i, and how that call ended. Before the calls stands the beginning.
func (c *counts) countAt(w walk, begun []int32, i int) {
	tools := begun[1:]
	if ctx := at(follows, tools[i]); c.try(ctx, w.session) && i+1 < len(tools) {
		c.hits[event{ctx, tools[i+1]}]++
	}
	for n := 1; n <= longest && n <= i+2 && w.steps[i].outcome.Known(); n++ {
		if ctx := at(fails, begun[i+2-n:i+2]...); c.try(ctx, w.session) && w.steps[i].outcome == episodic.Failure {
			c.hits[event{ctx, tools[i]}]++
		}
	}
	if w.steps[i].outcome != episodic.Failure {
		return
	}
	if ctx := at(repairs, tools[i]); c.try(ctx, w.session) && i+1 < len(tools) && w.steps[i+1].outcome == episodic.Success {
		c.hits[event{ctx, tools[i+1]}]++
	}
}

// candidate is a rule that may hold, and the probability of its rate if the context made no difference.
type candidate struct {
	e      event
	k, n   int
	chance float64
}

// significant is the largest chance that holds up against the number of candidates (Benjamini and Hochberg): in a
// history without structure any holds with the probability of the guard.
func significant(all []candidate) (level float64) {
	chances := make([]float64, len(all))
	for i, x := range all {
		chances[i] = x.chance
	}
	slices.Sort(chances)
	for i, p := range chances {
		if p <= guard*float64(i+1)/float64(len(all)) {
			level = p
		}
	}
	return level
}

// Derive returns the rules that hold in the history.
func (h *History) Derive() *Table {
	c := h.count()
	t := &Table{Version: tableVersion, Sessions: c.sessions, Rules: []Rule{}}
	tried := map[int8][]candidate{}
	for e, k := range c.hits {
		if x, ok := c.candidate(e, int(k)); ok {
			tried[e.what] = append(tried[e.what], x)
		}
	}
	for _, all := range tried {
		level := significant(all)
		for _, x := range all {
			bound := lowerBound(x.k, x.n, confidence)
			if bound < threshold || x.chance > level {
				continue
			}
			if r, ok := c.rule(x, bound); ok {
				t.Rules = append(t.Rules, r)
			}
		}
	}
	slices.SortFunc(t.Rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(b.Bound, a.Bound), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.After, b.After), cmp.Compare(a.Tool, b.Tool))
	})
	t.Rules = t.Rules[:min(len(t.Rules), mostRules)]
	return t
}

// candidate reports what is known of an event, if it is about enough sessions. Outside its context the rate is that of
// the shortest context less what is in this one.
func (c *counts) candidate(e event, k int) (x candidate, ok bool) {
	n := int(c.trials[e.context].n)
	newest := e.calls[longest-1]
	switch {
	case n < minSessions, e.what == follows, e.what == repairs && c.known(newest, e.tool):
		return x, false
	case e.what == fails && (e.calls[longest-2] == -1 || e.calls[0] != -1):
		return x, false
	}
	wider := e
	wider.context = at(fails, newest)
	if e.what != fails {
		wider.context = at(follows, newest)
	}
	hits, all := max(0, int(c.hits[wider])-k), max(0, int(c.trials[wider.context].n)-n)
	return candidate{e, k, n, tail(k, n, (float64(hits)+0.5)/(float64(max(all, hits))+1))}, true
}

// known reports whether a first-order chain predicts a tool after another.
func (c *counts) known(from, tool int32) bool {
	expected, ok := c.chain[from]
	return ok && expected == tool
}

// plain reports whether a name can be said: nothing in it reads as more than a name. A regular expression would take
// milliseconds to compile, in every hook.
func plain(name string) bool {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_.:/@-", r)
	}
	return name != "" && utf8.RuneCountInString(name) <= 80 && !strings.ContainsFunc(name, odd)
}

// rule makes a rule of a candidate that holds, unless a name in it could be read as more than one.
func (c *counts) rule(x candidate, bound float64) (r Rule, ok bool) {
	r = Rule{Tool: c.h.tools[x.e.tool], K: x.k, N: x.n, Bound: bound}
	after := x.e.calls[longest-1]
	if r.Kind = Repair; x.e.what == fails {
		r.Kind, after = Pitfall, x.e.calls[longest-2]
		r.Ahead = c.known(after, x.e.tool) && lowerBound(x.k, int(c.trials[at(follows, after)].n), confidence) >= threshold
		c.between(&r, after, x.e.tool)
	}
	if after != start {
		r.After = c.h.tools[after]
	}
	return r, plain(r.Tool) && (after == start || plain(r.After))
}

// between finds the call after which one that fails right after another works.
func (c *counts) between(r *Rule, before, failing int32) {
	best := float64(threshold)
	for tool := range int32(len(c.h.tools)) {
		ctx := at(fails, before, tool, failing)
		n := int(c.trials[ctx].n)
		if n < minSessions || !plain(c.h.tools[tool]) {
			continue
		}
		k := n - int(c.hits[event{ctx, failing}])
		if bound := lowerBound(k, n, confidence); bound > best {
			best, r.First, r.FirstK, r.FirstN = bound, c.h.tools[tool], k, n
		}
	}
}
