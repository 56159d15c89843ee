package evaluate

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"

	"waymark/catalog"
	"waymark/internal/numeric"
)

// stopWords say nothing about what is asked for.
var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields("a an and are as at be by can could for from have how i in is it me my of on or our please so that the " +
		"then there this to was we what when which will with would you your") {
		m[w] = true
	}
	return m
}()

// words of a text as the text baselines see it: runs of a-z and 0-9 in lower case, cut where a capital
// follows a small letter, Chinese characters one by one, without stop words and the s of a plural.
func words(text string) []string {
	var list []string
	var run []byte
	end := func() {
		w := string(run)
		run = run[:0]
		if w == "" || stopWords[w] {
			return
		}
		if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
			w = w[:len(w)-1]
		}
		list = append(list, w)
	}
	var last rune
	for _, r := range text {
		if 'A' <= r && r <= 'Z' && ('a' <= last && last <= 'z' || '0' <= last && last <= '9') {
			end()
		}
		last = r
		switch r = unicode.ToLower(r); {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			run = append(run, byte(r))
		case 0x4e00 <= r && r <= 0x9fff:
			end()
			list = append(list, string(r))
		default:
			end()
		}
	}
	end()
	return list
}

// frequencies counts words, in order of the words, so that sums over them have one order.
func frequencies(list []string) (distinct []string, count []float64) {
	list = slices.Clone(list)
	slices.Sort(list)
	for i, w := range list {
		if i == 0 || w != list[i-1] {
			distinct, count = append(distinct, w), append(count, 0)
		}
		count[len(count)-1]++
	}
	return distinct, count
}

// posting says how much a word weighs in a document.
type posting struct {
	doc    int32
	weight float64
}

// inverted is an index of documents by word.
type inverted struct {
	postings map[string][]posting
	docs     int
	pool     sync.Pool // of []float64 by document, all zero
}

func newInverted(docs int) *inverted {
	x := &inverted{postings: map[string][]posting{}, docs: docs}
	x.pool.New = func() any { return new(make([]float64, docs)) }
	return x
}

// top adds up weights and returns the k best documents that are wanted, by score, then by place.
func (x *inverted) top(list []string, weight []float64, k int, wanted func(doc int32) bool, tie func(a, b int32) int) []scored {
	score := *x.pool.Get().(*[]float64)
	defer func() { x.pool.Put(&score) }()
	var touched []int32
	for i, w := range list {
		for _, p := range x.postings[w] {
			if score[p.doc] == 0 {
				touched = append(touched, p.doc)
			}
			score[p.doc] += float64(weight[i] * p.weight)
		}
	}
	var best []scored
	for _, d := range touched {
		if wanted(d) {
			best = append(best, scored{d, score[d]})
		}
		score[d] = 0
	}
	slices.SortFunc(best, func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), tie(a.of, b.of)) })
	return best[:min(k, len(best))]
}

// longest list that the baselines of an intent give.
const listed = 50

// bm25 ranks tools by their texts: the name counts twice, then description, domain and server
// (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009), with
//
//	idf = ln(1 + (n - df + ½)/(df + ½)),  k₁ = 1.2,  b = .75
type bm25 struct {
	*inverted
	ids []string
	idf map[string]float64
}

// newBM25 computes all of a posting but idf, which find multiplies in.
func newBM25(tools []catalog.Tool) *bm25 {
	const k1, b = 1.2, 0.75
	x := &bm25{inverted: newInverted(len(tools)), idf: map[string]float64{}}
	lengths := make([]float64, len(tools))
	texts := make([][]string, len(tools))
	for i, t := range tools {
		x.ids = append(x.ids, t.ID)
		name := words(t.Name)
		texts[i] = slices.Concat(name, name, words(t.Description), words(t.Domain), words(t.Server))
		lengths[i] = float64(len(texts[i]))
	}
	mean := ratio(numeric.Sum(lengths), float64(len(tools)))
	if mean == 0 {
		mean = 1
	}
	for i := range tools {
		list, count := frequencies(texts[i])
		for j, w := range list {
			f := count[j]
			weight := f * (k1 + 1) / (f + float64(k1*(1-b+float64(b*lengths[i])/mean)))
			x.postings[w] = append(x.postings[w], posting{int32(i), weight})
		}
	}
	for w, p := range x.postings {
		df := float64(len(p))
		x.idf[w] = numeric.Ln(1 + (float64(len(tools))-df+0.5)/(df+0.5))
	}
	return x
}

// find ranks by the distinct words of the query, ties by id.
func (x *bm25) find(query []string) []string {
	list := distinct(query)
	weight := make([]float64, len(list))
	for i, w := range list {
		weight[i] = x.idf[w]
	}
	all := func(int32) bool { return true }
	var ids []string
	for _, s := range x.top(list, weight, listed, all, func(a, b int32) int { return strings.Compare(x.ids[a], x.ids[b]) }) {
		ids = append(ids, x.ids[s.of])
	}
	return ids
}

// intentIndex finds the past intents nearest to a new one, by the cosine of TF-IDF vectors with
// tf = 1 + ln f and idf = ln((1 + n)/(1 + df)) + 1.
type intentIndex struct {
	*inverted
	tasks []*task
	idf   map[string]float64
}

