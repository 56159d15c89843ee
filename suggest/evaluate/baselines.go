package evaluate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/internal/numeric"
	"waymark/suggest/semantic"
)

// listed is the length limit of the lists that the baselines return for an intent.
const listed = 50

// baselines returns the simple baselines, in the order of a table. A tool without a score is not ranked.
//
//	popularity   how often the tool was called
//	markov1      n(last → t); then popularity for the tools not ranked yet
//	markov2      n(last two → t); then markov1, then popularity
//	markov2_knn  a chain of order two, smoothed, mixed with the votes of the nearest past intents; see [counts.mixed]
//	bm25         words of the tools' texts (BM25F), without synonyms, word vectors and histories; a plan is
//	             the first three tools
//	knn          votes of the ten nearest past intents for their tools, weighted by similarity
//	copy         the plan of the nearest past intent
//
// Ties between next tools go to the more popular tool. All remaining ties between tools go to the smaller id.
func baselines(history []*task, text *toolIndex) []Predictor {
	c := newCounts(history)
	list := []Predictor{
		{Name: "popularity", Next: func(q Question) ([]Candidate, error) { return layers(c.rows(q, 0)), nil }},
		{Name: "markov1", Next: func(q Question) ([]Candidate, error) { return layers(c.rows(q, 1)), nil }},
		{Name: "markov2", Next: func(q Question) ([]Candidate, error) { return layers(c.rows(q, 2)), nil }},
		{Name: "markov2_knn", withIntent: true, Next: func(q Question) ([]Candidate, error) { return c.mixed(q), nil }},
		{Name: "bm25", Search: text.find, Find: text.find, Plan: func(intent string) (Plan, error) {
			found, err := text.find(intent)
			return Plan{Tools: found[:min(3, len(found))]}, err
		}},
		{Name: "knn", Find: func(intent string) (ids []string, _ error) {
			score := map[string]float64{}
			for _, n := range c.nearest(intent) {
				for _, id := range n.set {
					score[id] += n.similarity
				}
			}
			for _, s := range ranked(score, nil) {
				ids = append(ids, s.id)
			}
			return ids[:min(listed, len(ids))], nil
		}},
		{Name: "copy", Plan: func(intent string) (Plan, error) {
			if near := c.nearest(intent); len(near) > 0 {
				return Plan{Tools: near[0].set, Links: near[0].links}, nil
			}
			return Plan{}, nil
		}},
	}
	for i := range list {
		list[i].simple = true
	}
	return list
}

// toolIndex ranks tools by their texts.
type toolIndex struct {
	*semantic.Matcher
	ids []string // sorted
}

func newToolIndex(tools []catalog.Tool) *toolIndex {
	x, docs := &toolIndex{}, make([]semantic.Document, len(tools))
	for i, t := range slices.SortedFunc(slices.Values(tools), func(a, b catalog.Tool) int { return strings.Compare(a.ID, b.ID) }) {
		x.ids = append(x.ids, t.ID)
		docs[i] = semantic.Document{Name: t.Name, Text: t.Description, Properties: t.Domain + " " + t.Server}
	}
	x.Matcher = semantic.NewMatcher(docs, nil, nil, nil)
	return x
}

func (x *toolIndex) find(query string) (ids []string, _ error) {
	m := x.Match(query)
	defer m.Close()
	for _, h := range m.Top(nil, listed, 0) {
		ids = append(ids, x.ids[h.Doc])
	}
	return ids, nil
}

// scored is a tool with its score.
type scored struct {
	id    string
	score float64
}

// ranked sorts by descending score; ties go to the more popular tool, then to the smaller id. uses may be nil.
func ranked(score, uses map[string]float64) []scored {
	list := make([]scored, 0, len(score))
	for id, s := range score {
		list = append(list, scored{id, s})
	}
	slices.SortFunc(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(uses[b.id], uses[a.id]), strings.Compare(a.id, b.id))
	})
	return list
}

// counts holds the statistics of a history that the baselines use.
type counts struct {
	uses  map[string]float64
	after map[[2]string][]scored // by the last two tools, "" for none: the next tools, most frequent first

	asked    []*task // tasks with an intent
	idf      map[string]float64
	postings map[string][]posting // by term of intents
}

// posting is the weight of a term in the intent of a task, which is given by its index in asked.
type posting struct {
	task   int
	weight float64
}

