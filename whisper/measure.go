package whisper

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"waymark/episodic"
)

// Report is how lines did on sessions that the rules were not derived from. Nobody heard them there.
type Report struct {
	Rules         int          `json:"rules"`
	Sessions      int          `json:"sessions"`
	Turns         int          `json:"turns"`          // calls after which a line could have been said
	Lines         int          `json:"lines"`          // that were said
	Right         int          `json:"right"`          // of them: what they said happened
	Unknown       int          `json:"unknown"`        // of them: about a call whose outcome is not known; not judged
	Judged        int          `json:"judged"`         // other lines where the first-order chain was wrong, or its call had failed before
	JudgedRight   int          `json:"judged_right"`   // of them: right
	Hard          int          `json:"hard"`           // turns where the chain was wrong, or its call had failed before
	Kinds         map[Kind]int `json:"kinds"`          // lines of each kind
	KindsRight    map[Kind]int `json:"kinds_right"`    // of them: right
	Tokens        int          `json:"tokens"`         // of all lines
	MostTokens    int          `json:"most_tokens"`    // in one session
	Shuffled      int          `json:"shuffled_lines"` // lines with rules of a shuffled history, said in shuffled sessions
	ShuffledTurns int          `json:"shuffled_turns"`
}

// Precision is the share of the judged lines that were right, and whether there were any.
func (r *Report) Precision() (float64, bool) { return share(r.JudgedRight, r.Judged) }

// Recall is the share of the hard turns at which a line was right.
func (r *Report) Recall() (float64, bool) { return share(r.JudgedRight, r.Hard) }

// Spoken is the share of turns with a line.
func (r *Report) Spoken() (float64, bool) { return share(r.Lines, r.Turns) }

// ShuffledSpoken is the share of turns with a line in a shuffled history.
func (r *Report) ShuffledSpoken() (float64, bool) { return share(r.Shuffled, r.ShuffledTurns) }

func share(k, n int) (float64, bool) {
	if n == 0 {
		return 0, false
	}
	return float64(k) / float64(n), true
}

// Measure derives rules from one part of a history and counts how they do on another, and again with the calls of each
// part shuffled.
func Measure(train, test []episodic.Episode, seed uint64) *Report {
	past, rest := historyOf(train), historyOf(test)
	r := &Report{Kinds: map[Kind]int{Pitfall: 0, Repair: 0, Seldom: 0}, KindsRight: map[Kind]int{Pitfall: 0, Repair: 0, Seldom: 0}}
	past.replay(rest, r)
	mixed := &Report{Kinds: map[Kind]int{}, KindsRight: map[Kind]int{}}
	past.shuffled(seed).replay(rest.shuffled(seed+1), mixed)
	r.Shuffled, r.ShuffledTurns = mixed.Lines, mixed.Turns
	return r
}

func historyOf(episodes []episodic.Episode) *History {
	h := NewHistory()
	for i := range episodes {
		h.Add(&episodes[i])
	}
	return h
}

// shuffled is the history with all calls, and their outcomes, in other places.
func (h *History) shuffled(seed uint64) *History {
	all := make([]step, 0, h.steps)
	for _, w := range h.walks {
		all = append(all, w.steps...)
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	mixed := *h
	mixed.walks = nil
	for _, w := range h.walks {
		mixed.walks = append(mixed.walks, walk{w.session, all[:len(w.steps):len(w.steps)]})
		all = all[len(w.steps):]
	}
	return &mixed
}

// replay says what the rules of a history say in the sessions of another.
func (h *History) replay(test *History, r *Report) {
	table := h.Derive()
	rules, chain := table.index(), h.expected()
	r.Rules = len(table.Rules)
	walks := slices.Clone(test.walks)
	slices.SortStableFunc(walks, func(a, b walk) int { return cmp.Compare(a.session, b.session) })
	var s *session
	var failed map[string]bool // calls of this session that failed
	for i, w := range walks {
		if i == 0 || w.session != walks[i-1].session {
			s, failed = &session{said: map[string]bool{}}, map[string]bool{}
			r.Sessions++
		}
		var calls []Call
		for _, x := range w.steps {
			calls = append(calls, Call{test.tools[x.tool], x.outcome})
		}
		for i := -1; i < len(calls); i++ {
			r.turn(rules, chain, s, calls, i, failed)
		}
		r.MostTokens = max(r.MostTokens, s.tokens)
	}
}

// turn is the time between the call at i and the next one: first nothing is known of that, then its tool. At the
// beginning of a task no chain predicts anything, so that it counts only where something is said.
func (r *Report) turn(rules index, chain map[string]string, s *session, calls []Call, i int, failed map[string]bool) {
	last := Call{}
	if i >= 0 {
		last = calls[i]
	}
	if last.Outcome == episodic.Failure {
		failed[last.Tool] = true
	}
	next := Call{}
	if i+1 < len(calls) {
		next = calls[i+1]
	}
	expected := chain[last.Tool]
	hard := expected != next.Tool || failed[expected]
	rule := rules.choose(calls[:i+1], "", s.free)
	if rule == nil && next.Tool != "" {
		rule = rules.choose(calls[:i+1], next.Tool, s.free)
	}
	if i < 0 && rule == nil {
		return
	}
	r.Turns++
	if rule != nil && rule.Kind == Pitfall {
		hard = true // the predicted call failed here before
	}
	if hard {
		r.Hard++
	}
	if rule == nil {
		return
	}
	s.say(rule)
	right := next.Tool == rule.Tool && (rule.Kind == Seldom || (next.Outcome == episodic.Failure) == (rule.Kind == Pitfall) && next.Outcome.Known())
	r.Lines++
	r.Kinds[rule.Kind]++
	r.KindsRight[rule.Kind] += one(right)
	r.Tokens += Tokens(rule.Line())
	if rule.Kind != Seldom && next.Tool == rule.Tool && !next.Outcome.Known() {
		r.Unknown++
		return
	}
	r.Right += one(right)
	r.Judged += one(hard)
	r.JudgedRight += one(hard && right)
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// expected is what a first-order chain predicts after each tool.
func (h *History) expected() map[string]string {
	chain := map[string]string{}
	for from, to := range h.count().chain {
		chain[h.tools[from]] = h.tools[to]
	}
	return chain
}
