package contribution

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"waymark/score/rubric"
)

// Limits of one session.
const (
	maxContributions = 1000
	maxSessionDeltas = 10_000
	maxSessionText   = 4 << 20 // bytes
)

// A Session is a list of messages scored together.
type Session struct {
	Contributions []Request `json:"contributions"`
	// Anchors and Context are the defaults of the messages.
	Anchors *Anchors        `json:"anchors,omitempty"`
	Context map[string]bool `json:"context,omitempty"`
	// Artifact is the initial artifact. Messages of a session have none of their own.
	Artifact *Artifact `json:"artifact,omitempty"`
}

// A SessionReport is the score of a session.
type SessionReport struct {
	Contributions []Report `json:"contributions"`

	Volume         map[Role]int             `json:"volume"`          // valid deltas
	Quality        map[Role]*rubric.Decimal `json:"quality"`         // mean composite; null without a valid delta
	QualityPercent map[Role]*rubric.Decimal `json:"quality_percent"` // mean percent
	Progression    Progression              `json:"progression"`
	Convergence    Convergence              `json:"convergence"`
	Coverage       map[Role]Coverage        `json:"coverage"` // of the roles that contributed

	Gates    []Gate   `json:"gates"` // of the whole set; those of messages are with them
	Warnings []string `json:"warnings"`
}

// Progression is the trend of quality over the rounds. The trend compares the mean percent of the later
// half of the rounds with that of the earlier half (of an odd number the middle one counts for neither):
// improving and declining are more than 5 points, which is one level of a criterion of weight 1.
type Progression struct {
	Trend  string  `json:"trend"` // improving, stable, declining, unknown
	Rounds []Round `json:"rounds"`
}

// A Round aggregates the messages of one round.
type Round struct {
	Round       int             `json:"round"`
	Deltas      int             `json:"deltas"`       // valid ones
	MeanPercent *rubric.Decimal `json:"mean_percent"` // null without a valid delta
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
	Active *int `json:"active"` // hypotheses at the end; null without an artifact
}

// Coverage lists the operators of its toolkit that a role invoked.
type Coverage struct {
	Used    []string       `json:"used"`
	Missing []string       `json:"missing"`
	Percent rubric.Decimal `json:"percent"`
}

// ScoreSession scores many messages and aggregates them.
func ScoreSession(s Session) (SessionReport, error) {
	rounds, err := s.check()
	if err != nil {
		return SessionReport{}, err
	}
	var shared *Artifact
	if s.Artifact != nil {
		shared = new(cloned(*s.Artifact))
	}
	out := SessionReport{Contributions: make([]Report, len(s.Contributions)), Gates: []Gate{}, Warnings: []string{}}
	sum := summary{rounds: rounds}
	for _, i := range inOrder(rounds) {
		r := s.Contributions[i]
		r.Round = rounds[i]
		if r.Anchors == nil {
			r.Anchors = s.Anchors
		}
		if r.Context == nil {
			r.Context = s.Context
		}
		m, err := open(r, shared)
		if err != nil {
			return SessionReport{}, rubric.Within(fmt.Sprintf("contributions[%d]", i), err)
		}
		if out.Contributions[i], err = m.report(); err != nil {
			return SessionReport{}, rubric.Within(fmt.Sprintf("contributions[%d]", i), err)
		}
		sum.add(m, out.Contributions[i])
		if len(sum.deltas) > maxSessionDeltas {
			return SessionReport{}, rubric.Refuse("contributions", "they have more than %d deltas", maxSessionDeltas)
		}
	}
	sum.fill(&out, shared)
	return out, nil
}