func newCounts(history []*task) *counts {
	c := &counts{uses: map[string]float64{}, after: map[[2]string][]scored{}, idf: map[string]float64{}, postings: map[string][]posting{}}
	next := map[[2]string]map[string]float64{}
	for _, t := range history {
		if t.hasIntent() {
			c.asked = append(c.asked, t)
			for _, term := range distinct(semantic.Tokens(t.Episode.Intent)) {
				c.idf[term]++
			}
		}
		for i, id := range t.seq {
			c.uses[id]++
			for k := range min(i, 2) {
				key := last(t.seq[:i], k+1)
				if next[key] == nil {
					next[key] = map[string]float64{}
				}
				next[key][id]++
			}
		}
	}
	for term, n := range c.idf {
		c.idf[term] = numeric.Ln(float64(1+len(c.asked))/(1+n)) + 1
	}
	for i, t := range c.asked {
		c.vector(t.Episode.Intent, func(term string, w float64) { c.postings[term] = append(c.postings[term], posting{i, w}) })
	}
	c.after[last(nil, 0)] = ranked(c.uses, nil)
	for key, n := range next {
		c.after[key] = ranked(n, c.uses)
	}
	return c
}

// last returns the last n tools of a context as a key; n is at most 2.
func last(context []string, n int) (key [2]string) {
	copy(key[2-n:], context[len(context)-n:])
	return key
}

// rows returns the next tools: after the last longest tools, then after each smaller number of them, then anywhere.
func (c *counts) rows(q Question, longest int) (rows [][]scored) {
	for n := min(longest, len(q.Context)); n >= 0; n-- {
		rows = append(rows, c.after[last(q.Context, n)])
	}
	return rows
}

// layers concatenates the tools of the rows; each tool is listed once.
func layers(rows [][]scored) (list []Candidate) {
	seen := map[string]bool{}
	for _, row := range rows {
		for _, s := range row {
			if !seen[s.id] {
				seen[s.id] = true
				list = append(list, Candidate{ID: s.id})
			}
		}
	}
	return list
}

// neighbour is a past task with the similarity of its intent to the new one.
type neighbour struct {
	*task
	similarity float64
}

// vector yields the terms of an intent in order, with weights (1 + ln f)·idf of length 1 in all, where
// idf = ln((1 + n)/(1 + df)) + 1. Terms that no past intent has are left out.
func (c *counts) vector(intent string, yield func(term string, weight float64)) {
	count := map[string]float64{}
	for _, term := range semantic.Tokens(intent) {
		if c.idf[term] > 0 {
			count[term]++
		}
	}
	terms, weights := slices.Sorted(maps.Keys(count)), make([]float64, len(count))
	for i, term := range terms {
		weights[i] = float64((1 + numeric.Ln(count[term])) * c.idf[term])
	}
	norm := numeric.Norm(weights)
	for i, term := range terms {
		yield(term, weights[i]/norm)
	}
}

// nearest returns the ten past tasks with the most similar intents by cosine, nearest first, the earlier on ties.
func (c *counts) nearest(intent string) (near []neighbour) {
	cosine := map[int]float64{}
	c.vector(intent, func(term string, weight float64) {
		for _, p := range c.postings[term] {
			cosine[p.task] += float64(weight * p.weight)
		}
	})
	for _, i := range slices.Sorted(maps.Keys(cosine)) {
		near = append(near, neighbour{c.asked[i], cosine[i]})
	}
	slices.SortStableFunc(near, func(a, b neighbour) int { return cmp.Compare(b.similarity, a.similarity) })
	return near[:min(10, len(near))]
}

// mixed ranks tools by the chain and the neighbours of the intent:
//
//	P(t) = ¾·P(t | last two) + ¼·votes(t)/Σ votes
//	P(t | last two) = (n₂(t) + P(t | last))/(n₂ + 1),  P(t | last) = (n₁(t) + P(t))/(n₁ + 1)
//
// Without neighbours, it uses the chain alone.
func (c *counts) mixed(q Question) []Candidate {
	const voteShare = 0.25
	weight := map[string]float64{}
	left := 1.0
	if votes, near := 0.0, c.nearest(q.Intent); len(near) > 0 {
		left -= voteShare
		for _, n := range near {
			votes += float64(n.similarity * float64(len(n.set)))
		}
		for _, n := range near {
			for _, id := range n.set {
				weight[id] += voteShare * n.similarity / votes
			}
		}
	}
	for _, row := range c.rows(q, 2) { // n counts take n/(n+1) of the remaining weight; shorter contexts get the rest
		total := 1.0
		for _, s := range row {
			total += s.score
		}
		for _, s := range row {
			weight[s.id] += left * s.score / total
		}
		left /= total
	}
	return layers([][]scored{ranked(weight, c.uses)})
}
