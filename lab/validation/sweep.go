package main

import (
	"fmt"

	"waymark/evaluate"
)

// sweep varies one thing of the seed's alone.
type sweep struct {
	key, title string
	question   string // of the seed
	reading    string // what holds whatever the numbers are
	kinds      []string
	values     []value
	base       constants // what the values are compared with; zero: the seed's
}

// value is what a constant is set to.
type value struct {
	name string
	constants
}

// with is the seed with a change.
func with(name string, change func(k *constants)) value {
	k := seed
	change(&k)
	return value{name, k}
}

var everyNext = []string{kindNext, kindIntent}

// sweeps lists everything that is varied.
func sweeps() []sweep {
	return []sweep{
		{
			key: "rank", title: "80/20, PageRank boost", question: "80/20 PageRank boost: why not 70/30?",
			kinds: []string{kindIntent, kindTools},
			values: list([]float64{0, .05, .10, .20, .30, .40, .50}, func(k *constants, x float64) { k.Hybrid, k.Rank = 1-x, x },
				func(x float64) string { return fmt.Sprintf("%.0f/%.0f", 100*(1-x), 100*x) }),
		},
		{
			key: "base", title: "0.40, base of the community confidence", question: "0.40 (base) of the community confidence: why not 0.35?", kinds: everyNext,
			reading: "In ToolScore the base counts a quarter: moving it from .40 to .35 moves a tool of the community by .0125.",
			values:  list([]float64{0, .20, .30, .35, .40, .45, .50, .60}, func(k *constants, x float64) { k.Base = x }, plain),
		},
		{
			key: "norm", title: "/2, normalisation of Adamic-Adar", question: "/2 normalisation of Adamic-Adar: why divide by 2?", kinds: everyNext,
			values: append(list([]float64{.5, 1, 2, 4, 8, 16}, func(k *constants, x float64) { k.Norm = x }, func(x float64) string { return fmt.Sprintf("/%g", x) }),
				with("off", func(k *constants) { k.Norm = none })),
		},
		bound("count", "cap .20 on the boost for observations", "The boost is .05·log2(n+1) for n observations, so the cap is reached at 15.", func(k *constants) *capped { return &k.OfCount }),
		bound("of_rank", "cap .20 on PageRank in the community confidence",
			"With PageRank divided by the largest, .20·pagerank never exceeds its cap: only the factor can matter.", func(k *constants) *capped { return &k.OfRank }),
		bound("of_weight", "cap .25 on the edge weight in the community confidence",
			"An edge weight is a share and never above 1, so that .25·weight never exceeds its cap: only the factor can matter.", func(k *constants) *capped { return &k.OfWeight }),
		bound("of_alike", "cap .10 on Adamic-Adar in the community confidence", "Reached at an Adamic-Adar of 1: two or three common neighbours of few neighbours each.", func(k *constants) *capped { return &k.OfAlike }),
		{
			key: "cap", title: "cap .95 on every confidence", question: "Not in the seed's table, and justified there as a margin; as a ranking it makes ties.", kinds: everyNext,
			values: []value{with("0.95", func(*constants) {}), with("no cap", func(k *constants) { k.Cap = none })},
		},
		{
			key: "alpha", title: "alpha, max(.5, 1 - 2·density)", kinds: []string{kindIntent},
			question: "Not in the seed's table: how much of the hybrid score is text. The same alpha for every graph; 1 leaves the graph out.",
			values: append([]value{with("the seed's", func(*constants) {})}, list([]float64{0, .25, .5, .75, .9, 1}, func(k *constants, x float64) {
				k.AlphaFloor, k.AlphaSlope = x, steep
			}, plain)...),
		},
		{
			key: "weights", title: "weights of ToolScore, .50/.25/.15/.10", question: "Not in the seed's table.", kinds: everyNext,
			values: []value{
				with("the seed's", func(*constants) {}),
				with("cooccurrence ×2", func(k *constants) { k.Cooccurrence *= 2 }), with("community ×½", func(k *constants) { k.Community /= 2 }),
				with("community ×2", func(k *constants) { k.Community *= 2 }), with("adamic-adar ×2", func(k *constants) { k.AdamicAdar *= 2 }),
				with("pagerank ×2", func(k *constants) { k.PageRank *= 2 }),
				with("cooccurrence alone", func(k *constants) { k.Community, k.AdamicAdar, k.PageRank = 0, 0, 0 }),
			},
		},
		ablation(kindNext, nil),
		ablation(kindIntent, []value{
			with("pagerank of RankScore", func(k *constants) { k.Rank = 0 }),
			with("text", func(k *constants) { k.NoText = true }),
			with("graph of HybridScore", func(k *constants) { k.AlphaFloor = 1 }),
			with("ToolScore", func(k *constants) { k.NoTool = true }),
			with("RankScore", func(k *constants) { k.NoHybrid = true }),
		}),
	}
}