// check looks at the session and gives each message its round: the one it names, or, if none does, its place.
func (s *Session) check() ([]int, error) {
	if n := len(s.Contributions); n == 0 || n > maxContributions {
		return nil, rubric.Refuse("contributions", "%d are not 1 to %d", n, maxContributions)
	}
	if err := cmp.Or(s.Anchors.check(), s.Artifact.check()); err != nil {
		return nil, err
	}
	rounds, named, bytes := make([]int, len(s.Contributions)), 0, 0
	for i, r := range s.Contributions {
		rounds[i] = i + 1
		if r.Round != 0 {
			rounds[i], named = r.Round, named+1
		}
		if r.Artifact != nil {
			return nil, rubric.Refuse(fmt.Sprintf("contributions[%d].artifact", i), "a session has one artifact for all its messages")
		}
		if bytes += len(r.Text); bytes > maxSessionText {
			return nil, rubric.Refuse("contributions", "their texts have more than %d bytes", maxSessionText)
		}
	}
	if named != 0 && named != len(rounds) {
		for i, r := range s.Contributions {
			if r.Round == 0 {
				return nil, rubric.Refuse(fmt.Sprintf("contributions[%d].round", i), "it is missing, though others have one")
			}
		}
	}
	return rounds, nil
}

// inOrder are the places of the messages, round by round.
func inOrder(rounds []int) []int {
	order := make([]int, len(rounds))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(rounds[i], rounds[j]) })
	return order
}

// A summary aggregates messages.
type summary struct {
	rounds     []int
	deltas     []Delta
	roles      map[Role]*means
	byRound    map[int]*means
	tallies    map[int]tally
	operators  map[Role][]string
	mechanism  bool
	scaleCheck bool
}

// means are sums of composites and percents.
type means struct {
	n                  int
	composite, percent big.Rat
}

func (m *means) add(s Scored) {
	m.n++
	m.composite.Add(&m.composite, s.Composite.Rat())
	p := s.Composite.Rat()
	m.percent.Add(&m.percent, p.Mul(p.Quo(p, s.Max.Rat()), big.NewRat(100, 1)))
}

func (m *means) of(sum *big.Rat) *rubric.Decimal {
	if m == nil || m.n == 0 {
		return nil
	}
	return new(rubric.RoundHalfUp(new(big.Rat).Quo(sum, big.NewRat(int64(m.n), 1)), 2))
}

func at[K comparable, V any](m *map[K]*V, key K) *V {
	if *m == nil {
		*m = map[K]*V{}
	}
	if (*m)[key] == nil {
		(*m)[key] = new(V)
	}
	return (*m)[key]
}

func (s *summary) add(m *message, rep Report) {
	if s.tallies == nil {
		s.tallies, s.operators = map[int]tally{}, map[Role][]string{}
	}
	s.deltas = append(s.deltas, m.deltas...)
	t, more := s.tallies[m.Round], count(m.deltas)
	s.tallies[m.Round] = tally{t.adds + more.adds, t.kills + more.kills}
	role, round := at(&s.roles, m.Role), at(&s.byRound, m.Round)
	s.operators[m.Role] = append(s.operators[m.Role], []string{}...)
	for i, scored := range rep.Deltas {
		d := &m.deltas[i]
		if !scored.Valid {
			continue
		}
		role.add(scored)
		round.add(scored)
		s.operators[m.Role] = append(s.operators[m.Role], scored.Operators...)
		s.mechanism = s.mechanism || d.claimsMechanism()
		s.scaleCheck = s.scaleCheck || scaleCheck(d).score > 0
	}
}

