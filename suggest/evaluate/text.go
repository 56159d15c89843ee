package evaluate

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"waymark/catalog"
	"waymark/internal/numeric"
)

// The text baselines share no code with what they are compared with.

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
func frequencies(list []string) (different []string, count []float64) {
	for i, w := range slices.Sorted(slices.Values(list)) {
		if i == 0 || w != different[len(different)-1] {
			different, count = append(different, w), append(count, 0)
		}
		count[len(count)-1]++
	}
	return different, count
}

// index finds documents by word. weight is that of a word in a document.
type index struct {
	idf      map[string]float64
	postings map[string][]scored
	docs     int
}

// top adds up weights and returns the k best documents, of equal ones the first.
func (x *index) top(list []string, weight func(i int) float64, k int) []scored {
	score := make([]float64, x.docs)
	var found []scored
	for i, w := range list {
		by := weight(i)
		for _, p := range x.postings[w] {
			if score[p.of] == 0 {
				found = append(found, scored{of: p.of})
			}
			score[p.of] += float64(by * p.score)
		}
	}
	for i := range found {
		found[i].score = score[found[i].of]
	}
	slices.SortFunc(found, best)
	return found[:min(k, len(found))]
}

// longest list that the baselines of an intent give.
const listed = 50

// toolIndex ranks tools by their texts: the name counts twice, then description, domain and server
// (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009), with
//
//	idf = ln(1 + (n - df + ½)/(df + ½)),  k₁ = 1.2,  b = .75
type toolIndex struct {
	index
	ids []string // sorted
}

// newToolIndex computes all of a weight but idf, which find multiplies in.
func newToolIndex(tools []catalog.Tool) *toolIndex {
	const k1, b = 1.2, 0.75
	tools = slices.SortedFunc(slices.Values(tools), func(a, b catalog.Tool) int { return strings.Compare(a.ID, b.ID) })
	x := &toolIndex{index: index{map[string]float64{}, map[string][]scored{}, len(tools)}}
	mean := 0.0
	texts := make([][]string, len(tools))
	for i, t := range tools {
		x.ids = append(x.ids, t.ID)
		name := words(t.Name)
		texts[i] = slices.Concat(name, name, words(t.Description), words(t.Domain), words(t.Server))
		mean += float64(len(texts[i]))
	}
	mean = cmp.Or(ratio(mean, float64(len(tools))), 1)
	for i, text := range texts {
		list, count := frequencies(text)
		for j, w := range list {
			weight := count[j] * (k1 + 1) / (count[j] + float64(k1*(1-b+float64(b*float64(len(text)))/mean)))
			x.postings[w] = append(x.postings[w], scored{i, weight})
		}
	}
	for w, p := range x.postings {
		df := float64(len(p))
		x.idf[w] = numeric.Ln(1 + (float64(len(tools))-df+0.5)/(df+0.5))
	}
	return x
}

// find ranks by the distinct words of the query.
func (x *toolIndex) find(query string) ([]string, error) {
	list := distinct(words(query))
	var ids []string
	for _, s := range x.top(list, func(i int) float64 { return x.idf[list[i]] }, listed) {
		ids = append(ids, x.ids[s.of])
	}
	return ids, nil
}

// intentIndex finds the past intents nearest to a new one, by the cosine of TF-IDF vectors with
// tf = 1 + ln f and idf = ln((1 + n)/(1 + df)) + 1.
type intentIndex struct {
	index
	tasks []*task
}

func newIntentIndex(history []*task) *intentIndex {
	x := &intentIndex{index: index{idf: map[string]float64{}, postings: map[string][]scored{}}}
	for _, t := range history {
		if t.Episode.Intent != "" {
			x.tasks = append(x.tasks, t)
		}
	}
	x.docs = len(x.tasks)
	texts := make([][]string, x.docs)
	for i, t := range x.tasks {
		texts[i] = words(t.Episode.Intent)
		for _, w := range distinct(texts[i]) {
			x.idf[w]++
		}
	}
	for w, df := range x.idf {
		x.idf[w] = numeric.Ln(float64(1+max(1, x.docs))/(1+df)) + 1
	}
	for i := range x.tasks {
		list, vector := x.vector(texts[i])
		for j, w := range list {
			x.postings[w] = append(x.postings[w], scored{i, vector[j]})
		}
	}
	return x
}

// vector of a text, of length 1; words that no past intent has are left out.
func (x *intentIndex) vector(text []string) (list []string, weight []float64) {
	list, weight = frequencies(slices.DeleteFunc(slices.Clone(text), func(w string) bool { return x.idf[w] == 0 }))
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

// nearest returns the ten past tasks with the most similar intents, nearest first; of two as near the earlier.
func (x *intentIndex) nearest(intent string) []neighbour {
	list, weight := x.vector(words(intent))
	var near []neighbour
	for _, s := range x.top(list, func(i int) float64 { return weight[i] }, 10) {
		near = append(near, neighbour{x.tasks[s.of], s.score})
	}
	return near
}

// vote ranks tools by the likeness of the neighbours that used them, ties by id.
func vote(near []neighbour) []string {
	score := map[string]float64{}
	for _, n := range near {
		for _, id := range n.set {
			score[id] += n.likeness
		}
	}
	ids := make([]string, 0, len(score))
	for id := range score {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(score[b], score[a]), strings.Compare(a, b)) })
	return ids[:min(listed, len(ids))]
}
