package semantic

import (
	"bufio"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// trial is documents and queries with the documents that answer them.
type trial struct {
	name    string
	docs    []Document
	queries []string
	gold    [][]int32
}

type toolLine struct {
	ID, Name, Description string
	InputSchema           struct{ Properties map[string]any } `json:"input_schema"`
}

type episodeLine struct {
	Intent, Split string
	Steps         []struct{ Tool string }
}

// read reads a file of the public data sets beside the repository, and skips the test without them.
func read[T any](t *testing.T, set, name string) (out []T) {
	f, err := os.Open(filepath.Join("..", "..", "shared", "datasets", set, name))
	if err != nil {
		t.Skip("the evaluation data are not here: ", err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		var x T
		require.NoError(t, json.Unmarshal(s.Bytes(), &x))
		out = append(out, x)
	}
	require.NoError(t, s.Err())
	return out
}

func documents(tools []toolLine) []Document {
	docs := make([]Document, len(tools))
	for i, x := range tools {
		var names []string
		for p := range x.InputSchema.Properties {
			names = append(names, p)
		}
		slices.Sort(names)
		docs[i] = Document{Name: x.Name, Text: x.Description, Properties: strings.Join(names, " ")}
	}
	return docs
}

// knownItems draws 3 to 5 longer words of the description of every 17th tool, half of the time
// with a word of another description, and asks for the tool among every second one.
func knownItems(t *testing.T) trial {
	tools := read[toolLine](t, "mcp_catalog", "tools.jsonl")
	all := documents(tools)
	out := trial{name: "mcp_catalog, known items"}
	for i, d := range all {
		if i%2 == 1 && i%17 != 0 {
			continue
		}
		out.docs = append(out.docs, d)
		var words []string
		for _, w := range strings.Fields(d.Text) {
			if len(w) > 3 && !isStop(strings.ToLower(w)) {
				words = append(words, w)
			}
		}
		if i%17 != 0 || len(words) < 6 {
			continue
		}
		seed := uint64(i)
		var q []string
		for j := range 3 + mix(seed)%3 {
			q = append(q, words[mix(seed*100+j)%uint64(len(words))])
		}
		if other := strings.Fields(tools[mix(seed*7)%uint64(len(tools))].Description); len(other) > 0 && mix(seed*5)%2 == 0 {
			q = append(q, other[mix(seed*3)%uint64(len(other))])
		}
		out.queries = append(out.queries, strings.Join(q, " "))
		out.gold = append(out.gold, []int32{int32(len(out.docs) - 1)})
	}
	return out
}

// history is the training part of a data set in two halves: the queries are the intents of one, the
// contexts of the tools are made from the other.
func history(t *testing.T, set string, contexts bool) trial {
	tools := read[toolLine](t, set, "tools.jsonl")
	out := trial{name: set, docs: documents(tools)}
	number := make(map[string]int32)
	for i, x := range tools {
		number[x.ID] = int32(i)
	}
	texts := make([]strings.Builder, len(tools))
	n := uint64(0)
	for _, e := range read[episodeLine](t, set, "episodes.jsonl") {
		if e.Split != "train" {
			continue
		}
		var used []int32
		for _, s := range e.Steps {
			if i, ok := number[s.Tool]; ok && !slices.Contains(used, i) {
				used = append(used, i)
			}
		}
		if n++; mix(n)%2 == 1 {
			out.queries, out.gold = append(out.queries, e.Intent), append(out.gold, used)
			continue
		}
		for _, i := range used {
			texts[i].WriteString(e.Intent + "\n")
			for _, o := range used {
				if o != i {
					texts[i].WriteString(tools[o].Name + "\n")
				}
			}
		}
	}
	if contexts {
		out.name += ", with contexts"
		for i := range out.docs {
			out.docs[i].Context = strings.Split(texts[i].String(), "\n")
		}
	}
	return out
}

// fusions are ways to one score: the one used, its halves, and the rivals it was chosen over.
var fusions = []struct {
	name string
	of   func(hits []Hit)
}{
	{"fused", func([]Hit) {}},
	{"lexical", func(hits []Hit) { each(hits, func(h Hit) float64 { return h.Lexical }) }},
	{"latent", func(hits []Hit) { each(hits, func(h Hit) float64 { return h.Latent }) }},
	{"convex .2", func(hits []Hit) { each(hits, func(h Hit) float64 { return .8*h.Lexical + .2*h.Latent }) }},
	{"rrf", func(hits []Hit) {
		lexical, latent := ranks(hits, func(h Hit) float64 { return h.Lexical }), ranks(hits, func(h Hit) float64 { return h.Latent })
		for i := range hits {
			hits[i].Score = 1/(60+lexical[i]) + 1/(60+latent[i])
		}
	}},
}

func each(hits []Hit, score func(Hit) float64) {
	for i, h := range hits {
		hits[i].Score = score(h)
	}
}

func ranks(hits []Hit, score func(Hit) float64) []float64 {
	out := make([]float64, len(hits))
	for r, i := range falling(len(hits), func(i int) float64 { return score(hits[i]) }) {
		out[i] = float64(r + 1)
	}
	return out
}

// measure returns recall@5 and MRR of each fusion.
func measure(ix *Index, x trial, step int) (recall, mrr map[string]float64) {
	recall, mrr = make(map[string]float64), make(map[string]float64)
	var hits, ranked []Hit
	n := 0.0
	for i := 0; i < len(x.queries); i += step {
		if len(x.gold[i]) == 0 {
			continue
		}
		n++
		hits = ix.Scores(x.queries[i], hits)
		for _, f := range fusions {
			ranked = append(ranked[:0], hits...)
			f.of(ranked)
			slices.SortFunc(ranked, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc)) })
			found, first := 0, 0.0
			for r, h := range ranked {
				if slices.Contains(x.gold[i], h.Doc) {
					if first == 0 {
						first = 1 / float64(r+1)
					}
					if r >= 5 {
						break
					}
					found++
				}
			}
			recall[f.name] += float64(found) / float64(len(x.gold[i]))
			mrr[f.name] += first
		}
	}
	for _, f := range fusions {
		recall[f.name] /= n
		mrr[f.name] /= n
	}
	return recall, mrr
}

