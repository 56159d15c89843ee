// Package rank says which tools a situation asks for, learned from past tasks and from what tools say of themselves.
//
//	situation ──▶ candidates ──▶ one table (candidates × rows) ──▶ trees ──▶ ranking
//	(done tools,  (followers,     sequence, request, text,          (three rankers: for what comes next, for what a
//	 request)      near requests,  graph, catalog, familiarity       request asks for, for what a plan needs)
//	               texts)
//
// Example: after search_issues, with the request "comment on the open bugs", create_comment followed in 12 of 14 tasks
// (row order1, ln .8), past requests with these words used it (row votes, .7), and its text has two of the three words
// (row text, .6): the trees turn the row of the table into log-odds.
//
// What a question is evidence for is counted without the question: every fit sees its tasks through a [History] that
// lacks the near copies of the request, unless these are a habit ([recurring]).
package rank

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"

	"waymark/suggest/learn"
	"waymark/suggest/semantic"
)

// Tool is what is known of a tool without any history.
type Tool struct {
	Name                    string  // without its server
	Title, Text, Properties string  // what it is found by, the title with its server
	Server                  int32   // tools of one server share it, -1 for none
	Demoted                 float64 // share of a match with its text that does not count
	Cluster                 int32   // 1 + its spectral cluster of tools and capabilities, 0 for none
	HyperRank               float64 // PageRank in the hypergraph of tools and capabilities, divided by the largest
	Requires                []int32 // tools that it requires, as the catalog says
	Effect                  Effect  // as annotated
}

// Task is a past task.
type Task struct {
	Intent string
	Steps  []int32    // tools, in order
	Asked  []int32    // of these, those that the request is evidence for; nil: all
	Links  [][2]int32 // steps whose output went to another: from one tool to the other
	Group  uint64     // near copies of one task share it
	Failed bool       // as a whole; of near copies those that failed teach nothing if one did not

	vector  learn.Vector // of the words of the request
	wording uint64       // of the request
	set     []int32      // what the request is evidence for, rising
	fold    int
}

// needs lists the tools that the request is evidence for.
func (t *Task) needs() []int32 {
	if t.Asked == nil {
		return distinct(t.Steps)
	}
	return distinct(t.Asked)
}

// Situation is what an answer is asked for: the tools used so far and the request. Either may be empty.
type Situation struct {
	Context []int32
	Intent  string
	Allowed func(tool int32) bool // of tools that may be suggested; nil: all
	Near    map[int32]float64     // cosines of an embeddings endpoint; these tools are candidates
	Around  *Around               // the graph as the reference sees it from the context; nil: that of the past tasks

	all bool // candidates are all that the reference may rank high
}

// Texts are the words of tools and, once tasks were read, of past requests, shared by all histories.
type Texts struct {
	tools      []Tool
	matcher    *semantic.Matcher
	vocabulary *learn.Vocabulary
	words      *semantic.Thesaurus
	names      [][]string          // by tool, the stems of its name
	places     [][]float32         // by tool, the mean of the vectors of its words, of length 1; nil without any
	closure    [][]int32           // by tool, the tools that it requires, up to deepest steps away
	others     map[string][]string // by stem, words that may stand for it
	actions    []action            // by tool
	without    string              // a group of rows that is left out
}

// NewTexts reads the texts of tools. Words are related by the thesaurus, nil for the default. It returns nil soon after stop,
// which may be nil, returns true.
func NewTexts(tools []Tool, words *semantic.Thesaurus, stop func() bool) *Texts {
	t := (&Texts{words: cmp.Or(words, semantic.DefaultThesaurus()), places: make([][]float32, len(tools)), closure: closure(tools), others: synonyms()}).with(tools, stop)
	if t == nil {
		return nil
	}
	for i, tool := range tools {
		t.places[i] = place(semantic.DefaultWordVectors(), tool.Name+" "+tool.Text)
	}
	return t
}

// Matcher compares requests with the tools, whose numbers are those of its documents.
func (t *Texts) Matcher() *semantic.Matcher { return t.matcher }

// read returns the texts with those of the requests of tasks.
func (t *Texts) read(tasks []*Task) *Texts {
	o := *t
	done := map[uint64]bool{}
	for _, task := range tasks {
		done[task.Group] = done[task.Group] || !task.Failed
	}
	stems := make([][]string, len(tasks))
	for i, task := range tasks {
		stems[i] = semantic.Stems(task.Intent)
		if task.Failed && done[task.Group] {
			task.Intent = ""
		}
		task.set = task.needs()
		slices.Sort(task.set)
	}
	vocabulary, rows := learn.NewVocabulary(stems, semantic.Weight)
	o.vocabulary = vocabulary
	for i := range tasks {
		tasks[i].vector, tasks[i].wording = rows[i], wording(stems[i])
	}
	return &o
}

// with returns the texts with other texts of the same tools.
func (t *Texts) with(tools []Tool, stop func() bool) *Texts {
	o := *t
	o.actions = nil
	o.tools, o.names = tools, make([][]string, len(tools))
	documents := make([]semantic.Document, len(tools))
	for i, tool := range tools {
		documents[i] = semantic.Document{Name: tool.Title, Text: tool.Text, Properties: tool.Properties}
		o.names[i] = semantic.Tokens(tool.Name)
		o.actions = append(o.actions, actionOf(&tool))
	}
	if o.matcher = semantic.NewMatcher(documents, t.words, semantic.DefaultWordVectors(), stop); o.matcher == nil {
		return nil
	}
	return &o
}

// synonyms lists, for the words of the thesaurus, those that may stand for them.
var synonyms = sync.OnceValue(func() map[string][]string {
	others := map[string][]string{}
	entries := semantic.DefaultThesaurus().Entries()
	for _, words := range entries {
		if len(words) != 1 {
			continue
		}
		for _, r := range semantic.DefaultThesaurus().Related(nil, words) {
			if o := strings.Join(entries[r.Entry], " "); o != words[0] && !slices.Contains(others[words[0]], o) {
				others[words[0]] = append(others[words[0]], o)
			}
		}
	}
	return others
})

// place is the mean of the vectors of the words of a text.
func place(vectors *semantic.WordVectors, text string) []float32 {
	sum, one, norm := make([]float64, vectors.Dimension()), make([]float64, vectors.Dimension()), 0.0
	for _, stem := range semantic.Tokens(text) {
		if vectors.Vector(one, stem) {
			for i, x := range one {
				sum[i] += x
			}
		}
	}
	for _, x := range sum {
		norm += float64(x * x)
	}
	if norm == 0 {
		return nil
	}
	unit := make([]float32, len(sum))
	for i, x := range sum {
		unit[i] = float32(x / math.Sqrt(norm))
	}
	return unit
}

// deepest is how many steps a requirement is followed.
const deepest = 7

// closure lists, sorted, what each tool requires to any depth.
func closure(tools []Tool) [][]int32 {
	all := make([][]int32, len(tools))
	for i := range tools {
		all[i] = required(tools, int32(i))
		slices.Sort(all[i])
	}
	return all
}

// required follows the requirements of a tool, those of the tool itself first.
func required(tools []Tool, tool int32) (reached []int32) {
	for from, depth := -1, 0; from < len(reached) && depth < deepest; depth++ {
		to := len(reached)
		for ; from < to; from++ {
			of := tool
			if from >= 0 {
				of = reached[from]
			}
			for _, r := range tools[of].Requires {
				if r != tool && !slices.Contains(reached, r) {
					reached = append(reached, r)
				}
			}
		}
	}
	return reached
}
