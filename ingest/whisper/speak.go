package whisper

import (
	"fmt"
	"slices"

	"waymark/episodic"
)

// Budget is what is said in a session at most, in tokens.
const Budget = 120

// Call is one of a session that is over.
type Call struct {
	Tool    string
	Outcome episodic.Outcome
}

// Line is the sentence of a rule.
func (r *Rule) Line() string {
	last := r.Context[len(r.Context)-1]
	switch r.Kind {
	case Pitfall:
		where, between := "right after "+last, " in between"
		if last == "" {
			where, between = "as the first call", ""
		}
		line := fmt.Sprintf("Waymark: %s failed %d of %d times here %s", r.Tool, r.K, r.N, where)
		if r.First != "" {
			line += fmt.Sprintf("; after %s%s it worked %d of %d times", r.First, between, r.FirstK, r.FirstN)
		}
		return line + "."
	case Repair:
		return fmt.Sprintf("Waymark: where %s failed here, %s came next and worked %d of %d times.", last, r.Tool, r.K, r.N)
	}
	if r.Apart {
		return fmt.Sprintf("Waymark: here %s followed %d of %d times after %s with %s a few calls before.", r.Tool, r.K, r.N, last, r.Context[0])
	}
	return fmt.Sprintf("Waymark: here %s followed %d of %d times after %s.", r.Tool, r.K, r.N, joined(r.Context))
}

func joined(names []string) (s string) {
	for i, name := range names {
		if i > 0 {
			s += ", "
		}
		s += name
	}
	return s
}

// Tokens is an upper estimate of the tokens of a line: a token of English has about four bytes, one of a name three.
func Tokens(line string) int { return (len(line) + 2) / 3 }

// key names what a rule says. Rules of different contexts that say the same of a tool are one line.
func (r *Rule) key() string {
	if r.Kind == Seldom {
		return string(r.Kind) + " " + r.Tool
	}
	return string(r.Kind) + " " + joined(r.Context) + " " + r.Tool
}

// rank is the order in which kinds are said.
var rank = map[Kind]int{Pitfall: 0, Repair: 1, Seldom: 2}

// index is the rules by the newest call of their context.
type index map[string][]*Rule

func (t *Table) index() index {
	x := index{}
	for i := range t.Rules {
		r := &t.Rules[i]
		if n := len(r.Context); n > 0 && n <= longest {
			x[r.Context[n-1]] = append(x[r.Context[n-1]], r)
		}
	}
	return x
}

// choose finds what is said after the calls of a turn: before the call of a tool or, if that is "", after the last
// call. Rules for which free is false are not said.
func (x index) choose(calls []Call, before string, free func(*Rule) bool) (best *Rule) {
	last := Call{}
	if len(calls) > 0 {
		last = calls[len(calls)-1]
	}
	for _, r := range x[last.Tool] {
		var applies bool
		switch {
		case before != "":
			applies = r.Kind == Pitfall && r.Tool == before
		case r.Kind == Repair:
			applies = last.Outcome == episodic.Failure
		case r.Kind == Pitfall:
			applies = r.Ahead
		case r.Kind == Seldom:
			applies = r.matches(calls)
		}
		if applies && (best == nil || better(r, best)) && free(r) {
			best = r
		}
	}
	return best
}

func better(a, b *Rule) bool {
	if rank[a.Kind] != rank[b.Kind] {
		return rank[a.Kind] < rank[b.Kind]
	}
	return a.Bound > b.Bound
}

// matches reports whether calls, the last of which is the last of the context, end with the context.
func (r *Rule) matches(calls []Call) bool {
	of := func(c Call, tool string) bool { return c.Tool == tool }
	if r.Apart {
		between := calls[max(0, len(calls)-window):max(0, len(calls)-2)]
		return slices.ContainsFunc(between, func(c Call) bool { return of(c, r.Context[0]) })
	}
	n := len(r.Context)
	return len(calls) >= n && slices.EqualFunc(calls[len(calls)-n:], r.Context, of)
}

// session is what was said in one.
type session struct {
	said   map[string]bool
	tokens int
}

// free reports whether a rule was not said yet and fits the budget.
func (s *session) free(r *Rule) bool {
	return !s.said[r.key()] && s.tokens+Tokens(r.Line()) <= Budget
}

func (s *session) say(r *Rule) {
	s.said[r.key()] = true
	s.tokens += Tokens(r.Line())
}