// The floors are what these queries, every step-th of the trial, gave when the weights had been
// chosen, less about .02: they guard against loss, they are no measure of new data. Only training parts and catalogs are used.
func TestQuality(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	if testing.Short() {
		t.Skip("ranks thousands of documents thousands of times")
	}
	for _, row := range []struct {
		trial       trial
		step        int
		recall, mrr float64
	}{
		{knownItems(t), 6, .88, .75},
		{history(t, "ultratool", false), 8, .65, .69},
		{history(t, "ultratool", true), 8, .93, .88},
		{history(t, "toollinkos", false), 4, .21, .77},
		{history(t, "toollinkos", true), 4, .29, .67},
		{history(t, "n8n", true), 20, .24, .72},
	} {
		ix := Build(row.trial.docs, Options{})
		recall, mrr := measure(ix, row.trial, row.step)
		for _, f := range fusions {
			t.Logf("%-28s %-10s recall@5 %.3f  mrr %.3f", row.trial.name, f.name, recall[f.name], mrr[f.name])
		}
		assert.GreaterOrEqual(t, recall["fused"], row.recall, row.trial.name)
		assert.GreaterOrEqual(t, mrr["fused"], row.mrr, row.trial.name)
	}
}

// Tools of the ten nearest past intents, by sum of cosines, against those the task really used.
func TestQualityOfRecall(t *testing.T) {
	tools := make(map[string]bool)
	var past, now []episodeLine
	n := uint64(0)
	for _, e := range read[episodeLine](t, "ultratool", "episodes.jsonl") {
		if e.Split != "train" {
			continue
		}
		if n++; mix(n)%2 == 0 {
			past = append(past, e)
		} else {
			now = append(now, e)
		}
		for _, s := range e.Steps {
			tools[s.Tool] = true
		}
	}
	texts := make([]string, len(past))
	for i, e := range past {
		texts[i] = e.Intent
	}
	in := NewIntents(texts, nil)
	recall := 0.0
	for _, e := range now {
		votes := make(map[string]float64)
		for _, h := range in.Nearest(e.Intent, 10) {
			for _, s := range past[h.Doc].Steps {
				votes[s.Tool] += h.Score
			}
		}
		var ranked []string
		for tool := range votes {
			ranked = append(ranked, tool)
		}
		slices.SortFunc(ranked, func(a, b string) int { return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(a, b)) })
		gold, found := make(map[string]bool), 0.0
		for _, s := range e.Steps {
			gold[s.Tool] = true
		}
		for _, tool := range ranked[:min(5, len(ranked))] {
			if gold[tool] {
				found++
			}
		}
		recall += found / float64(len(gold))
	}
	recall /= float64(len(now))
	t.Logf("ultratool, half of train: recall@5 of the ten nearest %.3f", recall)
	assert.GreaterOrEqual(t, recall, .88)
}
