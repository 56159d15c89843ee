// Package rank ranks the tools that a situation calls for. It learns from past tasks and from the texts of tools.
//
//	situation ──▶ candidates ──▶ one table (candidates × features) ──▶ trees ──▶ ranking
//	(done tools,  (followers,     sequence, request, text,             (three rankers: for the next tool, for the tools
//	 request)      near requests,  graph, catalog, familiarity          that a request asks for, for those of a plan)
//	               texts)
//
// Example: after search_issues, with the request "comment on the open bugs", create_comment followed in 12 of 14 tasks
// (feature order1, ln .8), past requests with these words used it (feature votes, .7), and its text has two of the
// three words (feature text, .6): the trees turn these values into log-odds.
//
// A task is never evidence for itself: a fit computes the features of each task from a [History] without the fold of
// the task. Near copies of its request are in the same fold, unless these are a habit ([recurring]).
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

// Tool holds all that is known of a tool without any history.
type Tool struct {
	Name                    string  // without its server
	Title, Text, Properties string  // texts that requests are matched with; the title includes the server
	Server                  int32   // number of the server, the same for all tools of one server; -1 for none
	Cluster                 int32   // 1 + number of its spectral cluster of tools and capabilities, 0 for none
	HyperRank               float64 // PageRank in the hypergraph of tools and capabilities, divided by the largest
	Requires                []int32 // tools that it requires according to the catalog
	Effect                  Effect  // as annotated in the catalog
}

// Task is a past task.
type Task struct {
	Intent string
	Steps  []int32    // tools, in order
	Asked  []int32    // the tools among these that the request is evidence for; nil: all
	Links  [][2]int32 // pairs of tools: the output of the first went to the second
	Group  uint64     // shared by the near copies of one task
	Failed bool       // the whole task failed; its request is ignored if a near copy of the task did not fail

	vector  learn.Vector // of the words of the request
	wording uint64       // of the request
	set     []int32      // set of tools that the request is evidence for, sorted
	fold    int
}

// needs returns the distinct tools that the request is evidence for.
func (t *Task) needs() []int32 {
	if t.Asked == nil {
		return distinct(t.Steps)
	}
	return distinct(t.Asked)
}

// Situation is the input of an answer: the tools used so far and the request. Either may be empty.
type Situation struct {
	Context []int32
	Intent  string
	Allowed func(tool int32) bool // whether a tool may be suggested; nil: every tool
	Near    map[int32]float64     // cosines from an embeddings endpoint; these tools become candidates
	Around  *Around               // graph of the reference as seen from the context; nil: the graph of the past tasks

	all bool // every tool that the reference may rank high becomes a candidate
}

// Texts holds the words of tools and, after read, those of past requests. The histories of a fit share it, except
// those of kind known.
type Texts struct {
	tools      []Tool
	matcher    *semantic.Matcher
	vocabulary *learn.Vocabulary
	words      *semantic.Thesaurus
	names      [][]string          // by tool, the stems of its name
	places     [][]float32         // by tool, the mean word vector of its text, of length 1; nil if no word has a vector
	closure    [][]int32           // by tool, sorted, the tools that it requires, at any depth up to deepest
	others     map[string][]string // by stem, its synonyms
	actions    []action            // by tool
	without    string              // group of features that is left out
}

// NewTexts indexes the texts of tools. The thesaurus words relates words; nil stands for the default thesaurus.
// NewTexts returns nil soon after stop, which may be nil, returns true.
func NewTexts(tools []Tool, words *semantic.Thesaurus, stop func() bool) *Texts {
	t := (&Texts{words: cmp.Or(words, semantic.DefaultThesaurus()), places: make([][]float32, len(tools)), closure: closure(tools), others: synonyms()}).with(tools, stop)
	if t == nil {
		return nil
	}
	for i, tool := range tools {
		t.places[i] = meanVector(semantic.DefaultWordVectors(), tool.Name+" "+tool.Text)
	}
	return t
}

// Matcher returns the matcher of requests with tools; its document numbers are tool numbers.
func (t *Texts) Matcher() *semantic.Matcher { return t.matcher }

// read returns a copy of the texts with the vocabulary of the requests. It also sets the private fields of the tasks,
// and clears the request of a failed task if a near copy of the task did not fail.
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

// with returns a copy of t with other texts of the same tools; nil if stop returned true.
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

// synonyms maps each single word of the thesaurus to its related entries.
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

// meanVector returns the mean of the word vectors of a text, of length 1; nil if no word has a vector.
func meanVector(vectors *semantic.WordVectors, text string) []float32 {
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

// deepest is the number of levels to which requirements are followed.
const deepest = 7

// closure returns for each tool, sorted, the tools that it requires directly or indirectly.
func closure(tools []Tool) [][]int32 {
	all := make([][]int32, len(tools))
	for i := range tools {
		all[i] = required(tools, int32(i))
		slices.Sort(all[i])
	}
	return all
}

// required returns the tools that a tool requires, level by level: its direct requirements come first.
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
