// Program attacks measures what dishonest keys change in the answers of others, and what the limits on one key cost
// where all keys are honest.
//
//	go run ./lab/attacks                  attacks on generated histories
//	go run ./lab/attacks -search 200      attacks drawn at random: the worst one for each number of keys
//	go run ./lab/attacks -honest DATASET  quality of a data set with its episodes spread over keys
package main

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"log"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/evaluate"
	"waymark/ingest"
	"waymark/suggest"
)

func main() {
	honest := flag.Bool("honest", false, "measure data sets with their episodes spread over keys")
	profiles := flag.String("profiles", "seed,learned", "`profiles` to ask")
	seeds := flag.Int("seeds", 3, "generated histories of each size")
	worlds := flag.String("worlds", "small,middle", "`sizes` of generated histories: small, middle, large")
	contexts := flag.Int("contexts", 10, "contexts attacked in each history")
	keys := flag.String("keys", "1,3,5", "`numbers` of the attacker's keys")
	fakes := flag.String("fakes", "1,10,100,300", "`numbers` of the attacker's episodes")
	only := flag.String("kinds", "new,unused,known,mimic,bury", "`kinds` of attack")
	search := flag.Int("search", 0, "`number` of attacks to draw for each history size, profile and number of keys")
	flag.Parse()
	var err error
	switch {
	case *search > 0:
		err = searchAll(strings.Split(*worlds, ","), strings.Split(*profiles, ","), numbers(*keys), *search, *contexts)
	case *honest:
		err = spread(strings.Split(*profiles, ","), flag.Args())
	default:
		err = attack(plan{strings.Split(*worlds, ","), strings.Split(*profiles, ","), numbers(*keys), numbers(*fakes), strings.Split(*only, ","), *seeds, *contexts})
	}
	if err != nil {
		log.Fatal(err)
	}
}

// size of a generated history: clusters of ten tools, of which an honest session uses three in a usual order.
type size struct{ clusters, keys, sessions int }

var sizes = map[string]size{
	"small":  {4, 10, 100},
	"middle": {4, 30, 1000},
	"large":  {30, 50, 5000},
}

const perCluster = 10

// history is what honest keys recorded, and the contexts that are attacked.
type history struct {
	size
	random   *rand.Rand
	tools    []catalog.Tool
	episodes []episodic.Episode
	contexts []string
}

func toolID(cluster, i int) string { return fmt.Sprintf("s%d:t%d", cluster, i) }

func generate(s size, contexts int, seed uint64) *history {
	h := &history{size: s, random: rand.New(rand.NewPCG(seed, 1))}
	for c := range s.clusters {
		for i := range perCluster {
			h.tools = append(h.tools, catalog.Tool{ID: toolID(c, i), Server: fmt.Sprint("s", c), Name: fmt.Sprint("t", i)})
		}
	}
	h.tools = append(h.tools, catalog.Tool{ID: "rare:tool", Server: "rare", Name: "tool"})
	for range s.sessions {
		h.episodes = append(h.episodes, h.session(h.key()))
	}
	for len(h.contexts) < contexts {
		id := toolID(h.random.IntN(s.clusters), h.random.IntN(perCluster))
		if !slices.Contains(h.contexts, id) {
			h.contexts = append(h.contexts, id)
		}
	}
	return h
}

// key draws an honest key; the k-th records in proportion to 1/k.
func (h *history) key() string {
	sum := 0.
	for k := range h.keys {
		sum += 1 / float64(k+1)
	}
	x := h.random.Float64() * sum
	for k := range h.keys {
		if x -= 1 / float64(k+1); x < 0 {
			return fmt.Sprint("key:h", k)
		}
	}
	return "key:h0"
}

func (h *history) session(key string) episodic.Episode {
	c, at := h.random.IntN(h.clusters), h.random.IntN(perCluster)
	e := episodic.Episode{Source: key, Outcome: episodic.Success}
	for range 4 {
		e.Steps = append(e.Steps, step(toolID(c, at), episodic.Success))
		next := []int{1, 1, 1, 1, 2, 2, 3, 5}
		at = (at + next[h.random.IntN(len(next))]) % perCluster
		if h.random.IntN(12) == 0 {
			c = h.random.IntN(h.clusters)
		}
	}
	return e
}

