package rank

import (
	"cmp"
	"slices"

	"waymark/internal/numeric"
	"waymark/suggest/learn"
)

// Two models of trees over pairs of tools a, b put the tools of a plan in order and link them: one for whether a comes
// before b, one for whether b uses the output of a. They start from the shares in past tasks with both tools.

// The features of a pair.
const (
	pairOrder    = iota // log-odds that a comes before b: tasks with both, and one more by requirements or words
	pairNear            // the same in near requests, weighted by similarity²
	pairWords           // position in the request of the words for b less that of the words for a
	pairBoth            // ln(1 + tasks with both)
	pairLinked          // log-odds of a link in the tasks with both
	pairNearLink        // the same in near requests
	pairVotes           // Σ similarity² of near requests with both
	pairDirect          // 1 if b requires a
	pairDeep            // 1 if b requires a directly or indirectly
	pairServer          // 1 if both are on the same server
	pairSize            // ln of the number of tools of the plan
	pairIn              // rate of the link divided by the largest rate of a link to b
	pairOut             // the same, divided by the largest rate of a link from a
	pairBetween         // largest confidence that another tool of the plan stands between a and b
	pairGives           // log-odds of a link from a to any tool
	pairNext            // share of b among the tools that followed a directly, ln
	pairFeatures
)

const (
	mostPaired = 25 // maximum number of tools of a task whose pairs are learned from
	mostPairs  = 60 // approximate number of pairs that are learned from per task
	leastLink  = .1 // chance below which a link is dropped
	chained    = .97

	wordOrder   = 4.  // weight of the difference in position of their words for the log-odds that a comes before b
	surelyFirst = .98 // chance that a required tool comes before the tool that requires it, until tasks tell more
	orderCounts = .1  // weight in a chain of the chance to come first, relative to that of a link
)

// chainedTask reports whether each step is linked to the step before it, and to no other.
func chainedTask(t *Task) bool {
	n := 0
	for i := 1; i < len(t.Steps); i++ {
		if t.Steps[i] != t.Steps[i-1] {
			if !slices.Contains(t.Links, [2]int32{t.Steps[i-1], t.Steps[i]}) {
				return false
			}
			n++
		}
	}
	return len(t.Links) <= n
}

// pairs returns the features of all pairs of tools: those of a, b at a·n + b; nil on the diagonal.
func (h *History) pairs(tools []int32, r *request) [][]float32 {
	n := len(tools)
	place := r.places(tools)
	order, rate, linked := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	in, out := make([]float64, n), make([]float64, n)
	for i, a := range tools {
		after, links := h.after.of(key(a)), h.links.of(key(a))
		for j, b := range tools {
			if i == j {
				continue
			}
			k := i*n + j
			first := Chance(wordOrder * (place[j] - place[i]))
			if h.requires(b, a) {
				first = surelyFirst
			} else if h.requires(a, b) {
				first = 1 - surelyFirst
			}
			order[k] = (after.count(b) + first) / (after.count(b) + h.after.of(key(b)).count(a) + 1)
			both := h.beside.of(key(a)).count(b)
			direct := one(slices.Contains(h.texts.tools[b].Requires, a))
			linked[k] = (min(links.count(b), both) + .1 + float64(.8*direct)) / (both + .5 + float64(.5*direct))
			rate[k] = (links.count(b) + .2) / (both + 1)
			in[j], out[i] = max(in[j], rate[k]), max(out[i], rate[k])
		}
	}
	near := r.votesOf(tools)
	all := make([][]float32, n*n)
	for i, a := range tools {
		companions := h.beside.of(key(a)).total
		gives := (float64(h.links.of(key(a)).total) + .4) / (float64(companions) + 2)
		for j, b := range tools {
			if i == j {
				continue
			}
			k := i*n + j
			between := 0.0
			for c := range n {
				if c != i && c != j {
					between = max(between, min(order[i*n+c], order[c*n+j]))
				}
			}
			f := make([]float32, pairFeatures)
			server := h.texts.tools[a].Server
			v := near[k]
			for at, x := range [pairFeatures]float64{
				pairOrder: logOdds(order[k]), pairNear: numeric.Ln((v.before + .1) / (v.both - v.before + .1)), pairWords: place[j] - place[i],
				pairBoth: numeric.Ln(1 + h.beside.of(key(a)).count(b)), pairLinked: logOdds(linked[k]),
				pairNearLink: numeric.Ln((v.linked + .1) / (v.both - v.linked + .2)), pairVotes: v.both,
				pairDirect: one(slices.Contains(h.texts.tools[b].Requires, a)), pairDeep: one(h.requires(b, a)),
				pairServer: one(server >= 0 && server == h.texts.tools[b].Server), pairSize: numeric.Ln(float64(n)),
				pairIn: rate[k] / in[j], pairOut: rate[k] / out[i], pairBetween: between, pairGives: logOdds(min(1, gives)), pairNext: ln(h.order[0].of(key(a)).share(b)),
			} {
				f[at] = float32(x)
			}
			all[k] = f
		}
	}
	return all
}

