package evidence

import (
	"cmp"
	"slices"
	"strings"
)

// assign reads the snippets of a round in order of id and gives each to the hypothesis whose words it has
// most of. It returns what became of them, how many were new, and the mean of what they added.
func (s *Session) assign(snippets []Snippet, round int) (assignments []Assignment, fresh int, gain float64) {
	order := slices.SortedFunc(slices.Values(snippets), func(a, b Snippet) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Text, b.Text), strings.Compare(a.Source, b.Source))
	})
	places := make([]int, len(order)) // in s.passages
	repeated := make([]bool, len(order))
	for i, sn := range order {
		key := Snippet{ID: sn.ID, Text: sn.Text}
		if at, known := s.seen[key]; known {
			places[i], repeated[i] = at, true
			continue
		}
		places[i] = len(s.passages)
		s.seen[key] = places[i]
		s.passages = append(s.passages, s.read(sn, round))
		fresh++
	}

	assignments = make([]Assignment, len(order))
	gains := make([]float64, len(order))
	for i, at := range places {
		p := &s.passages[at]
		a := &assignments[i]
		*a = Assignment{Snippet: p.ID, Hypothesis: undifferentiated, Overlap: slices.Max(p.overlaps), Novelty: p.novelty, Repeated: repeated[i]}
		if repeated[i] {
			a.Novelty = 0
		}
		to := p.claim
		if to < 0 {
			if like, strength := s.cluster(p); like >= 0 {
				to, a.Overlap, a.Cluster = s.passages[like].claim, strength, s.passages[like].ID
			}
		}
		if to < 0 {
			continue
		}
		c := s.claims[to]
		a.Hypothesis = c.ID
		a.Marker = opposing(p.Text, c.reading)
		a.Falsifies = a.Marker != ""
		if repeated[i] {
			continue
		}
		p.overlap, p.marked = a.Overlap, a.Falsifies
		gains[i] = float64(a.Overlap * a.Novelty)
		if a.Falsifies {
			c.falsification += gains[i]
			c.falsifying = append(c.falsifying, at)
		} else {
			c.support += gains[i]
			c.supporting = append(c.supporting, at)
		}
	}
	return assignments, fresh, mean(gains)
}

// read takes a snippet into the pool and finds the hypothesis that its own words speak of: the one of
// largest overlap, if that is large enough and no other is as large.
func (s *Session) read(sn Snippet, round int) passage {
	p := passage{Snippet: sn, round: round, terms: s.lexicon.set(sn.Text), claim: -1, overlaps: make([]float64, len(s.claims))}
	p.novelty = s.pool.add(p.terms)
	best := 0.0
	for i, c := range s.claims {
		o := overlap(p.terms, c.terms)
		p.overlaps[i] = o
		switch {
		case o > best:
			best, p.claim = o, i
		case o == best:
			p.claim = -1
		}
	}
	if best <= s.options.AssignOverlap {
		p.claim = -1
	}
	return p
}

// cluster finds, for a snippet that shares next to no word with any hypothesis, the snippet most like it
// among those assigned by their own words: it says the same in other words than the hypothesis does. What
// it adds is the other's overlap times how alike they are, which has to be enough by itself. It returns
// -1 if there is none, or if two that are equally like it belong to different hypotheses.
func (s *Session) cluster(p *passage) (like int, strength float64) {
	like = -1
	if slices.Max(p.overlaps) >= s.options.ClusterOverlap {
		return -1, 0
	}
	best, apart := 0.0, false
	for i := range s.passages {
		q := &s.passages[i]
		if q.claim < 0 {
			continue
		}
		switch c := cosine(p.terms, q.terms); {
		case c < s.options.ClusterCosine || c < best:
		case c > best || like < 0:
			best, like, apart = c, i, false
		default:
			apart = apart || q.claim != s.passages[like].claim
			if q.overlaps[q.claim] > s.passages[like].overlaps[q.claim] {
				like = i
			}
		}
	}
	if like < 0 || apart {
		return -1, 0
	}
	q := &s.passages[like]
	strength = float64(best * q.overlaps[q.claim])
	if strength <= s.options.AssignOverlap {
		return -1, 0
	}
	return like, strength
}
