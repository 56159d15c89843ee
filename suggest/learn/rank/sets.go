package rank

import (
	"slices"

	"waymark/internal/numeric"
	"waymark/suggest/learn"
	"waymark/suggest/semantic"
)

// A plan is chosen among sets of tools: the likeliest tools, as many as give the highest expected F1 and some more and
// fewer; the sets of near past requests; past sets of likely tools; likely tools with the tools that they require. Two
// models of trees score a set: its F1 with the tools that are used, and the chance that it contains all of them. They
// start from (sim = similarity of the nearest request)
//
//	F1        s·F1(set, that of the nearest request) + (1-s)·2·Σ_{t in set} p(t)/(|set| + Σ p(t)),   s = sim²
//	complete  s·[set has all of that of the nearest] + (1-s)·Π_{t not in set} (1 - p(t)),             s = sim⁸
//
// so that near copies of past requests get the tools of those requests, from the first task on.

// The features of a set.
const (
	setExpected = iota // start of F1, in log-odds
	setHas             // start of completeness, in log-odds
	setSum             // Σ log-odds of its tools
	setMean            // setSum divided by setSize
	setLeast           // smallest chance of its tools
	setNext            // largest chance of a tool that the set lacks
	setLacks           // sum of the chances of the tools that the set lacks
	setSize
	setLonger  // size less that of the likeliest tools with the highest expected F1
	setMore    // size less the sum of all chances
	setLikely  // F1 with the likeliest tools
	setTimes   // number of near requests that used exactly this set
	setShare   // share of these requests among the near ones, weighted by similarity²
	setBest    // largest similarity of these requests
	setNearest // similarity of the nearest request
	setClosed  // mean over its tools of the share of the required tools that the set contains
	setPast    // ln(1 + past tasks that used exactly this set)
	setBeside  // mean over its tools of the largest share of tasks with the tool that also used another tool of the set
	setApart   // smallest of these shares
	setKnown   // feature Known of the table
	setText
	setFeatures
)

const (
	moreSets     = 3   // how many tools more and fewer than expected a set of the likeliest tools may have
	nearSets     = 25  // near requests whose sets are considered
	foundSets    = 3   // tools, best by Found, that are considered together with the tools that they require
	closedSets   = 4   // likeliest tools that are considered together with the tools that they require
	seededSets   = 10  // likeliest tools whose past sets are considered
	mostAlike    = .98 // maximum weight of the nearest request
	mostPast     = 200 // newest past tasks considered for each tool
	mostLikely   = 30  // maximum number of past sets
	unlikely     = .02 // a past set with a tool whose chance is lower is not considered
	longestPlan  = 25
	leastNamed   = .5  // minimum match of a clause with the tool that it names
	nearlyNamed  = .85 // share of that match from which on another tool also serves the clause
	copied       = .5  // similarity from which on a near request justifies a tool that changes something
	surelyNeeded = .3  // need of a tool from which on a tool that it requires may change something
	surelyUsed   = .7  // chance from which on a tool may change something, unless the request only asks for reading
	leastPlanned = .05 // minimum chance of a tool in a set of the likeliest ones; the first needs none
)

// toolSet is a set of tools that a plan may consist of.
type toolSet struct {
	tools              []int32 // sorted
	times, share, best float64 // of the near requests that used exactly these tools: number, share, largest similarity
	named              bool    // contains the tools that the clauses of the request name
	row                []float32
}

// draft is the state of planning: the candidates of a request, each with the chance that a task uses it.
type draft struct {
	*History
	request *request
	chance  map[int32]float64
	found   []Ranked // tools that may be planned, by falling score of the ranker of requests (Found)
	likely  []Ranked // tools that may be planned, by falling chance
	total   float64  // sum of the chances of likely
	named   []naming
	refused map[int32]bool // tools that change something which the request does not ask for
	sets    []toolSet
	at      map[uint64]int
}

func newDraft(r *request, t *Table, needs *ranker, allows func(tool int32) bool) *draft {
	d := &draft{History: r.history, request: r, chance: map[int32]float64{}, refused: map[int32]bool{}, at: map[uint64]int{}}
	chances := make([]float64, len(t.Tools))
	for i := range t.Tools {
		chances[i] = min(.999, max(1e-4, needs.chance(needs.score(t.row(i)), t.row(i))))
	}
	if len(d.asked) == 0 && len(t.Tools) > 0 {
		d.require(t, chances)
	}
	for i, tool := range t.Tools {
		p := chances[i]
		if allows == nil || allows(tool) {
			d.likely = append(d.likely, Ranked{tool, p})
			d.found = append(d.found, Ranked{tool, float64(t.row(i)[Found])})
		}
	}
	d.found = best(d.found, len(d.found))
	d.likely = best(d.likely, len(d.likely))
	d.clauses()
	d.likely = d.plannable(d.likely)
	for _, c := range d.likely {
		d.chance[c.Tool] = c.Score
		d.total += c.Score
	}
	d.found = slices.DeleteFunc(d.found, func(c Ranked) bool { return d.chance[c.Tool] == 0 }) // not plannable
	return d
}