// ablation takes out every signal of ToolScore, and what else there is for a kind of question.
func ablation(kind string, more []value) sweep {
	return sweep{
		key: "ablation", title: "every signal taken out", question: "What each signal is worth: the change without it. Candidates stay, unless nothing is left for them.", kinds: []string{kind},
		values: append([]value{
			with("nothing", func(*constants) {}),
			with("cooccurrence", func(k *constants) { k.Cooccurrence = 0 }),
			with("boost for observations", func(k *constants) { k.OfCount = capped{} }),
			with("community", func(k *constants) { k.Community = 0 }),
			with("community's base", func(k *constants) { k.Base = 0 }),
			with("community's PageRank", func(k *constants) { k.OfRank = capped{} }),
			with("community's edge weight", func(k *constants) { k.OfWeight = capped{} }),
			with("community's Adamic-Adar", func(k *constants) { k.OfAlike = capped{} }),
			with("adamic_adar of ToolScore", func(k *constants) { k.AdamicAdar = 0 }),
			with("pagerank of ToolScore", func(k *constants) { k.PageRank = 0 }),
		}, more...),
	}
}

// episodicSweep is measured where outcomes of tasks stand in for those of steps.
func episodicSweep() sweep {
	boost := func(name string, boost, penalty, most float64) value {
		return with(name, func(k *constants) {
			k.Boost, k.Penalty, k.NoExclusion = capped{boost, most}, capped{penalty, most}, true
		})
	}
	included := with("0.20/0.25", func(k *constants) { k.NoExclusion = true })
	return sweep{
		key: "episodic", title: "0.20 and 0.25, episodic boost and penalty", question: "0.25 vs 0.20: is the asymmetry justified?", kinds: []string{kindNext},
		reading: "Without the exclusion of what fails, which stands beside it: where most tasks fail, their outcomes would exclude nearly every tool.",
		base:    included.constants,
		values: []value{
			included, boost("off", 0, 0, .15), boost("0.20/0", .20, 0, .15), boost("0/0.25", 0, .25, .15),
			boost("0.20/0.20", .20, .20, .15), boost("0.25/0.20", .25, .20, .15), boost("0.25/0.25", .25, .25, .15), boost("no caps", .20, .25, none), boost("0.40/0.50, caps 0.30", .40, .50, .30),
			with("0.20/0.25 with exclusion", func(*constants) {}),
		},
	}
}

// bound varies a factor and its cap.
func bound(key, title, reading string, of func(k *constants) *capped) sweep {
	at := *of(&seed)
	set := func(name string, c capped) value { return with(name, func(k *constants) { *of(k) = c }) }
	return sweep{
		key: key, title: title, question: "Individual caps 0.20, 0.25, 0.10: why?", reading: reading, kinds: everyNext,
		values: []value{
			set("off", capped{}), set("half the cap", capped{at.Times, at.Most / 2}), set("the seed's", at), set("twice the cap", capped{at.Times, 2 * at.Most}), set("no cap", capped{at.Times, none}),
			set("half the factor", capped{at.Times / 2, at.Most}), set("twice the factor, no cap", capped{2 * at.Times, none}),
		},
	}
}

func list(xs []float64, set func(k *constants, x float64), name func(x float64) string) []value {
	var values []value
	for _, x := range xs {
		values = append(values, with(name(x), func(k *constants) { set(k, x) }))
	}
	return values
}

// steep makes alpha its floor in every graph that has an edge.
const steep = 1e9

func plain(x float64) string { return fmt.Sprintf("%.2f", x) }

// result is what a value changes against the seed's, by set and metric; nil for the seed's. everySet is the
// mean over all sets.
type result struct {
	value
	changes map[string]map[string]evaluate.Difference
}

const everySet = "all"

// vary measures every value of a sweep on one kind of question of all sets, beside what it is compared with.
func vary(sw sweep, sets []*set, kind string) (results []result, base map[string]measured) {
	reference := sw.base
	if reference == (constants{}) {
		reference = seed
	}
	base = map[string]measured{}
	for _, s := range sets {
		if q := s.questions[kind]; q != nil {
			base[s.name] = q.measure(&reference)
		}
	}
	results = make([]result, len(sw.values))
	for i, v := range sw.values {
		results[i].value = v
		if v.constants == reference {
			continue
		}
		mine := map[string]measured{}
		for _, s := range sets {
			if q := s.questions[kind]; q != nil {
				mine[s.name] = q.measure(&v.constants)
			}
		}
		results[i].changes = changes(mine, base, sets)
	}
	return results, base
}

// changes are the differences by set, and of the means in which every set counts alike.
func changes(mine, base map[string]measured, sets []*set) map[string]map[string]evaluate.Difference {
	by := map[string]map[string]evaluate.Difference{everySet: {}}
	pooled, pooledBase := map[string]evaluate.Sample{}, map[string]evaluate.Sample{}
	for _, s := range sets {
		if mine[s.name] == nil {
			continue
		}
		by[s.name] = map[string]evaluate.Difference{}
		for metric, x := range mine[s.name] {
			by[s.name][metric] = evaluate.PairedBootstrap(x, base[s.name][metric], 1)
			pooled[metric] = joined(pooled[metric], x)
			pooledBase[metric] = joined(pooledBase[metric], base[s.name][metric])
		}
	}
	for metric := range pooled {
		by[everySet][metric] = evaluate.PairedBootstrap(pooled[metric], pooledBase[metric], 1)
	}
	return by
}

// joined adds the episodes of a set, its questions together counting one.
func joined(all, more evaluate.Sample) evaluate.Sample {
	total := 0.0
	for _, n := range more.Count {
		total += n
	}
	for i := range more.Sum {
		all.Sum = append(all.Sum, more.Sum[i]/total)
		all.Count = append(all.Count, more.Count[i]/total)
	}
	return all
}
