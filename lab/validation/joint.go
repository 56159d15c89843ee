package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"waymark/evaluate"
)

// A joint search: random draws of all constants at once, then steps along one constant at a time from the
// best of them.
const (
	draws     = 150
	rounds    = 2
	judgedAt  = 300 // questions of each kind and set that judge a draw
	drawnFrom = 7   // seed of the draws
)

// joint searches for constants that rank best on the mean over sets.
type joint struct {
	thin  []*set // with fewer questions
	pool  []constants
	known map[worth]float64
}

type worth struct {
	set string
	constants
}

func newJoint(sets []*set) *joint {
	j := &joint{known: map[worth]float64{}, pool: []constants{seed}}
	for _, s := range sets {
		few := &set{name: s.name, questions: map[string]*questions{}}
		for _, kind := range everyNext {
			if q := s.questions[kind]; q != nil {
				few.questions[kind] = q.thin(judgedAt)
			}
		}
		j.thin = append(j.thin, few)
	}
	r := rand.New(rand.NewPCG(drawnFrom, 0))
	for range draws {
		j.pool = append(j.pool, drawn(r))
	}
	return j
}

// thin is so many of the questions, spread evenly.
func (q *questions) thin(most int) *questions {
	few := &questions{kind: q.kind, episodes: q.episodes}
	for i, s := range q.situations {
		if sampled(i, len(q.situations), most) {
			few.situations = append(few.situations, s)
		}
	}
	return few
}

func drawn(r *rand.Rand) constants {
	upTo := func(most float64) float64 { return float64(most * r.Float64()) }
	k := seed
	k.Rank = upTo(.5)
	k.Hybrid = 1 - k.Rank
	k.AlphaFloor, k.AlphaSlope = upTo(1), steep
	k.Cooccurrence, k.Community, k.AdamicAdar, k.PageRank = upTo(1), upTo(.5), upTo(.3), upTo(.3)
	k.Base = upTo(.6)
	k.OfRank, k.OfWeight, k.OfAlike = capped{upTo(.6), none}, capped{upTo(.6), none}, capped{upTo(.2), upTo(.4)}
	k.Norm = math.Exp2(upTo(5) - 1)
	k.OfCount = capped{upTo(.1), upTo(.5)}
	if r.IntN(2) == 0 {
		k.Cap = none
	}
	return k
}

// neighbours are the constants one step away.
func neighbours(k constants) []constants {
	var near []constants
	for _, of := range []func(k *constants) *float64{
		func(k *constants) *float64 { return &k.Rank }, func(k *constants) *float64 { return &k.AlphaFloor },
		func(k *constants) *float64 { return &k.Cooccurrence }, func(k *constants) *float64 { return &k.Community },
		func(k *constants) *float64 { return &k.AdamicAdar }, func(k *constants) *float64 { return &k.PageRank },
		func(k *constants) *float64 { return &k.Base }, func(k *constants) *float64 { return &k.OfRank.Times },
		func(k *constants) *float64 { return &k.OfWeight.Times }, func(k *constants) *float64 { return &k.OfAlike.Times },
		func(k *constants) *float64 { return &k.Norm }, func(k *constants) *float64 { return &k.OfCount.Times },
		func(k *constants) *float64 { return &k.OfCount.Most }, func(k *constants) *float64 { return &k.Hybrid },
	} {
		for _, times := range []float64{0, .5, 2} {
			n := k
			if *of(&n) *= times; n != k && n.Norm > 0 {
				near = append(near, n)
			}
		}
	}
	return near
}

// best searches for the constants with the largest mean over sets whose name is wanted.
func (j *joint) best(wanted func(name string) bool) constants {
	sets := slices.DeleteFunc(slices.Clone(j.thin), func(s *set) bool { return !wanted(s.name) })
	mean := func(k constants) float64 {
		total := 0.0
		for _, s := range sets {
			total += j.worth(s, k)
		}
		return total
	}
	best, most := seed, mean(seed)
	try := func(all []constants) {
		for _, k := range all {
			if m := mean(k); m > most {
				best, most = k, m
			}
		}
	}
	try(j.pool)
	for range rounds {
		try(neighbours(best))
	}
	return best
}

// worth is the mean reciprocal rank on a set, each kind of question counting alike.
func (j *joint) worth(s *set, k constants) float64 {
	key := worth{s.name, k}
	if known, ok := j.known[key]; ok {
		return known
	}
	total := 0.0
	for _, kind := range everyNext {
		if q := s.questions[kind]; q != nil {
			total += q.measure(&k)["MRR"].Mean() / float64(len(s.questions))
		}
	}
	j.known[key] = total
	return total
}

// gains of the best constants against the seed's, by set: of those found on all other sets, and of those
// found on the set itself, which is a fit to the questions asked.
type gains struct {
	set, kind   string
	seed        float64
	others, own evaluate.Difference
}

func (j *joint) gains(sets []*set) (all, pooled []gains) {
	for _, kind := range everyNext {
		base, others, own := map[string]measured{}, map[string]measured{}, map[string]measured{}
		for _, s := range sets {
			q := s.questions[kind]
			if q == nil {
				continue
			}
			elsewhere := j.best(func(name string) bool { return name != s.name })
			here := j.best(func(name string) bool { return name == s.name })
			base[s.name], others[s.name], own[s.name] = q.measure(&seed), q.measure(&elsewhere), q.measure(&here)
		}
		gained, best := changes(others, base, sets), changes(own, base, sets)
		level := 0.0
		for _, s := range sets {
			if base[s.name] != nil {
				mrr := base[s.name]["MRR"].Mean()
				all = append(all, gains{s.name, kind, mrr, gained[s.name]["MRR"], best[s.name]["MRR"]})
				level += float64(mrr / float64(len(base)))
			}
		}
		if len(base) > 0 {
			pooled = append(pooled, gains{everySet, kind, level, gained[everySet]["MRR"], best[everySet]["MRR"]})
		}
	}
	return all, pooled
}