// require computes the chances of tools if there is no past request. The best match by Found gets the chance p of the
// ranker, every other match p times its share relative to the best. The tools that a match requires are needed with it,
// and more so if several matches require them:
//
//	p(t) = 1 - (1 - p·share(t))·Π_{by} (1 - p·share(by)²/(1 + place/10)),   share of the first: 1
//
// by runs over the best requiringTexts matches that require t; place is the place of t among the tools that by
// requires, the nearest first.
func (d *draft) require(t *Table, chances []float64) {
	hits := make([]Ranked, len(chances))
	for i := range hits {
		hits[i] = Ranked{int32(i), float64(t.row(i)[Found])}
	}
	hits = best(hits, len(hits))
	first := hits[0]
	p := chances[first.Tool]
	for i, hit := range hits {
		share := numeric.Exp(hit.Score - first.Score)
		chances[hit.Tool] = float64(p * share)
		hits[i].Score = float64(p * float64(share*share))
	}
	for _, hit := range hits[:min(len(hits), requiringTexts)] {
		for place, to := range required(d.texts.tools, t.Tools[hit.Tool]) {
			if i, ok := slices.BinarySearch(t.Tools, to); ok {
				chances[i] += float64((1 - chances[i]) * hit.Score / (1 + float64(place+1)/10))
			}
		}
	}
}

// plannable returns the tools that may be in a plan, of the likeliest ones and of those that the same request used. A tool
// adds something if a clause names it or the request has a word for it that no likelier tool has. A tool that changes
// something may be planned if the request has a verb of it that no likelier one has; if it adds something or is surely
// used, unless the request only asks for reading; if a needed tool requires it; or if similar requests used it. A tool is
// left out if no task used it, no likelier tool requires it, it adds nothing and is not surely used: many catalogs offer
// one service several times.
func (d *draft) plannable(list []Ranked) (kept []Ranked) {
	r := d.request
	var terms []string
	for _, term := range semantic.Terms(d.request.said) {
		terms = append(terms, term)
	}
	had, has := make([]bool, len(terms)), make([]bool, len(terms))
	acted := make([]bool, len(r.asks.families))
	for i, c := range list {
		if i >= longestPlan && r.of(c.Tool).best < 1 {
			continue
		}
		tool := &d.texts.tools[c.Tool]
		clear(has)
		semantic.Mark(tool.Name, terms, has)
		semantic.Mark(tool.Text, terms, has)
		adds := slices.ContainsFunc(d.named, func(x naming) bool { return x.tool == c.Tool })
		for k := range has {
			adds = adds || has[k] && !had[k]
		}
		if a := d.texts.actions[c.Tool]; a.effect == Changes && !a.guessed {
			asked := slices.ContainsFunc(a.families, func(f int) bool { return r.asks.families[f] && !acted[f] })
			if !asked && r.required[c.Tool] < surelyNeeded && r.of(c.Tool).best < copied && (r.asks.reads || !adds && c.Score < surelyUsed) {
				d.refused[c.Tool] = true
				continue
			}
			for _, f := range a.families {
				acted[f] = true
			}
		}
		by := kept
		if len(d.asked) == 0 { // without history a tool may be likelier than the tool that requires it
			by = list[:min(len(list), longestPlan)]
		}
		adds = adds || i == 0 || slices.ContainsFunc(by, func(k Ranked) bool { return slices.Contains(d.texts.closure[k.Tool], c.Tool) })
		if d.within[c.Tool] == 0 && !adds && c.Score < surelyUsed {
			continue
		}
		for k := range has {
			had[k] = had[k] || has[k]
		}
		kept = append(kept, c)
	}
	return kept
}

// consider adds a set unless it is there, and returns it.
func (d *draft) consider(tools []int32) *toolSet {
	set := slices.Clone(tools)
	slices.Sort(set)
	set = slices.Compact(set)
	k := key(set...)
	i, ok := d.at[k]
	if !ok {
		i = len(d.sets)
		d.at[k] = i
		d.sets = append(d.sets, toolSet{tools: set})
	}
	return &d.sets[i]
}

