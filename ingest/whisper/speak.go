package whisper

import (
	"fmt"

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
	if r.Kind == Repair {
		return fmt.Sprintf("Waymark: where %s failed here, %s came next and worked %d of %d times.", r.After, r.Tool, r.K, r.N)
	}
	where, between := "right after "+r.After, " in between"
	if r.After == "" {
		where, between = "as the first call", ""
	}
	line := fmt.Sprintf("Waymark: %s failed %d of %d times here %s", r.Tool, r.K, r.N, where)
	if r.First != "" {
		line += fmt.Sprintf("; after %s%s it worked %d of %d times", r.First, between, r.FirstK, r.FirstN)
	}
	return line + "."
}

// Tokens is an upper estimate of the tokens of a line: a token of English has about four bytes, one of a name three.
func Tokens(line string) int { return (len(line) + 2) / 3 }

// key names what a rule says.
func (r *Rule) key() string { return string(r.Kind) + " " + r.After + " " + r.Tool }

// choose finds what is said after a call: before the call of a tool or, if that is "", at once. Rules for which free is
// false are not said. A pitfall is said before a repair.
func (t *Table) choose(last Call, before string, free func(*Rule) bool) (best *Rule) {
	for i := range t.Rules {
		r := &t.Rules[i]
		applies := r.Kind == Repair && last.Outcome == episodic.Failure
		switch {
		case r.After != last.Tool:
			continue
		case before != "":
			applies = r.Kind == Pitfall && r.Tool == before
		case r.Kind == Pitfall:
			applies = r.Ahead
		}
		better := best == nil || r.Kind == Pitfall && best.Kind == Repair || r.Kind == best.Kind && r.Bound > best.Bound
		if applies && better && free(r) {
			best = r
		}
	}
	return best
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
