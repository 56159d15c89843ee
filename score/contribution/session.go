package contribution

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"waymark/internal/plural"
	"waymark/score"
)

// maxContributions is how many messages a session may have.
const maxContributions = 1000

// A Session is a list of messages scored together.
type Session struct {
	Contributions []Request `json:"contributions"`
	// Anchors and Context are the defaults of the messages.
	Anchors *Anchors        `json:"anchors,omitempty"`
	Context map[string]bool `json:"context,omitempty"`
}

// A SessionReport is the score of a session.
type SessionReport struct {
	Message       string   `json:"message" doc:"Summary of the answer in one sentence."`
	Contributions []Report `json:"contributions"`

	Volume         map[Role]int            `json:"volume"`          // valid deltas
	Quality        map[Role]*score.Decimal `json:"quality"`         // mean composite; null without a valid delta
	QualityPercent map[Role]*score.Decimal `json:"quality_percent"` // mean percent
	Progression    Progression             `json:"progression"`
	Convergence    Convergence             `json:"convergence"`
	Coverage       map[Role]Coverage       `json:"coverage"` // of the roles that contributed

	Gates    []Gate   `json:"gates"` // of the whole set; those of messages are with them
	Warnings []string `json:"warnings"`
}

// Progression is the trend of quality over the rounds. A role is compared with itself, since the criteria of other
// roles are easier or harder:
//
//	change = mean percent of the later half of its rounds − mean percent of the earlier half
//
// (of an odd number the middle round counts for neither). The trend is the mean change of all roles that have one:
// improving and declining are more than 5 points, which is one level of a criterion of weight 1.
type Progression struct {
	Trend  string                 `json:"trend"`  // improving, stable, declining, unknown
	Change map[Role]score.Decimal `json:"change"` // in percent points; of roles with valid deltas in two rounds or more
	Rounds []Round                `json:"rounds"`
}

// A Round aggregates the messages of one round.
type Round struct {
	Round       int            `json:"round"`
	Deltas      int            `json:"deltas"`       // valid ones
	MeanPercent *score.Decimal `json:"mean_percent"` // null without a valid delta
}

// Convergence reports whether the number of hypotheses fell.
type Convergence struct {
	Adds       int  `json:"adds"`
	Kills      int  `json:"kills"`
	Converging bool `json:"converging"` // more kills than adds by the end
	// Closing counts the later half of the rounds alone.
	Closing struct {
		Adds  int `json:"adds"`
		Kills int `json:"kills"`
	} `json:"closing"`
}

// Coverage lists the operators of its toolkit that a role invoked.
type Coverage struct {
	Used    []string      `json:"used"`
	Missing []string      `json:"missing"`
	Percent score.Decimal `json:"percent"`
}

// ScoreSession scores many messages and aggregates them.
func ScoreSession(s Session) (SessionReport, error) {
	order, err := s.order()
	if err != nil {
		return SessionReport{}, err
	}
	out := SessionReport{
		Contributions: make([]Report, len(order)), Gates: []Gate{}, Warnings: []string{}, Coverage: map[Role]Coverage{},
		Volume: map[Role]int{}, Quality: map[Role]*score.Decimal{}, QualityPercent: map[Role]*score.Decimal{},
	}
	var valid []Delta
	var rounds []int
	for _, i := range order {
		r := s.Contributions[i]
		r.Round, r.Anchors = cmp.Or(r.Round, i+1), cmp.Or(r.Anchors, s.Anchors)
		if r.Context == nil {
			r.Context = s.Context
		}
		rep, err := scoreMessage(r)
		if err != nil {
			return SessionReport{}, score.Within(fmt.Sprintf("contributions[%d]", i), err)
		}
		out.Contributions[i], rounds = rep, append(rounds, r.Round)
		valid = append(valid, where(rep.Deltas, Delta.isValid)...)
	}
	slices.Sort(rounds)
	out.aggregate(valid, slices.Compact(rounds))
	return out, nil
}

// order checks the session and returns the places of its messages, round by round. If no message names its round, each
// is one.
func (s *Session) order() ([]int, error) {
	if n := len(s.Contributions); n == 0 || n > maxContributions {
		return nil, score.Refuse("contributions", "%d are not 1 to %d", n, maxContributions)
	}
	if err := s.Anchors.check(); err != nil {
		return nil, err
	}
	named := slices.ContainsFunc(s.Contributions, func(r Request) bool { return r.Round != 0 })
	order := make([]int, len(s.Contributions))
	for i, r := range s.Contributions {
		order[i] = i
		if named && r.Round == 0 {
			return nil, score.Refuse(fmt.Sprintf("contributions[%d].round", i), "it is missing, though others have one")
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return s.Contributions[i].Round - s.Contributions[j].Round })
	return order, nil
}