func (s *summary) fill(out *SessionReport, after *Artifact) {
	out.Volume, out.Quality, out.QualityPercent = map[Role]int{}, map[Role]*rubric.Decimal{}, map[Role]*rubric.Decimal{}
	out.Coverage = map[Role]Coverage{}
	valid := 0
	for _, role := range Roles {
		m := s.roles[role]
		out.Volume[role], out.Quality[role], out.QualityPercent[role] = 0, nil, nil
		if m == nil {
			continue
		}
		valid += m.n
		out.Volume[role], out.Quality[role], out.QualityPercent[role] = m.n, m.of(&m.composite), m.of(&m.percent)
		out.Coverage[role] = coverage(role, s.operators[role])
	}
	total := s.converge(out, after)
	s.progress(out)
	if g, incomplete := thirdGate(after, s.deltas); incomplete {
		out.Gates = append(out.Gates, g)
	}
	warn := func(format string, args ...any) { out.Warnings = append(out.Warnings, fmt.Sprintf(format, args...)) }
	out.Warnings = append(out.Warnings, sprawl(total)...)
	if valid >= 5 && total.adds > 0 && !out.Convergence.Converging {
		warn("%s: %d hypotheses were added and %d killed", warnNotConverged, total.adds, total.kills)
	}
	for _, role := range Roles {
		if c, ok := out.Coverage[role]; ok && out.Volume[role] > 0 && c.Percent < rubric.Whole(50) {
			warn("%s: %s named %v%% of its operators; missing %s", warnCoverage, role, c.Percent, listed(c.Missing))
		}
	}
	if out.Progression.Trend == "declining" {
		warn("%s: the later rounds score lower than the earlier ones", warnDeclining)
	}
	if s.mechanism && !s.scaleCheck && !after.hasScaleCheck() {
		warn("%s: mechanisms are claimed, and no message has a scale check", warnUnverified)
	}
}

func coverage(role Role, named []string) Coverage {
	c := Coverage{Used: []string{}, Missing: []string{}}
	for _, o := range tables().Roles[role].Operators {
		if slices.Contains(named, o) {
			c.Used = append(c.Used, o)
		} else {
			c.Missing = append(c.Missing, o)
		}
	}
	c.Percent = rubric.RoundHalfUp(big.NewRat(int64(100*len(c.Used)), int64(len(tables().Roles[role].Operators))), 2)
	return c
}

// halves are the rounds that come early and late.
func (s *summary) halves() (early, late []int) {
	rounds := slices.Sorted(maps.Keys(s.tallies))
	h := len(rounds) / 2
	return rounds[:h], rounds[len(rounds)-h:]
}

func (s *summary) converge(out *SessionReport, after *Artifact) (total tally) {
	c := &out.Convergence
	for _, t := range s.tallies {
		total.adds += t.adds
		total.kills += t.kills
	}
	_, late := s.halves()
	if len(s.tallies) == 1 {
		late = slices.Collect(maps.Keys(s.tallies))
	}
	for _, r := range late {
		c.Closing.Adds += s.tallies[r].adds
		c.Closing.Kills += s.tallies[r].kills
	}
	c.Adds, c.Kills, c.Converging = total.adds, total.kills, total.kills > total.adds
	if after != nil {
		c.Active = new(len(after.active(hypothesisSlate)))
	}
	return total
}

func (s *summary) progress(out *SessionReport) {
	p := &out.Progression
	p.Trend, p.Rounds = "unknown", []Round{}
	for _, r := range slices.Sorted(maps.Keys(s.byRound)) {
		m := s.byRound[r]
		p.Rounds = append(p.Rounds, Round{r, m.n, m.of(&m.percent)})
	}
	early, late := s.halves()
	before, after := s.mean(early), s.mean(late)
	if before == nil || after == nil {
		return
	}
	switch change, level := new(big.Rat).Sub(after, before), big.NewRat(5, 1); {
	case change.Cmp(level) > 0:
		p.Trend = "improving"
	case change.Cmp(level.Neg(level)) < 0:
		p.Trend = "declining"
	default:
		p.Trend = "stable"
	}
}

// mean is the mean percent of the deltas of some rounds, nil if they have none.
func (s *summary) mean(rounds []int) *big.Rat {
	sum, n := new(big.Rat), int64(0)
	for _, r := range rounds {
		sum.Add(sum, &s.byRound[r].percent)
		n += int64(s.byRound[r].n)
	}
	if n == 0 {
		return nil
	}
	return sum.Quo(sum, big.NewRat(n, 1))
}
