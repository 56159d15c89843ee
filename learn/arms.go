package learn

import (
	"fmt"
	"slices"
)

// The arms of an experiment: the profile in force, and the one it is compared with.
const (
	FirstArm  = "first"
	SecondArm = "second"
)

// Followed is what became of one answer that was served.
type Followed struct {
	Arm          string   // that answered
	Conversation string   // what became of the answers of one conversation is alike
	Shown        []string // in the order shown
	Traded       int      // the place that changed places with the first; 0: none
	Propensity   float64  // of this order
	Shadow       []string // what the second arm would have shown, where it answers in the shadow
	Target       string   // what was done next
}

// How much data says something.
const (
	leastOutcomes      = 100 // of an arm
	leastConversations = 20
	leastTrades        = 50  // of a place
	leastExamined      = 0.1 // an outcome weighs at most ten times
)

// Arms compares two profiles by what became of their answers.
type Arms struct {
	Question    string        `json:"question"` // next, search or dag
	Arms        []Arm         `json:"arms"`
	Difference  *Difference   `json:"difference"` // of the MRR, second minus first; null without two arms with outcomes
	Verdict     ArmsVerdict   `json:"verdict"`
	Why         string        `json:"why"`         // the verdict in a sentence
	Examination []Examination `json:"examination"` // what a place is worth, as far as trades tell
}

// Arm is how one profile did.
type Arm struct {
	Arm           string `json:"arm"`
	Shadow        bool   `json:"shadow,omitempty"` // judged by what was used of the first arm's answers
	Outcomes      int    `json:"outcomes"`
	Conversations int    `json:"conversations"`
	Enough        bool   `json:"enough"` // false: too few to say anything
	ArmScores            // as it happened
	// Unexplored are the scores as they would be without exploration: outcomes of the arm's own order
	// weigh one over its propensity, others nothing.
	Unexplored *ArmScores `json:"unexplored,omitempty"`
	// Corrected are the same with what was used weighed by one over how far its place is examined; absent
	// where trades do not tell.
	Corrected *ArmScores `json:"corrected,omitempty"`
}

// ArmScores are means over outcomes, with 95 % intervals over conversations drawn again.
type ArmScores struct {
	Hit1      float64             `json:"hit@1"`
	Hit5      float64             `json:"hit@5"`
	MRR       float64             `json:"mrr"`
	CI        map[string]Interval `json:"ci"`
	Effective float64             `json:"effective_outcomes"` // (Σ w)² / Σ w²
}

// ArmsVerdict says which arm is better by more than chance.
type ArmsVerdict string

const (
	NotEnough   ArmsVerdict = "not enough data"
	OneArm      ArmsVerdict = "one profile"
	SecondLeads ArmsVerdict = "second leads"
	SecondEven  ArmsVerdict = "even"
	SecondBack  ArmsVerdict = "second behind"
	Undecided   ArmsVerdict = "cannot be told"
)

// Examination is how far a place is looked at, beside the first.
type Examination struct {
	Place  int     `json:"place"`
	Share  float64 `json:"share"`  // of what would be used in the first place, that is used in this one
	Trades int     `json:"trades"` // answers in which it changed places with the first
}

// CompareArms says how the arms did at one kind of question. The order of the outcomes does not matter
// but for which conversation is drawn when.
func CompareArms(question string, outcomes []Followed) Arms {
	r := Arms{Question: question, Arms: []Arm{}, Examination: examination(outcomes)}
	c := newConversations(outcomes)
	var shadow bool
	second := make([]Followed, 0, len(outcomes))
	for _, f := range outcomes {
		switch {
		case f.Arm == SecondArm:
			second = append(second, f)
		case f.Shadow != nil:
			shadow = true
		}
	}
	if shadow {
		second = second[:0]
		for _, f := range outcomes {
			if f.Arm != SecondArm && f.Shadow != nil {
				second = append(second, f)
			}
		}
	}
	first := slices.DeleteFunc(slices.Clone(outcomes), func(f Followed) bool {
		// With a second arm only what was drawn for the first: other answers are of other questions, as those that
		// name a profile. In the shadow, the same questions.
		return f.Arm == SecondArm || len(second) > 0 && f.Arm == "" || shadow && f.Shadow == nil
	})
	a, aSamples := r.arm(c, FirstArm, first, false)
	r.Arms = append(r.Arms, a)
	if len(second) == 0 {
		r.Verdict, r.Why = OneArm, "only one profile has answered"
		return r
	}
	b, bSamples := r.arm(c, SecondArm, second, shadow)
	r.Arms = append(r.Arms, b)
	d := PairedBootstrap(bSamples, aSamples, 1)
	r.Difference = &d
	r.judge(a, b, d)
	return r
}

func (r *Arms) judge(a, b Arm, d Difference) {
	switch {
	case !a.Enough || !b.Enough:
		r.Verdict = NotEnough
		r.Why = fmt.Sprintf("%d and %d outcomes of %d and %d conversations; at least %d of %d are needed in each arm",
			a.Outcomes, b.Outcomes, a.Conversations, b.Conversations, leastOutcomes, leastConversations)
	case d.Interval[0] > 0:
		r.Verdict, r.Why = SecondLeads, "the interval of the difference lies above 0"
	case b.Shadow && b.Corrected == nil:
		r.Verdict = Undecided
		r.Why = "the second profile was never seen, and what is shown first is used more; without exploration this cannot be told from being worse"
	case d.Interval[1] < 0:
		r.Verdict, r.Why = SecondBack, "the interval of the difference lies below 0"
	default:
		r.Verdict, r.Why = SecondEven, "the interval of the difference contains 0"
	}
}