// aggregate answers the five questions of the rubric from the valid deltas: volume, quality, progression, convergence
// and coverage. Means are exact fractions, rounded where they are shown.
func (out *SessionReport) aggregate(valid []Delta, rounds []int) {
	warn := func(format string, args ...any) { out.Warnings = append(out.Warnings, fmt.Sprintf(format, args...)) }
	out.Gates = append(out.Gates, incompleteSet(valid)...)
	out.Warnings = append(out.Warnings, sprawl(valid)...)
	out.Progression = progression(valid, rounds)

	c := &out.Convergence
	c.Adds, c.Kills = count(valid, Add), count(valid, Kill)
	c.Converging = c.Kills > c.Adds
	_, late := halves(rounds)
	closing := during(valid, late)
	c.Closing.Adds, c.Closing.Kills = count(closing, Add), count(closing, Kill)
	if len(valid) >= 5 && c.Adds > 0 && !c.Converging {
		warn("not_converging: %d hypotheses were added and %d killed", c.Adds, c.Kills)
	}
	for _, role := range Roles {
		own := ofRole(valid, role)
		out.Volume[role] = len(own)
		out.Quality[role], out.QualityPercent[role] = rounded(mean(own, Delta.composite)), rounded(mean(own, Delta.percent))
		if !slices.ContainsFunc(out.Contributions, func(r Report) bool { return r.Role == role }) {
			continue
		}
		out.Coverage[role] = coverage(role, own)
		if c := out.Coverage[role]; len(own) > 0 && c.Percent < score.Whole(50) {
			warn("low_operator_coverage: %s named %v%% of its operators; missing %s", role, c.Percent, listed(c.Missing))
		}
	}
	if out.Progression.Trend == "declining" {
		warn("declining_quality: the later rounds score lower than the earlier ones")
	}
	if anyHas(valid, "claims_mechanism") && !anyHas(valid, "scale_check") {
		warn("unverified_claim: mechanisms are claimed, and no message has a scale check")
	}
	out.Message = fmt.Sprintf("%s with %s; quality is %s, %s added and %d killed.",
		plural.Of(len(out.Contributions), "contribution"), plural.Of(len(valid), "valid delta"),
		out.Progression.Trend, plural.Of(c.Adds, "item"), c.Kills)
}

func coverage(role Role, own []Delta) Coverage {
	c, toolkit := Coverage{Used: []string{}, Missing: []string{}}, tables().Roles[role]
	for _, o := range toolkit {
		if slices.ContainsFunc(own, func(d Delta) bool { return slices.Contains(d.Operators, o) }) {
			c.Used = append(c.Used, o)
		} else {
			c.Missing = append(c.Missing, o)
		}
	}
	c.Percent = *rounded(big.NewRat(int64(100*len(c.Used)), int64(len(toolkit))))
	return c
}

func progression(valid []Delta, rounds []int) Progression {
	p := Progression{Trend: "unknown", Change: map[Role]score.Decimal{}}
	for _, r := range rounds {
		of := during(valid, []int{r})
		p.Rounds = append(p.Rounds, Round{r, len(of), rounded(mean(of, Delta.percent))})
	}
	total := new(big.Rat)
	for _, role := range Roles {
		own := ofRole(valid, role)
		rounds := slices.DeleteFunc(slices.Clone(rounds), func(r int) bool { return len(during(own, []int{r})) == 0 })
		if early, late := halves(rounds); len(early) > 0 {
			change := mean(during(own, late), Delta.percent)
			change.Sub(change, mean(during(own, early), Delta.percent))
			p.Change[role] = *rounded(change)
			total.Add(total, change)
		}
	}
	switch level := big.NewRat(5*int64(len(p.Change)), 1); { // of the total, which is the mean times the number of roles
	case len(p.Change) == 0:
	case total.Cmp(level) > 0:
		p.Trend = "improving"
	case total.Cmp(level.Neg(level)) < 0:
		p.Trend = "declining"
	default:
		p.Trend = "stable"
	}
	return p
}

// halves are the early and the late ones of some rounds in order. A single one is late.
func halves(rounds []int) (early, late []int) {
	n := len(rounds)
	return rounds[:n/2], rounds[n-max(n/2, min(n, 1)):]
}

func where(deltas []Delta, keep func(Delta) bool) []Delta {
	return slices.DeleteFunc(slices.Clone(deltas), func(d Delta) bool { return !keep(d) })
}

func ofRole(deltas []Delta, role Role) []Delta {
	return where(deltas, func(d Delta) bool { return d.role == role })
}

func during(deltas []Delta, rounds []int) []Delta {
	return where(deltas, func(d Delta) bool { return slices.Contains(rounds, d.round) })
}

// anyHas reports whether a fact holds for one of some deltas.
func anyHas(deltas []Delta, fact string) bool {
	return slices.ContainsFunc(deltas, func(d Delta) bool { return d.facts[fact] != "" })
}

func (d Delta) isValid() bool { return d.Valid }

func (d Delta) composite() *big.Rat { return d.Composite.Rat() }

func (d Delta) percent() *big.Rat {
	return new(big.Rat).Mul(big.NewRat(100, 1), new(big.Rat).Quo(d.Composite.Rat(), d.Max.Rat()))
}

// mean is the mean of a value over some deltas, nil if there are none.
func mean(deltas []Delta, value func(Delta) *big.Rat) *big.Rat {
	if len(deltas) == 0 {
		return nil
	}
	sum := new(big.Rat)
	for _, d := range deltas {
		sum.Add(sum, value(d))
	}
	return sum.Quo(sum, big.NewRat(int64(len(deltas)), 1))
}

// rounded is a mean as it is shown.
func rounded(x *big.Rat) *score.Decimal {
	if x == nil {
		return nil
	}
	return new(score.Round(x, 2))
}
