package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"waymark/score/rubric"
)

// A Session is a triangulation that goes round by round, for hosts that retrieve themselves. Its state is
// the request with the rounds added so far: that is what its JSON is, and reading it does them again.
// It is not safe for concurrent use.
type Session struct {
	request  Request
	options  Options
	lexicon  *lexicon
	claims   []*claim // in order of id, "none of these" last
	merged   [][]string
	pool     pool
	passages []passage       // of the pool, each once
	seen     map[Snippet]int // id and text: the passage
	question []int32
	opening  []Query // of the first round
	rounds   []RoundResult
	forced   int
}

// A claim is a distinct hypothesis with what speaks for and against it.
type claim struct {
	Hypothesis
	prior, weight          float64
	terms                  []int32
	reading                reading
	support, falsification float64
	supporting, falsifying []int // passages
	asked                  bool  // a query was for it
}

// A passage is a snippet that was read.
type passage struct {
	Snippet
	round    int
	terms    []int32
	overlaps []float64 // by claim
	claim    int       // it is assigned to by its own words, or -1
	overlap  float64
	novelty  float64
	marked   bool // it falsifies
}

// New begins a session and does the rounds that the request already has. An error is a [rubric.RequestError].
func New(r Request) (*Session, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	s := &Session{options: Defaults(), lexicon: newLexicon(), seen: map[Snippet]int{}, rounds: []RoundResult{}}
	if r.Options != nil {
		s.options = *r.Options
	}
	s.request = r
	s.request.Hypotheses = slices.Clone(r.Hypotheses)
	s.request.Rounds = nil
	s.question = s.lexicon.set(r.Question)
	s.claim()
	s.weigh()
	s.opening = s.queries(0, Continue)
	for _, round := range r.Rounds {
		s.add(round)
	}
	return s, nil
}

// claim makes the distinct hypotheses with their priors. One that stands for several that say the same
// has the prior of all of them, if theirs are given: it is their union. Said twice is no reason for more,
// so without given priors it counts as one of k.
func (s *Session) claim() {
	s.merged = Alike(s.request.Hypotheses, s.options.MergeCosine)
	first := map[string]string{} // by id: the hypothesis that stands for it
	for _, group := range s.merged {
		for _, id := range group {
			first[id] = group[0]
		}
	}
	given := map[string][]float64{}
	for _, h := range s.request.Hypotheses {
		id := cmp.Or(first[h.ID], h.ID)
		if h.Prior != nil {
			given[id] = append(given[id], *h.Prior)
		}
		if id == h.ID {
			s.claims = append(s.claims, &claim{Hypothesis: h, terms: s.lexicon.set(h.Text + " " + h.Rationale), reading: read(h)})
		}
	}
	slices.SortFunc(s.claims, func(a, b *claim) int { return strings.Compare(a.ID, b.ID) })
	if s.request.NoneOfThese {
		s.claims = append(s.claims, &claim{Hypothesis: Hypothesis{ID: NoneOfThese, Text: "None of these."}})
	}
	priors := make([]float64, len(s.claims))
	for i, c := range s.claims {
		priors[i] = 1 / float64(len(s.claims))
		if p := given[c.ID]; p != nil {
			priors[i] = sum(p)
		}
	}
	total := sum(priors)
	for i, c := range s.claims {
		c.prior = priors[i] / total
	}
}

// weigh sets the weights by what speaks for and against each claim.
func (s *Session) weigh() {
	prior, net := make([]float64, len(s.claims)), make([]float64, len(s.claims))
	for i, c := range s.claims {
		prior[i], net[i] = c.prior, c.support-c.falsification
	}
	for i, w := range Weights(prior, net) {
		s.claims[i].weight = w
	}
}

// ranked returns the claims by falling weight, then id; "none of these" leads only if it weighs more.
func (s *Session) ranked(named bool) []*claim {
	order := slices.Clone(s.claims)
	if named && s.request.NoneOfThese {
		order = order[:len(order)-1]
	}
	slices.SortStableFunc(order, func(a, b *claim) int { return cmp.Compare(b.weight, a.weight) })
	return order
}

// Request returns the state: what the session was made from, with all rounds.
func (s *Session) Request() Request {
	r := s.request
	r.Rounds = slices.Clone(r.Rounds)
	return r
}

// Queries returns what to look for in the next round: nothing once the gate said stop or exhausted.
func (s *Session) Queries() []Query {
	if n := len(s.rounds); n > 0 {
		return slices.Clone(s.rounds[n-1].NextQueries)
	}
	return slices.Clone(s.opening)
}

// Add reads the snippets of the next round. An error is a [rubric.RequestError] and changes nothing.
func (s *Session) Add(r Round) (RoundResult, error) {
	n := len(s.request.Rounds)
	if n >= MaxRounds {
		return RoundResult{}, rubric.Refuse("rounds", "there are already %d", MaxRounds)
	}
	snippets := 0
	for _, before := range s.request.Rounds {
		snippets += len(before.Snippets)
	}
	if err := r.check(fmt.Sprintf("rounds[%d]", n), snippets); err != nil {
		return RoundResult{}, err
	}
	return s.add(r), nil
}

func (s *Session) add(r Round) RoundResult {
	if r.Snippets == nil {
		r.Snippets = []Snippet{}
	}
	s.request.Rounds = append(s.request.Rounds, r)
	number := len(s.request.Rounds)
	assignments, fresh, gain := s.assign(r.Snippets, number)
	if r.NewDocuments != nil {
		fresh = *r.NewDocuments
	}
	if r.QualityGain != nil {
		gain = *r.QualityGain
	}
	s.weigh()

	k := len(s.claims)
	weights := make([]float64, k)
	res := RoundResult{
		Weights: make(map[string]float64, k), Support: make(map[string]float64, k), Falsification: make(map[string]float64, k),
		Assignments: assignments, NewDocuments: fresh, QualityGain: gain,
	}
	for i, c := range s.claims {
		weights[i] = c.weight
		res.Weights[c.ID], res.Support[c.ID], res.Falsification[c.ID] = c.weight, c.support, c.falsification
	}
	lead := s.ranked(false)[0]
	res.Lead, res.LeadWeight = lead.ID, lead.weight
	res.EntropyNats, res.EntropyShare = entropy(weights), entropyShare(weights)
	res.Gate = s.options.Gate(Progress{Round: number, NewDocuments: fresh, QualityGain: gain, Share: res.EntropyShare, Lead: lead.weight, Forced: s.forced})
	if res.Gate == Forced {
		s.forced++
	}
	res.ForcedRounds = s.forced
	res.NextQueries = s.queries(number, res.Gate)
	s.rounds = append(s.rounds, res)
	return res
}
