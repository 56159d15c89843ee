// Package association learns which words of requests go with which tools, from past tasks alone: IBM model 1 (Brown
// et al., "The Mathematics of Statistical Machine Translation", Computational Linguistics 19, 1993), read from tools
// to words,
//
//	P(w | request) ∝ b(w) + Σ_t p(w | t)      t: the tools of the task
//
// where b is how often requests say w at all. Words that every request has are explained by b, so what is left to
// p(w | t) is what people say when they need t.
package association

import (
	"slices"

	"waymark/internal/numeric"
)

const (
	rounds    = 6
	belief    = 5.0     // pseudo-count of unexplained words per tool: shrinks p(w | t) of rarely used tools
	mostWords = 48      // of a request that are read
	mostTools = 32      // of a task that are read
	mostPairs = 8 << 20 // of a word and a tool in one task, over all tasks; older tasks are left out
	least     = 1e-5    // probability below which a pair is dropped
	common    = 3.0     // times b(w): a tool that says w as often has half of what w can say for it
	rare      = 0.002   // the same for words that are hardly ever said
)

// Task is a past request, as stems without stop words, and the tools used for it, each once.
type Task struct {
	Words []string
	Tools []int32
}

// Model scores tools for requests. It is immutable and safe for concurrent use; nil knows nothing.
type Model struct {
	words map[string]int32
	info  []float64 // of each word, ln(1 + requests/requests with it)
	lists [][]Vote  // of each word, the tools it speaks for, rising
}

// Vote is what a word says for a tool, in [0, 1).
type Vote struct {
	Tool int32
	Says float64
}

// pairs are the words and tools of all tasks: of each word in a task, the pairs it may come from.
type pairs struct {
	word, tool []int32 // by pair
	at         map[[2]int32]int32
	says       [][]int32 // of each word said
	of         []int32   // the word said
}

// Learn learns from tasks, the newest last. The order of words and tools within a task does not matter: of more than
// mostWords words the first by alphabet count, of more than mostTools tools those with the smallest numbers.
func Learn(tasks []Task) *Model {
	m := &Model{words: map[string]int32{}}
	p := pairs{at: map[[2]int32]int32{}}
	total := 0
	var requests []float64 // with each word
	from := len(tasks)
	for ; from > 0 && total < mostPairs; from-- {
		total += min(len(tasks[from-1].Words), mostWords) * min(len(tasks[from-1].Tools), mostTools)
	}
	for _, task := range tasks[from:] {
		words := slices.Clone(task.Words)
		slices.Sort(words)
		words = slices.Compact(words)
		tools := slices.Clone(task.Tools)
		slices.Sort(tools)
		tools = tools[:min(len(tools), mostTools)]
		for _, w := range words[:min(len(words), mostWords)] {
			n, known := m.words[w]
			if !known {
				n = int32(len(requests))
				m.words[w] = n
				requests = append(requests, 0)
			}
			requests[n]++
			p.add(n, tools)
		}
	}
	if len(p.word) == 0 {
		return nil
	}
	all := 0.0
	for _, n := range requests {
		all += n
	}
	background := make([]float64, len(requests))
	m.info, m.lists = make([]float64, len(requests)), make([][]Vote, len(requests))
	for w, n := range requests {
		background[w] = n / all
		m.info[w] = numeric.Ln(1 + float64(len(tasks)-from)/n)
	}
	for i, x := range p.fit(background) {
		if w := p.word[i]; x > least {
			m.lists[w] = append(m.lists[w], Vote{p.tool[i], x / (x + float64(common*background[w]) + rare)})
		}
	}
	for _, l := range m.lists {
		slices.SortFunc(l, func(a, b Vote) int { return int(a.Tool - b.Tool) })
	}
	return m
}

// add notes that a request has a word and used these tools. Pairs get numbers in order of appearance.
func (p *pairs) add(word int32, tools []int32) {
	list := make([]int32, 0, len(tools))
	for _, t := range tools {
		n, known := p.at[[2]int32{word, t}]
		if !known {
			n = int32(len(p.word))
			p.at[[2]int32{word, t}] = n
			p.word, p.tool = append(p.word, word), append(p.tool, t)
		}
		list = append(list, n)
	}
	p.says, p.of = append(p.says, list), append(p.of, word)
}

// fit returns p(w | t) of each pair.
func (p *pairs) fit(background []float64) []float64 {
	x, n := make([]float64, len(p.word)), make([]float64, len(p.word))
	of := make([]float64, slices.Max(p.tool)+1)
	for i := range x {
		x[i] = 0.001
	}
	for range rounds {
		clear(n)
		clear(of)
		for s, list := range p.says {
			z := background[p.of[s]]
			for _, i := range list {
				z += x[i]
			}
			for _, i := range list {
				share := x[i] / z
				n[i] += share
				of[p.tool[i]] += share
			}
		}
		for i := range x {
			x[i] = n[i] / (of[p.tool[i]] + belief)
		}
	}
	return x
}

// Score calls visit for each tool that a word of a request speaks for, with the share of the request's known
// information that speaks for it: a tool may be visited several times, and what is visited adds up. Words are given
// as stems, each once.
func (m *Model) Score(words []string, visit func(tool int32, adds float64)) {
	if m == nil {
		return
	}
	most := 0.0
	for _, w := range words {
		if n, ok := m.words[w]; ok {
			most += m.info[n]
		}
	}
	for _, w := range words {
		if n, ok := m.words[w]; ok {
			for _, v := range m.lists[n] {
				visit(v.Tool, float64(m.info[n]*v.Says)/most)
			}
		}
	}
}