// requires reports whether a tool requires another at any depth.
func (h *History) requires(a, b int32) bool { return slices.Contains(h.texts.closure[a], b) }

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// pairVote holds sums of similarity² over the near requests that used both tools, that used the first one earlier, and
// that linked the first one to the second.
type pairVote struct{ both, before, linked float64 }

func (r *request) votesOf(tools []int32) []pairVote {
	h, n := r.history, len(tools)
	votes := make([]pairVote, n*n)
	first := make([]int, n)
	for _, v := range r.near {
		t := h.tasks[h.asked[v.Row]]
		for i, tool := range tools {
			first[i] = slices.Index(t.Steps, tool)
		}
		weight := float64(v.Similarity * v.Similarity)
		for i := range n {
			for j := range n {
				if i == j || first[i] < 0 || first[j] < 0 {
					continue
				}
				x := &votes[i*n+j]
				x.both += weight
				if first[i] < first[j] {
					x.before += weight
				}
				if slices.Contains(t.Links, [2]int32{tools[i], tools[j]}) {
					x.linked += weight
				}
			}
		}
	}
	return votes
}

// named is the weight of a word in the name of a tool, relative to words associated with the tool.
const named = 6.

// places returns the mean position in the request of the words for each tool, from 0 to 1; .5 if there are none.
func (r *request) places(tools []int32) []float64 {
	h, place := r.history, make([]float64, len(tools))
	for i, t := range tools {
		sum, total := 0.0, 1e-9
		for at, s := range r.stems {
			weight := 0.0
			if f, ok := h.texts.vocabulary.Feature(s); ok {
				row := h.words.rows[uint64(f)]
				if k, ok := slices.BinarySearch(h.words.tools[row.from:row.to], t); ok {
					a := max(0, h.association[int(row.from)+k])
					weight = float64(a * a)
				}
			}
			if slices.Contains(h.texts.names[t], s) {
				weight += named
			}
			total += weight
			sum += float64(weight * (float64(at) + .5) / float64(len(r.stems)))
		}
		if place[i] = sum / total; total < .01 {
			place[i] = .5
		}
	}
	return place
}

// Step is a step of a plan. After holds the numbers of the earlier steps that it depends on.
type Step struct {
	Tool   int32
	Chance float64 // chance that a task for the request uses the tool
	After  []int32
}

// arrange orders tools and links them. chance is by tool, total the sum of the chances of all tools that may be
// planned.
func (p *planner) arrange(h *History, r *request, tools []int32, chance map[int32]float64, total float64) []Step {
	n := len(tools)
	links, first, ahead := make([]float64, n*n), make([]float64, n*n), make([]float64, n)
	pairs := h.pairs(tools, r)
	for k, f := range pairs {
		if f != nil {
			links[k] = p.link.chance(f)
			first[k] = p.before.chance(f)
			ahead[k/n] += first[k] - .5
			ahead[k%n] -= first[k] - .5
		}
	}
	sorted := make([]int, n) // the likely order decides between tools that no link orders
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortFunc(sorted, func(a, b int) int {
		return cmp.Or(cmp.Compare(ahead[b], ahead[a]), cmp.Compare(chance[tools[b]], chance[tools[a]]), cmp.Compare(tools[a], tools[b]))
	})
	w := make([]float64, n*n)
	for i, a := range sorted {
		for j, b := range sorted {
			switch w[i*n+j] = links[a*n+b]; {
			case i == j:
				w[i*n+j] = 0
			case h.chains: // tools that were never linked are ordered by which usually comes first
				w[i*n+j] += float64(orderCounts * first[a*n+b])
			}
		}
	}
	var chosen []learn.Link
	if h.chains {
		order := learn.Path(w, n)
		for i := 1; i < n; i++ {
			chosen = append(chosen, learn.Link{A: order[i-1], B: order[i]})
		}
	} else {
		planned := 0.0
		for _, t := range tools {
			planned += chance[t]
		}
		chosen = learn.Links(w, n, min(1, max(.1, planned/max(total, planned, 1e-9))))
		chosen = slices.DeleteFunc(chosen, func(l learn.Link) bool { return l.P < leastLink })
	}
	at, steps := make([]int32, n), make([]Step, n)
	for i, k := range learn.Order(chosen, n) {
		at[k] = int32(i)
		steps[i] = Step{Tool: tools[sorted[k]], Chance: chance[tools[sorted[k]]]}
	}
	for _, l := range chosen {
		steps[at[l.B]].After = append(steps[at[l.B]].After, at[l.A])
	}
	for i := range steps {
		slices.Sort(steps[i].After)
	}
	return steps
}