// choose returns the candidate sets with their features.
func (d *draft) choose() []toolSet {
	if len(d.likely) == 0 {
		return nil
	}
	p := make([]float64, len(d.likely))
	for i, c := range d.likely {
		p[i] = c.Score
	}
	expected, _ := learn.Size(p, longestPlan)
	words := semantic.Tokens(d.request.said)
	if whole := slices.IndexFunc(d.likely, func(c Ranked) bool { return isName(words, d.texts.names[c.Tool]) }); whole >= 0 {
		tool := d.likely[whole].Tool
		d.consider(d.planned(append([]int32{tool}, d.texts.closure[tool]...)))
		d.describe(d.sets[0].tools)
		return d.sets
	}
	prefix := func(k int) (tools []int32) {
		for i, c := range d.likely[:k] {
			if i == 0 || c.Score >= leastPlanned {
				tools = append(tools, c.Tool)
			}
		}
		if len(d.asked) == 0 && len(d.found) > 0 { // a tool that several tools require may be likelier than the best match
			tools = append(tools, d.found[0].Tool)
		}
		return tools
	}
	for k := max(1, expected-moreSets); k <= min(len(d.likely), expected+moreSets); k++ {
		d.consider(prefix(k))
	}
	for i, f := range d.found[:min(foundSets, len(d.found))] {
		with := d.planned(append([]int32{f.Tool}, d.texts.closure[f.Tool]...))
		d.consider(with)
		for k := 1; i == 0 && k <= min(len(d.likely), expected+1); k++ {
			d.consider(append(prefix(k), with...))
		}
	}
	likeliest := d.withNamed(prefix(expected))
	if len(d.asked) == 0 { // without history only the catalog shows which tools a tool needs
		for _, t := range slices.Clone(likeliest) {
			likeliest = append(likeliest, d.planned(d.texts.closure[t])...)
		}
	}
	d.consider(likeliest)
	sum := 1e-9
	near := d.request.near[:min(nearSets, len(d.request.near))]
	for _, v := range near {
		sum += float64(v.Similarity * v.Similarity)
	}
	for _, v := range near {
		used := d.tasks[d.asked[v.Row]].set
		if slices.ContainsFunc(used, func(t int32) bool { return d.refused[t] }) { // without its change it is another task
			continue
		}
		if set := d.planned(used); len(set) > 0 {
			s := d.consider(set)
			s.times++
			s.share += float64(v.Similarity*v.Similarity) / sum
			s.best = max(s.best, v.Similarity)
			d.consider(d.withNamed(set))
		}
	}
	for _, set := range d.likelyPast() {
		d.consider(set)
	}
	for _, c := range d.likely[:min(closedSets, len(d.likely))] {
		if list := d.texts.closure[c.Tool]; len(list) > 0 {
			d.consider(d.planned(append([]int32{c.Tool}, list...)))
		}
	}
	d.describe(likeliest)
	return d.sets
}

// naming is the tool that a clause of the request names: the one whose text matches best.
type naming struct {
	clause *semantic.Matching
	tool   int32
	match  float64
}

// clauses finds the tool that each clause of the request names. A match below leastNamed names none.
func (d *draft) clauses() {
	parts := d.request.clauses
	if len(parts) == 0 {
		parts = []*semantic.Matching{d.request.text}
	}
	for _, clause := range parts {
		best := naming{clause: clause}
		for _, c := range d.likely {
			if v := clause.Of(c.Tool); v > best.match {
				best.tool, best.match = c.Tool, v
			}
		}
		if best.match >= leastNamed {
			d.named = append(d.named, best)
		}
	}
}

// withNamed adds the tools that the clauses name, unless one of the given tools matches the clause nearly as well.
func (d *draft) withNamed(tools []int32) []int32 {
	for _, x := range d.named {
		had := 0.0
		for _, t := range tools {
			had = max(had, x.clause.Of(t))
		}
		if _, ok := d.chance[x.tool]; ok && had < nearlyNamed*x.match {
			tools = append(tools, x.tool)
		}
	}
	return tools
}

// isName reports whether the words of a request are the name of a tool and nothing else.
func isName(words, name []string) bool {
	in := func(all []string) func(string) bool {
		return func(w string) bool { return !slices.Contains(all, w) }
	}
	return len(name) > 1 && !slices.ContainsFunc(words, in(name)) && !slices.ContainsFunc(name, in(words))
}

