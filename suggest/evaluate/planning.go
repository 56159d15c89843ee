package evaluate

import (
	"context"
	"crypto/sha1"
	"encoding/binary"
	"slices"
	"strings"
)

// The baselines of an intent, in the order of a table: text of the tools, votes of the nearest past
// intents, both fused by rank, the former followed by what authors say they need, and the nearest past
// task as it was.
const (
	byText     = "bm25"
	byIntents  = "knn"
	byFusion   = "fusion"
	byTextWalk = "bm25_graph"
	byKNNWalk  = "knn_graph"
	byCopy     = "copy"
)

// tuneAtMost is on how many train tasks, about, the lengths of plans are tuned.
const tuneAtMost = 600

// intentBaselines answers for an intent from one history.
type intentBaselines struct {
	names  []string
	text   *bm25
	past   *intentIndex
	links  linkCounts
	needs  map[string][]string
	length map[string]int // of a plan, by baseline
}

// newIntentBaselines adds the baselines that walk along requirements only where the data set declares some.
func newIntentBaselines(d *Data, history []*task) *intentBaselines {
	b := &intentBaselines{
		names: []string{byText, byIntents, byFusion}, text: newBM25(d.Tools), past: newIntentIndex(history),
		links: newLinkCounts(history), needs: map[string][]string{}, length: map[string]int{},
	}
	for _, l := range d.Needs {
		if !slices.Contains(b.needs[l.To], l.From) {
			b.needs[l.To] = append(b.needs[l.To], l.From)
		}
	}
	if len(d.Needs) > 0 {
		b.names = append(b.names, byTextWalk, byKNNWalk)
	}
	return b
}

// rankings of the tools for the intent of a task, beside names, and its neighbours. The task's own
// group is no neighbour.
func (b *intentBaselines) rankings(t *task) (ranked [][]string, near []neighbour) {
	near = b.past.nearest(t.Episode.Intent, t.group)
	text, votes := b.text.find(words(t.Episode.Intent)), vote(near)
	ranked = [][]string{text, votes, fuse(text, votes)}
	if len(b.needs) > 0 {
		ranked = append(ranked, walk(text, b.needs), walk(votes, b.needs))
	}
	return ranked, near
}

// tune chooses, for each baseline, the length of a plan that gives the best Node-F1 on about 600 train
// tasks, each answered without itself.
func (b *intentBaselines) tune(ctx context.Context) error {
	sample := slices.Clone(b.past.tasks)
	slices.SortFunc(sample, func(x, y *task) int { return strings.Compare(tuneOrder(x.Episode.ID), tuneOrder(y.Episode.ID)) })
	step := max(1, len(sample)/tuneAtMost)
	var tuned []*task
	for i := 0; i < len(sample); i += step {
		tuned = append(tuned, sample[i])
	}
	curves := make([][][longestPlan + 1]float64, len(tuned))
	err := parallel(ctx, len(tuned), func(i int) error {
		curves[i] = b.curves(tuned[i])
		return nil
	})
	for m, name := range b.names {
		var total [longestPlan + 1]float64
		for i := range curves {
			for k := range total {
				total[k] += curves[i][m][k]
			}
		}
		b.length[name] = argmax(total)
	}
	return err
}

// curves is, for each baseline, the F1 of its first k tools for every k, from which the length of plans is
// tuned.
func (b *intentBaselines) curves(t *task) [][longestPlan + 1]float64 {
	ranked, _ := b.rankings(t)
	curves := make([][longestPlan + 1]float64, len(ranked))
	for m, r := range ranked {
		curves[m] = f1Curve(r, t.set)
	}
	return curves
}

// tuneOrder shuffles train tasks by a hash of their ids, the same way on every machine: those whose
// hash falls into the lower half come before the others, then by id.
func tuneOrder(id string) string {
	sum := sha1.Sum([]byte(id))
	if binary.BigEndian.Uint32(sum[:4]) < 1<<31 {
		return "0" + id
	}
	return "1" + id
}

// answer of one baseline to one intent.
type answer struct {
	ranked []string
	plan   Plan
}

// answers of every baseline to the intents of the tests, copy last. Where each test is held out in
// turn, the lengths of plans are those best for the others, and the test is no part of the links.
func (b *intentBaselines) answers(ctx context.Context, tests []*task, leave bool, done func()) (names []string, all [][]answer, err error) {
	names = append(slices.Clone(b.names), byCopy)
	all = make([][]answer, len(names))
	for m := range all {
		all[m] = make([]answer, len(tests))
	}
	curves := make([][][longestPlan + 1]float64, len(tests))
	copied := make([]*task, len(tests))
	err = parallel(ctx, len(tests), func(i int) error {
		ranked, near := b.rankings(tests[i])
		curves[i] = make([][longestPlan + 1]float64, len(ranked))
		for m, r := range ranked {
			all[m][i].ranked = r
			curves[i][m] = f1Curve(r, tests[i].set)
		}
		if len(near) > 0 {
			copied[i] = near[0].task
		}
		done()
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for m, name := range b.names {
		var total [longestPlan + 1]float64
		for i := range curves {
			for k := range total {
				total[k] += curves[i][m][k]
			}
		}
		for i, t := range tests {
			k, held := b.length[name], (*task)(nil)
			if leave {
				others := total
				for j := range others {
					others[j] -= curves[i][m][j]
				}
				k, held = argmax(others), t
			}
			a := &all[m][i]
			a.plan.Tools = a.ranked[:min(k, len(a.ranked))]
			a.plan.Links = b.links.links(a.plan.Tools, held)
		}
	}
	for i, t := range copied {
		if t != nil {
			all[len(all)-1][i].plan = Plan{t.seq, t.pairs}
		}
	}
	return names, all, nil
}
