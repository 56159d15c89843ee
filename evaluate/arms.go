package evaluate

import (
	"fmt"
	"slices"
)

// The arms of an experiment: the active profile, and the profile that it is compared with.
const (
	FirstArm  = "first"
	SecondArm = "second"
)

// Followed is the outcome of one answer that was served.
type Followed struct {
	Arm          string   // that answered; "" if none was drawn
	Conversation string   // outcomes of one conversation are alike and are drawn together
	Shown        []string // in the order shown
	Target       string   // the tool that was used next
}

// The least data that a verdict needs.
const (
	leastOutcomes      = 100 // of an arm
	leastConversations = 20
)

// Arms compares two profiles by the outcomes of their answers.
type Arms struct {
	Question   string      `json:"question"` // next, search or dag
	Arms       []Arm       `json:"arms"`
	Difference *Difference `json:"difference"` // of the MRR, second minus first; null without two arms with outcomes
	Verdict    ArmsVerdict `json:"verdict"`
	Why        string      `json:"why"` // the verdict in a sentence
}

// Arm holds the scores of one profile: means over outcomes, with 95 % intervals over conversations drawn again.
type Arm struct {
	Arm           string              `json:"arm"`
	Outcomes      int                 `json:"outcomes"`
	Conversations int                 `json:"conversations"`
	Enough        bool                `json:"enough"` // false: too few for a verdict
	Hit1          float64             `json:"hit@1"`
	Hit5          float64             `json:"hit@5"`
	MRR           float64             `json:"mrr"`
	CI            map[string]Interval `json:"ci"`
}

// ArmsVerdict names the arm that is better by more than chance.
type ArmsVerdict string

const (
	notEnough   ArmsVerdict = "not enough data"
	oneArm      ArmsVerdict = "one profile"
	secondLeads ArmsVerdict = "second leads"
	secondEven  ArmsVerdict = "even"
	SecondBack  ArmsVerdict = "second behind"
)

// CompareArms scores the arms of one kind of question. The order of the outcomes only decides which conversation is
// drawn when.
func CompareArms(question string, outcomes []Followed) Arms {
	r := Arms{Question: question, Arms: []Arm{}}
	c := newConversations(outcomes)
	var first, second []Followed
	for _, f := range outcomes {
		if f.Arm == SecondArm {
			second = append(second, f)
		}
	}
	for _, f := range outcomes {
		// With a second arm only answers drawn for the first count: others are of other questions, as those that name a
		// profile.
		if f.Arm == FirstArm || f.Arm == "" && len(second) == 0 {
			first = append(first, f)
		}
	}
	a, aSamples := c.arm(FirstArm, first)
	r.Arms = append(r.Arms, a)
	if len(second) == 0 {
		r.Verdict, r.Why = oneArm, "only one profile has answered"
		return r
	}
	b, bSamples := c.arm(SecondArm, second)
	r.Arms = append(r.Arms, b)
	d := PairedBootstrap(bSamples, aSamples, 1)
	r.Difference = &d
	switch {
	case !a.Enough || !b.Enough:
		r.Verdict = notEnough
		r.Why = fmt.Sprintf("%d and %d outcomes of %d and %d conversations; at least %d of %d are needed in each arm",
			a.Outcomes, b.Outcomes, a.Conversations, b.Conversations, leastOutcomes, leastConversations)
	case d.Interval[0] > 0:
		r.Verdict, r.Why = secondLeads, "the interval of the difference lies above 0"
	case d.Interval[1] < 0:
		r.Verdict, r.Why = SecondBack, "the interval of the difference lies below 0"
	default:
		r.Verdict, r.Why = secondEven, "the interval of the difference contains 0"
	}
	return r
}

// conversations numbers the units of the bootstrap.
type conversations map[string]int

// newConversations numbers them in order of appearance, so that equal outcomes draw equal replicates.
func newConversations(outcomes []Followed) conversations {
	c := conversations{}
	for _, f := range outcomes {
		if _, ok := c[f.Conversation]; !ok {
			c[f.Conversation] = len(c)
		}
	}
	return c
}

// arm scores one arm and returns its reciprocal ranks by conversation.
func (c conversations) arm(name string, outcomes []Followed) (Arm, Sample) {
	metrics := []string{"hit@1", "hit@5", "mrr"}
	s := newSamples(metrics, len(c))
	seen := map[string]bool{}
	for _, f := range outcomes {
		seen[f.Conversation] = true
		at, rank := c[f.Conversation], slices.Index(f.Shown, f.Target)+1
		for i, v := range []float64{hit(rank, 1), hit(rank, 5), reciprocal(rank)} {
			s[metrics[i]].Sum[at] += v
			s[metrics[i]].Count[at]++
		}
	}
	a := Arm{Arm: name, Outcomes: len(outcomes), Conversations: len(seen), CI: map[string]Interval{},
		Hit1: s["hit@1"].Mean(), Hit5: s["hit@5"].Mean(), MRR: s["mrr"].Mean()}
	a.Enough = a.Outcomes >= leastOutcomes && a.Conversations >= leastConversations
	for i, interval := range bootstrap([]Sample{s["hit@1"], s["hit@5"], s["mrr"]}, 1) {
		a.CI[metrics[i]] = interval
	}
	return a, s["mrr"]
}