// planned returns the first longestPlan tools of a set that may be planned.
func (d *draft) planned(set []int32) (kept []int32) {
	for _, t := range set {
		if _, ok := d.chance[t]; ok && len(kept) < longestPlan {
			kept = append(kept, t)
		}
	}
	return kept
}

// likelyPast returns the sets of past tasks that contain only likely tools, the likeliest set first.
func (d *draft) likelyPast() (sets [][]int32) {
	var found []Ranked // Tool is the task, Score the sum of the log-odds of its tools
	seen := map[uint64]bool{}
	for _, c := range d.likely[:min(seededSets, len(d.likely))] {
		users := d.users[c.Tool]
	next:
		for _, k := range users[max(0, len(users)-mostPast):] {
			set := d.tasks[k].set
			sum := 0.0
			for _, t := range set {
				p := d.chance[t]
				if p < unlikely {
					continue next
				}
				sum += logOdds(p)
			}
			if h := key(set...); !seen[h] {
				seen[h] = true
				found = append(found, Ranked{k, sum})
			}
		}
	}
	for _, f := range best(found, mostLikely) {
		sets = append(sets, d.tasks[f.Tool].set)
	}
	return sets
}

func logOdds(p float64) float64 { return numeric.Ln((p + 3e-3) / (1 - p + 3e-3)) }

func overlap(a, b []int32) (n float64) {
	for _, t := range a {
		if _, ok := slices.BinarySearch(b, t); ok {
			n++
		}
	}
	return n
}

// describe computes the features of the sets. likeliest are the tools with the highest expected F1.
func (d *draft) describe(likeliest []int32) {
	likeliest = slices.Clone(likeliest)
	slices.Sort(likeliest)
	likeliest = slices.Compact(likeliest)
	var nearest []int32
	similarity := 0.0
	if near := d.request.near; len(near) > 0 {
		nearest = d.tasks[d.asked[near[0].Row]].set
		similarity = near[0].Similarity
	}
	square := float64(similarity * similarity)
	alike, same := min(mostAlike, square), min(mostAlike, float64(square*square)*float64(square*square))
	for i := range d.sets {
		s := &d.sets[i]
		n := float64(len(s.tools))
		var has, odds, beside float64
		least, apart := 1.0, 1.0
		for _, t := range s.tools {
			p := d.chance[t]
			has, odds, least = has+p, odds+logOdds(p), min(least, p)
			most := 0.0
			for _, o := range s.tools {
				if o != t {
					most = max(most, d.besides(o, t))
				}
			}
			if n > 1 {
				beside, apart = beside+most/n, min(apart, most)
			}
		}
		lacks, next, none := 0.0, 0.0, 1.0
		for _, c := range d.likely {
			if _, in := slices.BinarySearch(s.tools, c.Tool); !in {
				lacks, next, none = lacks+c.Score, max(next, c.Score), none*(1-c.Score)
			}
		}
		closed := 0.0
		for _, t := range s.tools {
			if list := d.texts.closure[t]; len(list) > 0 {
				closed += overlap(s.tools, list) / float64(len(list)) / n
			} else {
				closed += 1 / n
			}
		}
		all := 0.0
		if overlap(nearest, s.tools) == float64(len(nearest)) {
			all = 1
		}
		f1 := float64(alike*similar(s.tools, nearest)) + float64((1-alike)*2*has)/(n+d.total)
		s.named = len(d.withNamed(s.tools)) == len(s.tools)
		s.row = make([]float32, setFeatures)
		for k, v := range [setFeatures]float64{
			setExpected: logOdds(f1), setHas: logOdds(float64(same*all) + float64((1-same)*none)),
			setSum: odds, setMean: odds / n, setLeast: least, setNext: next, setLacks: lacks, setSize: n, setLonger: n - float64(len(likeliest)),
			setMore: n - d.total, setLikely: similar(s.tools, likeliest), setTimes: s.times, setShare: s.share, setBest: s.best, setNearest: similarity,
			setClosed: closed, setPast: numeric.Ln(1 + float64(d.times[key(s.tools...)])), setBeside: beside, setApart: apart,
			setKnown: d.request.known, setText: d.request.most.text,
		} {
			s.row[k] = float32(v)
		}
	}
}

// similar returns the F1 of two sorted sets.
func similar(a, b []int32) float64 {
	if len(a)+len(b) == 0 {
		return 0
	}
	return 2 * overlap(a, b) / float64(len(a)+len(b))
}

// besides returns the share of the tasks with b that used a, too, with one task added to their number.
func (h *History) besides(a, b int32) float64 {
	return h.beside.of(key(b)).count(a) / (float64(h.within[b]) + 1)
}
