package plan

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"waymark/learn/labels"
	"waymark/learn/logit"
	"waymark/semantic"
	"waymark/semantic/thesaurus"
)

// everyReworded is of how many past requests of the sample one is seen in other words, too.
const everyReworded = 2

// reworded is a past request as somebody else may put it, with fewer of its words: the rarest few, those
// that tools have in their texts, or any half of them. Which of these, depends on the text alone.
func (m *Model) reworded(text string) string {
	fields := strings.Fields(text)
	h := fnv.New64a()
	h.Write([]byte(text))
	random := rand.New(rand.NewPCG(h.Sum64(), 0))
	var keep func(field int) bool
	switch random.IntN(3) {
	case 0:
		rarest := m.rarest(fields)
		rarest = rarest[:min(len(rarest), 3+random.IntN(4))]
		keep = func(i int) bool { return slices.Contains(rarest, i) }
	case 1:
		keep = func(i int) bool { return slices.ContainsFunc(semantic.Tokens(fields[i]), m.texts.words.has) }
	default:
		keep = func(int) bool { return random.IntN(2) == 0 }
	}
	var kept []string
	for i, f := range fields {
		if keep(i) {
			kept = append(kept, synonym(f, random))
		}
	}
	return strings.Join(kept, " ")
}

// synonym is a word of a request, or in half of the cases another one of the thesaurus for it, if there is one.
func synonym(word string, random *rand.Rand) string {
	if random.IntN(2) == 0 {
		return word
	}
	t := thesaurus.Default()
	related := t.Related(nil, semantic.Tokens(word))
	if len(related) == 0 {
		return word
	}
	return join(t.Entries()[related[random.IntN(len(related))].Entry])
}

// rarest are the numbers of the fields of a request, those with the rarest words first.
func (m *Model) rarest(fields []string) []int {
	at, idf := make([]int, len(fields)), make([]float64, len(fields))
	for i, f := range fields {
		at[i] = i
		for _, word := range semantic.Tokens(f) {
			idf[i] += m.content.vocab.Rarity(word)
		}
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(idf[b], idf[a]) })
	return at
}

// familiarities is how many numbers say how like past requests one is.
const familiarities = 6

// familiarity says how like past requests one is.
func (q *request) familiarity(content labels.Vector) []float64 {
	near := func(r reading) float64 {
		if len(r.near) == 0 {
			return 0
		}
		return r.near[0].Similarity
	}
	return []float64{near(q.reading), near(q.content), labels.Dot(q.text.x, q.text.x), labels.Dot(content, content), q.most.ridge, q.most.content}
}

// fitGate learns to tell requests in other words from past ones.
func (f *fit) fitGate() {
	d := logit.Data{P: familiarities}
	for k, q := range f.all {
		other := b2f(k >= len(f.sample))
		d.Add(q.familiar, other)
		d.W = append(d.W, float32(1+other*(everyReworded-1)))
	}
	if f.gate = f.regress(d, penalty); f.stopped.Load() {
		return
	}
	for _, q := range f.all {
		q.foreign = f.gate.P(q.familiar)
	}
}

// Kinds of requests: a request is foreign as far as the gate says.
const (
	both = iota - 1
	known
	foreign
)

// mix are the weights of a request, as far as it is foreign.
func (q *request) mix(of func(*weights) *logit.Model) *logit.Model {
	return of(&q.m.kinds[known]).Plus(q.foreign, of(&q.m.kinds[foreign]))
}
