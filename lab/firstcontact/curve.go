package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"waymark/episodic"
	"waymark/suggest"
	"waymark/suggest/evaluate"
)

// Questions of one draw: enough to compare profiles, few enough to draw often.
const (
	curvePositions = 150
	curveIntents   = 60
)

// curveMetrics are the metrics of a learning curve.
var curveMetrics = [...]struct{ name, question, metric string }{
	{"next", evaluate.QuestionNext, "mrr"},
	{"next+intent", evaluate.QuestionNextIntent, "mrr"},
	{"node-f1", evaluate.QuestionDAG, "node_f1"},
	{"ndcg", evaluate.QuestionTools, "ndcg@10"},
}

// curve prints the mean of every metric over seeded draws of small histories, for the profiles and the best
// simple baseline of each metric. Questions come from train tasks whose group is never drawn; with test they
// are the test split.
func (s *set) curve(ctx context.Context, o options) error {
	for _, size := range strings.Split(o.sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil {
			return fmt.Errorf("size %q: %w", size, err)
		}
		profiles := strings.Split(o.profiles, ",")
		sums := make([]curveSum, len(profiles))
		for draw := range o.draws {
			d := s.drawn(n, draw, o.test)
			for i, profile := range profiles {
				r, err := evaluate.Evaluate(ctx, d, evaluate.Suggester(profile, suggest.MeasureOptions{}), evaluate.Options{Profile: profile})
				if err != nil {
					return err
				}
				sums[i].add(r)
			}
		}
		for i, profile := range profiles {
			sums[i].print(s.name, n, profile)
		}
	}
	return nil
}

// curveSum adds up reports: the profile, and the simple baselines by name.
type curveSum struct {
	n     [len(curveMetrics)]int
	value [len(curveMetrics)]float64
	base  [len(curveMetrics)]map[string]float64
}

func (c *curveSum) add(r *evaluate.Report) {
	for m, metric := range curveMetrics {
		i := slices.IndexFunc(r.Rows, func(x evaluate.Row) bool { return x.Question == metric.question && x.Metric == metric.metric })
		if i < 0 {
			continue
		}
		c.n[m]++
		c.value[m] += r.Rows[i].Value
		if c.base[m] == nil {
			c.base[m] = map[string]float64{}
		}
		for name, values := range r.Baselines {
			c.base[m][name] += values[metric.metric]
		}
	}
}

func (c *curveSum) print(set string, n int, profile string) {
	fmt.Printf("%-10s %4d %-8s", set, n, profile)
	for m, metric := range curveMetrics {
		if c.n[m] == 0 {
			continue
		}
		best, by := 0.0, ""
		for _, name := range slices.Sorted(maps.Keys(c.base[m])) {
			if x := c.base[m][name]; x > best || by == "" {
				best, by = x, name
			}
		}
		k := float64(c.n[m])
		fmt.Printf("  %s %.3f (%+.3f %s)", metric.name, c.value[m]/k, (c.value[m]-best)/k, by)
	}
	fmt.Println()
}

// drawn is the data set with n train tasks as history.
func (s *set) drawn(n, draw int, test bool) *evaluate.Data {
	d := s.data
	d.Examples = nil
	var history, asked []evaluate.Example
	for _, x := range s.data.Examples {
		switch group := cmp.Or(x.Episode.Intent, x.Episode.ID); {
		case x.Split == evaluate.Train && (test || !askedInCurve(group)):
			history = append(history, x)
		case x.Split == evaluate.Train && !test, x.Split == evaluate.Test && test:
			asked = append(asked, x)
		}
	}
	shuffle(history, draw)
	history = history[:min(n, len(history))]
	slices.SortStableFunc(history, func(a, b evaluate.Example) int { return a.Episode.Time.Compare(b.Episode.Time) })
	if n == 0 { // an empty history, and not a set whose tests are held out in turn
		history = []evaluate.Example{{Episode: episodic.Episode{ID: "empty"}}}
	}
	for i := range history {
		history[i].Split = evaluate.Train
	}
	shuffle(asked, draw)
	positions, intents := 0, 0
	for _, x := range asked {
		x.Split = evaluate.Test
		if positions >= curvePositions && intents >= curveIntents {
			break
		}
		positions += max(0, len(x.Episode.Steps)-1)
		if strings.TrimSpace(x.Episode.Intent) != "" {
			intents++
		}
		d.Examples = append(d.Examples, x)
	}
	d.Examples = append(d.Examples, history...)
	return &d
}

// askedInCurve reports whether a group of train tasks is asked about, and never history: a quarter of them.
func askedInCurve(group string) bool { return sha256.Sum256([]byte("curve " + group))[0] < 64 }

// shuffle orders examples by a hash of the draw and their ids.
func shuffle(examples []evaluate.Example, draw int) {
	key := func(x *evaluate.Example) uint64 {
		sum := sha256.Sum256([]byte(strconv.Itoa(draw) + " " + x.Episode.ID))
		return binary.BigEndian.Uint64(sum[:])
	}
	slices.SortFunc(examples, func(a, b evaluate.Example) int {
		return cmp.Or(cmp.Compare(key(&a), key(&b)), strings.Compare(a.Episode.ID, b.Episode.ID))
	})
}