func step(id string, o episodic.Outcome) episodic.Step { return episodic.Step{Tool: id, Outcome: o} }

// kind is a kind of attack: what one of the attacker's episodes is.
type kind struct {
	name    string
	episode func(h *history, context, target string, i int) episodic.Episode
	target  func(h *history, context string, best string) string
}

func after(o episodic.Outcome) func(*history, string, string, int) episodic.Episode {
	return func(_ *history, context, target string, _ int) episodic.Episode {
		return episodic.Episode{Outcome: episodic.Success, Steps: []episodic.Step{step(context, episodic.Success), step(target, o)}}
	}
}

var kinds = []kind{
	{"new", after(episodic.Success), func(*history, string, string) string { return "evil:tool" }},
	{"unused", after(episodic.Success), func(*history, string, string) string { return "rare:tool" }},
	{"known", after(episodic.Success), func(h *history, context, _ string) string { return h.elsewhere(context) }},
	{"mimic", mimic, func(*history, string, string) string { return "rare:tool" }},
	{"bury", after(episodic.Failure), func(_ *history, _, best string) string { return best }},
}

// elsewhere is a tool of another cluster than the context.
func (h *history) elsewhere(context string) string {
	c := h.random.IntN(h.clusters)
	for strings.HasPrefix(context, fmt.Sprintf("s%d:", c)) {
		c = h.random.IntN(h.clusters)
	}
	return toolID(c, h.random.IntN(perCluster))
}

// mimic records honest sessions beside the fakes: every second episode.
func mimic(h *history, context, target string, i int) episodic.Episode {
	if i%2 == 0 {
		return h.session("")
	}
	return after(episodic.Success)(h, context, target, i)
}

// answer is the ranking after a context.
func answer(episodes []episodic.Episode, tools []catalog.Tool, profile, context string) ([]string, error) {
	p, err := train(episodes, tools, profile)
	if err != nil {
		return nil, err
	}
	return rank(p, context)
}

func train(episodes []episodic.Episode, tools []catalog.Tool, profile string) (evaluate.Predictor, error) {
	examples := make([]*evaluate.Example, len(episodes))
	for i := range episodes {
		e := episodes[i]
		e.ID = fmt.Sprint("e", i)
		examples[i] = &evaluate.Example{Episode: e}
	}
	return evaluate.Suggester(profile, suggest.MeasureOptions{})(context.Background(), &evaluate.Data{Tools: tools}, examples)
}

func rank(p evaluate.Predictor, context string) ([]string, error) {
	c, err := p.Rank(evaluate.Question{Context: []string{context}}, 50)
	ids := make([]string, len(c))
	for i := range c {
		ids[i] = c[i].ID
	}
	return ids, err
}

// effect of an attack, over contexts and histories.
type effect struct {
	n, five, first, moved, gone int
}

func (e *effect) add(before, after []string, target string, bury bool) {
	e.n++
	at := slices.Index(after, target)
	if bury {
		if at < 0 {
			e.gone++
			return
		}
		e.moved = max(e.moved, at-slices.Index(before, target))
		return
	}
	if slices.Index(before, target) >= 0 && slices.Index(before, target) < 5 {
		e.n-- // was there without the attack
		return
	}
	if at >= 0 && at < 5 {
		e.five++
	}
	if at == 0 {
		e.first++
	}
}

// plan is which attacks are tried on what.
type plan struct {
	worlds, profiles []string
	keys, fakes      []int
	kinds            []string
	seeds, contexts  int
}