// arm measures one arm, and gives the samples of reciprocal ranks that the arms are compared by: corrected
// where they can be.
func (r *Arms) arm(c conversations, name string, outcomes []Followed, shadow bool) (Arm, Sample) {
	a := Arm{Arm: name, Shadow: shadow, Outcomes: len(outcomes)}
	seen := map[string]bool{}
	explored := false
	for _, f := range outcomes {
		seen[f.Conversation] = true
		explored = explored || f.Propensity < 1
	}
	a.Conversations = len(seen)
	a.Enough = a.Outcomes >= leastOutcomes && a.Conversations >= leastConversations
	list := func(f Followed) []string {
		if shadow {
			return f.Shadow
		}
		return f.Shown
	}
	var mrr Sample
	a.ArmScores, mrr = c.scores(outcomes, list, func(Followed) float64 { return 1 })
	own := func(f Followed) float64 {
		if f.Traded > 0 {
			return 0
		}
		return 1 / f.Propensity
	}
	if explored {
		s, m := c.scores(outcomes, list, own)
		a.Unexplored, mrr = &s, m
	}
	if len(r.Examination) > 0 {
		s, m := c.scores(outcomes, list, func(f Followed) float64 { return own(f) / r.examined(f) })
		a.Corrected, mrr = &s, m
	}
	return a, mrr
}

// examined is how far the place of what was used had been looked at; what was not shown weighs like the
// last place that is known.
func (r *Arms) examined(f Followed) float64 {
	return Examined(shares(r.Examination), slices.Index(f.Shown, f.Target)+1)
}

func shares(e []Examination) []float64 {
	s := make([]float64, len(e))
	for i := range e {
		s[i] = e[i].Share
	}
	return s
}

// Examined reads a list of shares by place, the first place first: 1 where nothing is known. Place 0,
// which was not shown, and places beyond the list are taken to be its last.
func Examined(shares []float64, place int) float64 {
	if len(shares) == 0 {
		return 1
	}
	if place == 0 {
		place = len(shares)
	}
	return shares[min(place, len(shares))-1]
}

// conversations number what is drawn again.
type conversations map[string]int

func newConversations(outcomes []Followed) conversations {
	c := conversations{}
	for _, f := range outcomes {
		if _, ok := c[f.Conversation]; !ok {
			c[f.Conversation] = len(c)
		}
	}
	return c
}

// scores are weighted means.
func (c conversations) scores(outcomes []Followed, list func(Followed) []string, weight func(Followed) float64) (ArmScores, Sample) {
	metrics := []string{"hit@1", "hit@5", "mrr"}
	s := newSamples(metrics, len(c))
	sum, squares := 0.0, 0.0
	for _, f := range outcomes {
		w, at := weight(f), c[f.Conversation]
		rank := slices.Index(list(f), f.Target) + 1
		for i, v := range []float64{hit(rank, 1), hit(rank, 5), reciprocal(rank)} {
			s[metrics[i]].Sum[at] += float64(w * v)
			s[metrics[i]].Count[at] += w
		}
		sum += w
		squares += float64(w * w)
	}
	out := ArmScores{Hit1: s["hit@1"].Mean(), Hit5: s["hit@5"].Mean(), MRR: s["mrr"].Mean(), CI: map[string]Interval{}}
	if squares > 0 {
		out.Effective = sum * sum / squares
	}
	for i, interval := range Bootstrap([]Sample{s["hit@1"], s["hit@5"], s["mrr"]}, 1) {
		out.CI[metrics[i]] = interval
	}
	return out, s["mrr"]
}

// examination estimates what a place is worth from answers in which two places were traded (Joachims,
// Swaminathan and Schnabel, WSDM 2017): of what would have stood first, as much less is used in place k as
// place k is looked at less. Places without enough trades, and those after them, are left out; with them
// nothing is known, and the list is empty. A place is never worth more than the one before it.
func examination(outcomes []Followed) []Examination {
	type tally struct{ used, all int }
	var traded, untraded [11]tally // by place
	count := func(t *tally, used bool) {
		t.all++
		if used {
			t.used++
		}
	}
	for _, f := range outcomes {
		if f.Propensity >= 1 { // nothing could be traded
			continue
		}
		if k := f.Traded; k > 0 && k < len(traded) && k <= len(f.Shown) {
			count(&traded[k], f.Target == f.Shown[k-1])
		} else if k == 0 {
			for k := 2; k < len(untraded) && k <= len(f.Shown); k++ {
				count(&untraded[k], f.Target == f.Shown[0])
			}
		}
	}
	shares := []Examination{{Place: 1, Share: 1}}
	for k := 2; k < len(traded); k++ {
		t, u := traded[k], untraded[k]
		if t.all < leastTrades || u.all < leastTrades || u.used == 0 {
			break
		}
		share := float64(t.used) * float64(u.all) / (float64(t.all) * float64(u.used))
		share = min(shares[len(shares)-1].Share, max(leastExamined, share))
		shares = append(shares, Examination{Place: k, Share: share, Trades: t.all})
	}
	if len(shares) == 1 {
		return []Examination{}
	}
	return shares
}

// Examine is what places are worth by all outcomes, the first place first; nil where it cannot be told.
func Examine(outcomes []Followed) []float64 {
	if s := shares(examination(outcomes)); len(s) > 0 {
		return s
	}
	return nil
}
