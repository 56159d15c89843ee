package contribution

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"waymark/catalog"
	"waymark/score"
)

// A Session is a list of messages scored together.
type Session struct {
	Contributions []Request `json:"contributions" max:"1000"`
	// Anchors and Context are the defaults of the messages.
	Anchors *Anchors        `json:"anchors,omitempty"`
	Context map[string]bool `json:"context,omitempty"`
}

// A SessionReport is the score of a session.
type SessionReport struct {
	Message       string   `json:"message" doc:"Summary of the answer in one sentence."`
	Contributions []Report `json:"contributions"`

	// Volume is the number of valid deltas of each role.
	Volume map[Role]int `json:"volume"`
	// Quality is the mean composite of these deltas and QualityPercent their mean percent, null if there are none.
	Quality        map[Role]*score.Decimal `json:"quality"`
	QualityPercent map[Role]*score.Decimal `json:"quality_percent"`

	Progression Progression `json:"progression"`
	Convergence Convergence `json:"convergence"`
	// Coverage has the roles that contributed.
	Coverage map[Role]Coverage `json:"coverage"`

	// Gates and Warnings apply to the whole set; each message has its own.
	Gates    []Gate   `json:"gates"`
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
	// Trend is improving, stable, declining or unknown.
	Trend string `json:"trend"`
	// Change is in percent points; it has the roles with valid deltas in two rounds or more.
	Change map[Role]score.Decimal `json:"change"`

	Rounds []Round `json:"rounds"`
}

// A Round aggregates the messages of one round.
type Round struct {
	Round  int `json:"round"`
	Deltas int `json:"deltas"`
	// MeanPercent is null without a valid delta.
	MeanPercent *score.Decimal `json:"mean_percent"`
}

// Convergence reports whether the number of hypotheses fell: more were killed than added.
type Convergence struct {
	Adds       int  `json:"adds"`
	Kills      int  `json:"kills"`
	Converging bool `json:"converging"`
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
	out := SessionReport{Contributions: make([]Report, len(order))}
	var valid deltas
	var rounds []int
	for _, i := range order {
		r := s.Contributions[i]
		r.Round, r.Anchors = cmp.Or(r.Round, i+1), cmp.Or(r.Anchors, s.Anchors)
		if r.Context == nil {
			r.Context = s.Context
		}
		rep, err := scoreMessage(r)
		if err != nil {
			place := fmt.Sprintf("contributions[%d]", i)
			return SessionReport{}, score.Within(place, err)
		}
		out.Contributions[i], rounds = rep, append(rounds, r.Round)
		valid = append(valid, rep.valid()...)
	}
	out.aggregate(valid, slices.Compact(rounds))
	return out, nil
}

// order checks the session and returns the indices of its messages, round by round. If no message names a round, each
// message is a round.
func (s *Session) order() ([]int, error) {
	n := len(s.Contributions)
	if n == 0 {
		return nil, score.Refuse("contributions", "is required")
	}
	if err := score.Check(s); err != nil {
		return nil, err
	}
	round := func(i int) int { return s.Contributions[i].Round }
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return round(i) - round(j) })
	if first := order[0]; round(first) == 0 && round(order[n-1]) > 0 {
		place := fmt.Sprintf("contributions[%d].round", first)
		return nil, score.Refuse(place, "it is missing, though others have one")
	}
	return order, nil
}

// aggregate answers the five questions of the rubric from the valid deltas: volume, quality, progression, convergence
// and coverage. Means are exact fractions, rounded where they are shown.
func (out *SessionReport) aggregate(valid deltas, rounds []int) {
	warn := func(name string, args ...any) {
		out.Warnings = append(out.Warnings, warning(name, args...))
	}
	out.Gates, out.Warnings = valid.incomplete(), valid.sprawl()
	out.Progression = progression(valid, rounds)

	c := &out.Convergence
	c.Adds, c.Kills = valid.count(Add), valid.count(Kill)
	c.Converging = c.Kills > c.Adds
	if len(valid) >= 5 && c.Adds > 0 && !c.Converging {
		warn("not_converging", c.Adds, c.Kills)
	}

	out.Volume, out.Coverage = map[Role]int{}, map[Role]Coverage{}
	out.Quality, out.QualityPercent = map[Role]*score.Decimal{}, map[Role]*score.Decimal{}
	for _, role := range Roles {
		own := valid.of(role)
		out.Volume[role] = len(own)
		out.Quality[role] = rounded(own.mean(composite))
		out.QualityPercent[role] = rounded(own.mean(percent))
		isOf := func(r Report) bool { return r.Role == role }
		if !slices.ContainsFunc(out.Contributions, isOf) {
			continue
		}
		c := coverage(role, own)
		if len(own) > 0 && c.Percent < score.Whole(50) {
			warn("low_operator_coverage", role, c.Percent, listed(c.Missing))
		}
		out.Coverage[role] = c
	}
	if out.Progression.Trend == "declining" {
		warn("declining_quality")
	}
	if valid.has("claims_mechanism") && !valid.has("scale_check") {
		out.Warnings = append(out.Warnings,
			"unverified_claim: mechanisms are claimed, and no message has a scale check")
	}
	out.Message = fmt.Sprintf("%s with %s; quality is %s, %s added and %d killed.",
		catalog.Plural(len(out.Contributions), "contribution"), catalog.Plural(len(valid), "valid delta"),
		out.Progression.Trend, catalog.Plural(c.Adds, "item"), c.Kills)
}