// newIntentIndex does not use package semantic: a baseline shares no code with what it is compared with.
func newIntentIndex(history []*task) *intentIndex {
	x := &intentIndex{idf: map[string]float64{}}
	for _, t := range history {
		if t.Episode.Intent != "" {
			x.tasks = append(x.tasks, t)
		}
	}
	x.inverted = newInverted(len(x.tasks))
	texts := make([][]string, len(x.tasks))
	df := map[string]float64{}
	for i, t := range x.tasks {
		texts[i] = words(t.Episode.Intent)
		for _, w := range distinct(texts[i]) {
			df[w]++
		}
	}
	n := float64(max(1, len(x.tasks)))
	for w, d := range df {
		x.idf[w] = numeric.Ln((1+n)/(1+d)) + 1
	}
	for i := range x.tasks {
		list, vector := x.vector(texts[i])
		for j, w := range list {
			x.postings[w] = append(x.postings[w], posting{int32(i), vector[j]})
		}
	}
	return x
}

// vector of a text, of length 1; words that no past intent has are left out.
func (x *intentIndex) vector(text []string) (list []string, weight []float64) {
	for _, w := range text {
		if _, ok := x.idf[w]; ok {
			list = append(list, w)
		}
	}
	list, weight = frequencies(list)
	for i, w := range list {
		weight[i] = float64((1 + numeric.Ln(weight[i])) * x.idf[w])
	}
	norm := numeric.Norm(weight)
	for i := range weight {
		weight[i] /= norm
	}
	return list, weight
}

// neighbour is a past task with its likeness to the new one.
type neighbour struct {
	*task
	likeness float64
}

const nearestIntents = 10

// nearest returns the past tasks with the most similar intents, nearest first; of two as near the
// earlier. Tasks of the group are left out.
func (x *intentIndex) nearest(intent, group string) []neighbour {
	list, weight := x.vector(words(intent))
	other := func(d int32) bool { return x.tasks[d].group != group }
	var near []neighbour
	for _, s := range x.top(list, weight, nearestIntents, other, func(a, b int32) int { return cmp.Compare(a, b) }) {
		near = append(near, neighbour{x.tasks[s.of], s.score})
	}
	return near
}

// vote ranks tools by the likeness of the neighbours that used them.
func vote(near []neighbour) []string {
	score := map[string]float64{}
	for _, n := range near {
		for _, id := range n.set {
			score[id] += n.likeness
		}
	}
	return byScore(score)
}

// fuse joins rankings by reciprocal rank, 1/(60 + place) each (Cormack, Clarke and Büttcher, SIGIR
// 2009).
func fuse(rankings ...[]string) []string {
	score := map[string]float64{}
	for _, r := range rankings {
		for i, id := range r {
			score[id] += 1 / float64(60+i+1)
		}
	}
	return byScore(score)
}

// byScore lists the best ids, by score, then by id.
func byScore(score map[string]float64) []string {
	ids := make([]string, 0, len(score))
	for id := range score {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(score[b], score[a]), strings.Compare(a, b)) })
	return ids[:min(listed, len(ids))]
}

// walk follows each of the first ten tools by what it needs, depth first.
func walk(ranked []string, needs map[string][]string) []string {
	var list []string
	seen := map[string]bool{}
	for _, id := range ranked[:min(10, len(ranked))] {
		stack := []string{id}
		for len(stack) > 0 && len(list) < listed {
			at := stack[0]
			stack = stack[1:]
			if seen[at] {
				continue
			}
			seen[at] = true
			list = append(list, at)
			stack = append(slices.Clone(needs[at]), stack...)
		}
	}
	return list
}

// A plan of the baselines links what mostly was linked: a → b where at least half of the episodes with
// both have that link.
const linkShare = 0.5

// linkCounts count, over a history, the episodes with two tools and those that link them.
type linkCounts struct {
	together, linked map[Link]float64
}

// newLinkCounts counts each ordered pair once for an episode, however often it occurs there.
func newLinkCounts(history []*task) linkCounts {
	c := linkCounts{map[Link]float64{}, map[Link]float64{}}
	for _, t := range history {
		for _, a := range t.set {
			for _, b := range t.set {
				if a != b {
					c.together[Link{a, b}]++
				}
			}
		}
		for _, l := range t.links {
			c.linked[l]++
		}
	}
	return c
}

// links of a plan of these tools. What held, a task of the history, is not counted; nil is none.
func (c linkCounts) links(tools []string, held *task) []Link {
	var links []Link
	for _, a := range tools {
		for _, b := range tools {
			l := Link{a, b}
			together := c.together[l]
			if a == b || together == 0 {
				continue
			}
			linked := c.linked[l]
			if held != nil && contains(held.set, a) && contains(held.set, b) {
				together--
				if _, ok := slices.BinarySearchFunc(held.links, l, Link.compare); ok {
					linked--
				}
			}
			if together > 0 && linked >= linkShare*together {
				links = append(links, l)
			}
		}
	}
	return links
}

func contains(sorted []string, id string) bool {
	_, ok := slices.BinarySearch(sorted, id)
	return ok
}

// f1Curve is the F1 of the first k ranked tools, for k = 0 … longestPlan.
func f1Curve(ranked, gold []string) (f1 [longestPlan + 1]float64) {
	hits := 0
	for k := 1; k <= longestPlan; k++ {
		if k <= len(ranked) && contains(gold, ranked[k-1]) {
			hits++
		}
		if n := min(k, len(ranked)); hits > 0 {
			p, r := float64(hits)/float64(n), float64(hits)/float64(len(gold))
			f1[k] = 2 * p * r / (p + r)
		}
	}
	return f1
}

// longestPlan of the baselines, in tools.
const longestPlan = 25

// argmax is the first k ≥ 1 with the largest value.
func argmax(x [longestPlan + 1]float64) int {
	best, most := 1, math.Inf(-1)
	for k := 1; k < len(x); k++ {
		if x[k] > most {
			best, most = k, x[k]
		}
	}
	return best
}
