package plan

import (
	"slices"
	"strings"
	"sync"

	"waymark/internal/numeric"
	"waymark/learn/labels"
	"waymark/semantic"
	"waymark/semantic/thesaurus"
)

// Tool is a tool as text. Tools have the numbers of their places in the list.
type Tool struct {
	Name       string
	Text       string // description
	Properties string // names and descriptions of parameters
	Server     string // what offers it, with the words of its domain; tools of one server are mates
}

// Texts are the tools as something to be found by words. They depend on the catalog alone, so that a
// new fit of the history does not index it again. Immutable and safe for concurrent use.
type Texts struct {
	tools   []Tool
	docs    *semantic.Index
	servers *semantic.Index
	server  []int32   // of a tool; -1 where it names none
	mates   [][]int32 // of a server
	names   naming
	hosts   naming // of servers
	words   *bm25
	vector  []labels.Vector // of the document, words and pairs of them, to compare tools
	near    *labels.Nearest // over vector
	vocab   *labels.Vocabulary
	rooms   sync.Pool // of *[]float64 by feature and lane, all zero
	meaning *semantic.Matcher
}

// Len is the number of tools.
func (t *Texts) Len() int { return len(t.tools) }

// NewTexts indexes tools.
func NewTexts(tools []Tool) *Texts {
	t := &Texts{tools: tools}
	t.index()
	docs := make([]semantic.Document, len(tools))
	servers := make([]semantic.Document, len(t.mates))
	for i, tool := range tools {
		docs[i] = semantic.Document{Name: tool.Name, Text: tool.Text, Properties: tool.Properties + " " + tool.Server}
		if s := t.server[i]; s >= 0 {
			servers[s].Name = tool.Server
			servers[s].Text += tool.Name + " " + tool.Text + "\n"
		}
	}
	t.docs = semantic.Build(docs, semantic.Options{})
	t.servers = semantic.Build(servers, semantic.Options{Rank: -1})
	t.meaning = t.docs.Matcher(thesaurus.Default(), nil)
	return t
}

// index fills in all but the semantic indexes.
func (t *Texts) index() {
	n := len(t.tools)
	t.server = make([]int32, n)
	tokens, names := make([][]string, n), make([][]string, n)
	number := map[string]int32{}
	for i, tool := range t.tools {
		t.server[i] = -1
		if tool.Server != "" {
			s, ok := number[tool.Server]
			if !ok {
				s = int32(len(t.mates))
				number[tool.Server] = s
				t.mates = append(t.mates, nil)
			}
			t.server[i] = s
			t.mates[s] = append(t.mates[s], int32(i))
		}
		name := semantic.Tokens(tool.Name)
		tokens[i] = slices.Concat(name, name, semantic.Tokens(tool.Text), semantic.Tokens(tool.Server), semantic.Tokens(tool.Properties))
		names[i] = name
	}
	t.words = newBM25(tokens)
	t.vocab, t.vector = labels.NewVocabulary(tokens)
	t.near = labels.NewNearest(t.vector, t.vocab.Len())
	t.rooms.New = func() any { return new(make([]float64, t.vocab.Len()*numeric.Lanes)) }
	hosts := make([][]string, len(t.mates))
	for s, of := range t.mates {
		hosts[s] = semantic.Tokens(t.tools[of[0]].Server)
	}
	t.names, t.hosts = newNaming(names), newNaming(hosts)
}

// Match is what a request has in common with every tool, by number; all in [0, 1].
type Match struct {
	text   []float32 // semantic score of the whole document
	name   []float32 // share of the words of the name, by idf, that stand in the request
	server []float32 // semantic score of the server
	words  []float32 // BM25, divided by the best
	cosine []float32 // of tf·idf vectors over words and pairs of neighbouring words
	host   []float32 // share of the words of the server's name, by idf, that stand in the request
	clause []float32 // BM25 of the clause of the request that the tool fits best, divided by the best of that clause

	meaning       []float32 // share of the words of the request that the tool's text answers, in the same or related words
	clauseMeaning []float32 // of the clause of the request that it answers best
}

// Match compares a request with all tools.
func (t *Texts) Match(request string) *Match {
	m := &Match{text: make([]float32, len(t.tools)), server: make([]float32, len(t.tools))}
	for i, h := range t.docs.Scores(request, nil) {
		m.text[i] = float32(h.Score)
	}
	tokens := semantic.Tokens(request)
	m.name = t.names.shares(tokens)
	m.words, m.clause = make([]float32, len(t.tools)), make([]float32, len(t.tools))
	relative(m.words, t.words.scores(tokens))
	m.meaning, m.clauseMeaning = make([]float32, len(t.tools)), make([]float32, len(t.tools))
	t.answers(m.meaning, request)
	copy(m.clauseMeaning, m.meaning)
	for _, c := range clauses(request) {
		if !slices.Equal(c.tokens, tokens) {
			t.answers(m.clauseMeaning, c.text)
		}
		if slices.Equal(c.tokens, tokens) {
			for i, x := range m.words {
				m.clause[i] = max(m.clause[i], x)
			}
			continue
		}
		relative(m.clause, t.words.scores(c.tokens))
	}
	m.cosine, m.host = make([]float32, len(t.tools)), make([]float32, len(t.tools))
	x, _ := t.vocab.Vector(tokens)
	for i, s := range t.near.Similarities(x) {
		m.cosine[i] = float32(s)
	}
	host := t.hosts.shares(tokens)
	servers := t.servers.Scores(request, nil)
	for i, s := range t.server {
		if s >= 0 {
			m.server[i] = float32(servers[s].Score)
			m.host[i] = host[s]
		}
	}
	return m
}

// answers raises dst to how well the tools answer a text.
func (t *Texts) answers(dst []float32, text string) {
	matching := t.meaning.Match(text)
	defer matching.Close()
	for i := range dst {
		dst[i] = max(dst[i], float32(matching.Of(int32(i))))
	}
}

// kinship is, of each tool, max v·cos over the other tools of kin, v the value there and cos the cosine
// of the two documents.
func (t *Texts) kinship(kin []labels.Label, tools []int32) []float64 {
	most := make([]float64, len(tools))
	room := t.rooms.Get().(*[]float64)
	defer t.rooms.Put(room)
	for ; len(kin) > 0; kin = kin[min(numeric.Lanes, len(kin)):] {
		some := kin[:min(numeric.Lanes, len(kin))]
		for lane, l := range some {
			x := t.vector[l.Label]
			for k, f := range x.I {
				(*room)[int(f)*numeric.Lanes+lane] = x.V[k]
			}
		}
		for i, tool := range tools {
			y := t.vector[tool]
			dots := numeric.Gather(y.I, y.V, *room)
			for lane, l := range some {
				if tool != l.Label {
					most[i] = max(most[i], l.Value*dots[lane])
				}
			}
		}
		for lane, l := range some {
			for _, f := range t.vector[l.Label].I {
				(*room)[int(f)*numeric.Lanes+lane] = 0
			}
		}
	}
	return most
}

// relative raises dst to scores divided by the largest.
func relative(dst []float32, scores []float64) {
	best := 0.0
	for _, s := range scores {
		best = max(best, s)
	}
	if best > 0 {
		for i, s := range scores {
			dst[i] = max(dst[i], float32(s/best))
		}
	}
}

func distinct(tokens []string) []string {
	tokens = slices.Clone(tokens)
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

func join(tokens []string) string { return strings.Join(tokens, " ") }