func numbers(list string) (out []int) {
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			log.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

func attack(p plan) error {
	fmt.Println("| history | profile | attack | keys | fakes | top five % | first % | places moved | excluded |\n|---|---|---|--:|--:|--:|--:|--:|--:|")
	for _, world := range p.worlds {
		for _, profile := range p.profiles {
			if err := attackProfile(p, world, profile); err != nil {
				return err
			}
		}
	}
	return nil
}

func attackProfile(p plan, world, profile string) error {
	for _, k := range kinds {
		if !slices.Contains(p.kinds, k.name) {
			continue
		}
		for _, keys := range p.keys {
			for _, fakes := range p.fakes {
				var e effect
				for seed := range uint64(p.seeds) {
					h := generate(sizes[world], p.contexts, seed)
					if err := e.of(h, k, profile, keys, fakes); err != nil {
						return err
					}
				}
				n := 100 / float64(max(e.n, 1))
				fmt.Printf("| %s | %s | %s | %d | %d | %.0f | %.0f | %d | %d |\n", world, profile, k.name, keys, fakes, n*float64(e.five), n*float64(e.first), e.moved, e.gone)
			}
		}
	}
	return nil
}

// of attacks each context of a history on its own.
func (e *effect) of(h *history, k kind, profile string, keys, fakes int) error {
	clean, err := train(h.episodes, h.tools, profile)
	if err != nil {
		return err
	}
	for _, context := range h.contexts {
		before, err := rank(clean, context)
		if err != nil {
			return err
		}
		target := k.target(h, context, before[0])
		episodes := slices.Clone(h.episodes)
		for i := range fakes {
			fake := k.episode(h, context, target, i)
			fake.Source = fmt.Sprint("key:attacker", i%keys)
			episodes = append(episodes, fake)
		}
		now, err := answer(episodes, h.tools, profile, context)
		if err != nil {
			return err
		}
		e.add(before, now, target, k.name == "bury")
	}
	return nil
}

// spread measures data sets with all episodes of one source, of two (95 % and 5 %), and of thirty of Zipf-distributed size.
func spread(profiles, folders []string) error {
	fmt.Println("| set | profile | sources | next MRR | next+intent MRR | tools NDCG | Node-F1 | time |\n|---|---|---|--:|--:|--:|--:|--:|")
	for _, folder := range folders {
		d, err := read(folder)
		if err != nil {
			return err
		}
		for _, profile := range profiles {
			for _, sources := range []int{1, 2, 30} {
				began := time.Now()
				for i := range d.Examples {
					d.Examples[i].Episode.Source = sourceOf(d.Examples[i].Episode.ID, sources)
				}
				r, err := evaluate.Evaluate(context.Background(), d, evaluate.Suggester(profile, suggest.MeasureOptions{}), evaluate.Options{WithoutAblation: true})
				if err != nil {
					return err
				}
				fmt.Printf("| %s | %s | %d | %s | %.0f s |\n", filepath.Base(folder), profile, sources, figures(r), time.Since(began).Seconds())
			}
		}
	}
	return nil
}

func figures(r *evaluate.Report) string {
	x := [4]float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	if r.Next != nil {
		x[0] = r.Next.MRR
	}
	if r.NextIntent != nil {
		x[1] = r.NextIntent.MRR
	}
	if r.Tools != nil {
		x[2] = r.Tools.NDCG10
	}
	if r.DAG != nil {
		x[3] = r.DAG.NodeF1
	}
	return fmt.Sprintf("%.4f | %.4f | %.4f | %.4f", x[0], x[1], x[2], x[3])
}

// sourceOf assigns an episode to one of n keys by its hash.
func sourceOf(id string, n int) string {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(id))
	x := float64(hash.Sum64()>>11) / (1 << 53)
	switch {
	case n == 1, n == 2 && x < .95:
		return "key:0"
	case n == 2:
		return "key:1"
	}
	sum := 0.
	for k := range n {
		sum += 1 / float64(k+1)
	}
	x *= sum
	for k := range n {
		if x -= 1 / float64(k+1); x < 0 {
			return fmt.Sprint("key:", k)
		}
	}
	return "key:0"
}

func read(folder string) (*evaluate.Data, error) {
	set, err := ingest.ReadLabelled(context.Background(), folder)
	if err != nil {
		return nil, err
	}
	d := &evaluate.Data{Name: filepath.Base(folder), Tools: set.Tools, Capabilities: set.Capabilities}
	for _, x := range set.Episodes {
		d.Examples = append(d.Examples, evaluate.Example(x))
	}
	return d, nil
}
