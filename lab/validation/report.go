package main

import (
	"context"
	"fmt"
	"os"
	"slices"
)

// report is everything that was measured.
type report struct {
	most      int
	sets      []*set
	untrained []string // sets without train episodes
	tables    []table
	gains     []gains
	pooled    []gains   // of the joint search, on all sets together
	everybody constants // the best on all sets together
	bounds    []binding
}

// table is one sweep on one kind of question.
type table struct {
	sweep
	kind    string
	metrics []string // the first decides
	sets    []string
	rows    []result
	levels  map[string]map[string]float64 // of the first value, by set and metric
}

// binding says how often a cap bounds what it is for.
type binding struct {
	key           string
	bound, having int
}

func (r *report) measure(ctx context.Context) error {
	for _, s := range sweeps() {
		for _, kind := range s.kinds {
			fmt.Fprintln(os.Stderr, "validation: vary", s.key, "for", kind)
			r.add(s, kind, r.sets)
		}
	}
	var judged []*set // sets whose outcomes stand in for those of steps
	for _, s := range r.sets {
		if s.outcomes != nil {
			judged = append(judged, &set{name: s.name, questions: map[string]*questions{kindNext: s.outcomes}})
		}
	}
	if len(judged) > 0 {
		r.add(episodicSweep(), kindNext, judged)
	}
	r.measureStored()
	r.measureBounds()
	if err := ctx.Err(); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "validation: search all constants at once")
	j := newJoint(r.sets)
	r.gains, r.pooled = j.gains(r.sets)
	r.everybody = j.best(func(string) bool { return true })
	return ctx.Err()
}

func (r *report) add(s sweep, kind string, sets []*set) {
	t := table{sweep: s, kind: kind, levels: map[string]map[string]float64{}}
	var base map[string]measured
	t.rows, base = vary(s, sets, kind)
	for _, x := range sets {
		if q := x.questions[kind]; q != nil {
			t.sets = append(t.sets, x.name)
			t.levels[x.name] = base[x.name].means()
			t.metrics = q.metrics()
		}
	}
	r.tables = append(r.tables, t)
}

func (m measured) means() map[string]float64 {
	means := map[string]float64{}
	for metric, s := range m {
		means[metric] = s.Mean()
	}
	return means
}

// measureStored compares formulas for capabilities.
func (r *report) measureStored() {
	kinds, boosts, reliabilities := capabilityFormulas()
	for _, x := range []struct {
		sweep
		formulas []formula
		takes    func(s *set) bool
		right    func(c *choice) bool
	}{
		{sweep{key: "stored", title: "which formula ranks capabilities"}, kinds, nil, nil},
		{sweep{key: "boost", title: "structural boost .5 + .5·share, .25·share"}, boosts, nil, nil},
		{sweep{key: "reliability", title: "reliability below .5, above .9, factors .1 and 1.2"}, reliabilities,
			func(s *set) bool { return s.stored.failures }, func(c *choice) bool { return c.succeeded }},
	} {
		for _, active := range []bool{false, true} {
			kind := kindNext
			if active {
				kind = kindIntent
			}
			t := table{sweep: x.sweep, kind: kind, metrics: []string{amongCapabilities, besideTools}, levels: map[string]map[string]float64{}}
			base := map[string]measured{}
			var sets []*set
			of := func(s *set, f formula) measured {
				return measureChoices(slices.DeleteFunc(slices.Clone(s.stored.choices(active, f.edges)), func(c choice) bool {
					return x.right != nil && !x.right(&c)
				}), s.stored.episodes, f)
			}
			for _, s := range r.sets {
				if s.stored == nil || x.takes != nil && !x.takes(s) {
					continue
				}
				m := of(s, x.formulas[0])
				if m.questions() < fewest {
					continue
				}
				sets, base[s.name] = append(sets, s), m
				t.sets, t.levels[s.name] = append(t.sets, s.name), m.means()
			}
			for i, f := range x.formulas {
				row := result{value: value{name: f.name}}
				if i > 0 {
					mine := map[string]measured{}
					for _, s := range sets {
						mine[s.name] = of(s, f)
					}
					row.changes = changes(mine, base, sets)
				}
				t.rows = append(t.rows, row)
			}
			if len(sets) > 0 {
				r.tables = append(r.tables, t)
			}
		}
	}
}

// fewest situations that a set must have to take part: every set counts alike.
const fewest = 20

func (m measured) questions() int {
	total := 0.0
	for _, s := range m {
		total = 0
		for _, n := range s.Count {
			total += n
		}
	}
	return int(total)
}

func (s *stored) choices(active, edges bool) []choice {
	switch {
	case active && edges:
		return s.edgedGoal
	case edges:
		return s.edged
	case active:
		return s.active
	}
	return s.passive
}

// measureBounds counts the candidates at which a cap of the seed's is reached.
func (r *report) measureBounds() {
	count, rank, weight, alike := binding{key: "count"}, binding{key: "of_rank"}, binding{key: "of_weight"}, binding{key: "of_alike"}
	see := func(b *binding, c capped, x float64) {
		if x > 0 {
			b.having++
			if float64(c.Times*x) > c.Most {
				b.bound++
			}
		}
	}
	for _, s := range r.sets {
		q := s.questions[kindNext]
		if q == nil {
			continue
		}
		for i := range q.situations {
			for j := range q.situations[i].candidates {
				c := &q.situations[i].candidates[j]
				see(&count, seed.OfCount, c.doublings)
				if c.community {
					see(&rank, seed.OfRank, c.rank)
					see(&weight, seed.OfWeight, c.weight)
					see(&alike, seed.OfAlike, c.alike)
				}
			}
		}
	}
	r.bounds = []binding{count, rank, weight, alike}
}