func coverage(role Role, own deltas) (c Coverage) {
	toolkit := tables().Roles[role]
	for _, o := range toolkit {
		if own.has("rationale names " + o) {
			c.Used = append(c.Used, o)
		} else {
			c.Missing = append(c.Missing, o)
		}
	}
	share := big.NewRat(int64(100*len(c.Used)), int64(len(toolkit)))
	c.Percent = score.Round(share, 2)
	return c
}

func progression(valid deltas, rounds []int) Progression {
	p := Progression{Trend: "unknown", Change: map[Role]score.Decimal{}}
	for _, r := range rounds {
		of := valid.in(r)
		p.Rounds = append(p.Rounds, Round{r, len(of), rounded(of.mean(percent))})
	}
	total := new(big.Rat)
	for _, role := range Roles {
		own := valid.of(role)
		var rounds []int
		for _, d := range own {
			rounds = append(rounds, d.round)
		}
		early, late := halves(slices.Compact(rounds))
		if len(early) == 0 {
			continue
		}
		change := own.in(late...).mean(percent)
		change.Sub(change, own.in(early...).mean(percent))
		p.Change[role] = *rounded(change)
		total.Add(total, change)
	}
	// Both the total and the level are multiplied by the number of roles, which saves the division.
	level := big.NewRat(5*int64(len(p.Change)), 1)
	switch {
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

// halves splits ordered rounds into the earlier and the later half, without the middle one of an odd number. A single
// round is late.
func halves(rounds []int) (early, late []int) {
	n := len(rounds)
	return rounds[:n/2], rounds[n-max(n/2, min(n, 1)):]
}

// deltas are some of the deltas of a message or session, in order.
type deltas []*Delta

func (ds deltas) where(keep func(*Delta) bool) (found deltas) {
	for _, d := range ds {
		if keep(d) {
			found = append(found, d)
		}
	}
	return found
}

func (ds deltas) of(role Role) deltas {
	return ds.where(func(d *Delta) bool { return d.role == role })
}

func (ds deltas) in(rounds ...int) deltas {
	return ds.where(func(d *Delta) bool { return slices.Contains(rounds, d.round) })
}

// has reports whether a fact holds for one of them.
func (ds deltas) has(fact string) bool {
	return slices.ContainsFunc(ds, func(d *Delta) bool { return d.facts[fact] != "" })
}

// count returns the number of hypotheses that the deltas add or kill.
func (ds deltas) count(operation string) int {
	return len(ds.where(func(d *Delta) bool {
		return d.Section == hypothesisSlate && d.Operation == operation
	}))
}

// sprawl returns a warning if more than 3 hypotheses are added and none is killed.
func (ds deltas) sprawl() []string {
	if n := ds.count(Add); n > 3 && ds.count(Kill) == 0 {
		return []string{warning("hypothesis_sprawl", n)}
	}
	return nil
}

// incomplete returns the failed gate if hypotheses are added and none is a third alternative.
func (ds deltas) incomplete() []Gate {
	if ds.count(Add) == 0 || ds.has("third_marked") {
		return nil
	}
	const name = "third_alternative_missing"
	const detail = "none of the hypotheses is marked or named as the third alternative"
	return []Gate{{name, tables().Gates[name], 0, 0, detail}}
}

// mean returns the mean of a value, or nil if there are no deltas.
func (ds deltas) mean(value func(*Delta) *big.Rat) *big.Rat {
	var all []*big.Rat
	for _, d := range ds {
		all = append(all, value(d))
	}
	return score.Average(all)
}

func composite(d *Delta) *big.Rat { return d.Composite.Rat() }

func percent(d *Delta) *big.Rat { return d.percent }

// rounded rounds a number to two decimal places for the report.
func rounded(x *big.Rat) *score.Decimal {
	if x == nil {
		return nil
	}
	return new(score.Round(x, 2))
}
