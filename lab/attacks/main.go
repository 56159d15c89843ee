// Command attacks measures what dishonest keys change in the answers of others, and what the limits on one key cost
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
	stdlog "log"
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
	folded "waymark/suggest/history"
)

func main() {
	honest := flag.Bool("honest", false, "measure data sets with their episodes spread over keys")
	profiles := flag.String("profiles", "seed,learned", "`profiles` to ask")
	seeds := flag.Int("seeds", 3, "generated histories of each size")
	worlds := flag.String("worlds", "small,middle", "`sizes` of generated histories: small, middle, large")
	contexts := flag.Int("contexts", 10, "contexts attacked in each history")
	keys := flag.String("keys", "1,3,5", "`numbers` of the attacker's keys")
	fakes := flag.String("fakes", "1,10,100,300", "`numbers` of the attacker's episodes")
	only := flag.String("kinds", "new,unused,known,mimic,flood,bury,request,praise,blame,stuffed,copies", "`kinds` of attack")
	questions := flag.String("questions", "next,intent,search,dag", "`questions` to ask")
	search := flag.Int("search", 0, "`number` of attacks to draw for each history size, profile and number of keys")
	sources := flag.String("sources", "1,2,30", "`numbers` of honest keys over which -honest spreads episodes")
	flag.Parse()
	var err error
	switch {
	case *search > 0:
		err = searchAll(strings.Split(*worlds, ","), strings.Split(*profiles, ","), numbers(*keys), *search, *contexts)
	case *honest:
		err = spread(strings.Split(*profiles, ","), numbers(*sources), flag.Args())
	default:
		err = attack(plan{strings.Split(*worlds, ","), strings.Split(*profiles, ","), numbers(*keys), numbers(*fakes), strings.Split(*only, ","), strings.Split(*questions, ","), *seeds, *contexts})
	}
	if err != nil {
		stdlog.Fatal(err)
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

// text is what a generated tool says of itself and what requests say that need it: one word of the tool, one of its cluster.
func text(cluster, i int) string {
	doing := []string{"list", "read", "create", "rename", "delete", "archive", "export", "share", "validate", "merge"}
	things := []string{"invoice", "ticket", "branch", "photo", "recipe", "flight", "song", "contract", "patient", "parcel", "meeting", "sensor", "lesson", "auction", "podcast", "vaccine", "bridge", "garden", "passport", "museum", "tractor", "glacier", "violin", "circuit", "warehouse", "festival", "tournament", "pipeline", "volcano", "satellite"}
	return doing[i] + " the " + things[cluster]
}

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
			h.tools = append(h.tools, catalog.Tool{ID: toolID(c, i), Server: fmt.Sprint("s", c), Name: fmt.Sprint("t", i), Description: text(c, i)})
		}
	}
	h.tools = append(h.tools, catalog.Tool{ID: "rare:tool", Server: "rare", Name: "tool", Description: "inflate the balloon"})
	for i := range perCluster {
		h.tools = append(h.tools, catalog.Tool{ID: fmt.Sprint("flood:t", i), Server: "flood", Name: fmt.Sprint("t", i)})
	}
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
	e := episodic.Episode{Source: key, Outcome: episodic.Success, Intent: text(c, at)}
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

// kind is a kind of attack: what is done so many times, and to which target.
type kind struct {
	name   string
	once   func(h *history, l *log, context, target string, i int)
	target func(h *history, context, best string) string
	bury   bool // the target is to be moved down
}

// log is what a model is made from.
type log struct {
	tools    []catalog.Tool
	episodes []episodic.Episode
	feedback []opinion
}

// opinion is feedback of a key on a suggestion.
type opinion struct {
	context, id, key string
	outcome          episodic.Outcome
}

// recorded is an attack that records an episode.
func recorded(episode func(h *history, context, target string, i int) episodic.Episode) func(*history, *log, string, string, int) {
	return func(h *history, l *log, context, target string, i int) {
		l.episodes = append(l.episodes, episode(h, context, target, i))
	}
}

// said is an attack that gives feedback.
func said(o episodic.Outcome) func(*history, *log, string, string, int) {
	return func(_ *history, l *log, context, target string, _ int) {
		l.feedback = append(l.feedback, opinion{context: context, id: target, outcome: o})
	}
}

// described is an attack that puts a tool into the catalog.
func described(tool func(h *history, context string, i int) catalog.Tool) func(*history, *log, string, string, int) {
	return func(h *history, l *log, context, _ string, i int) { l.tools = append(l.tools, tool(h, context, i)) }
}

func after(o episodic.Outcome) func(*history, string, string, int) episodic.Episode {
	return func(_ *history, context, target string, _ int) episodic.Episode {
		return episodic.Episode{Outcome: episodic.Success, Steps: []episodic.Step{step(context, episodic.Success), step(target, o)}}
	}
}

var kinds = []kind{
	{name: "new", once: recorded(after(episodic.Success)), target: always("evil:tool")},
	{name: "unused", once: recorded(after(episodic.Success)), target: always("rare:tool")},
	{name: "known", once: recorded(after(episodic.Success)), target: func(h *history, context, _ string) string { return h.elsewhere(context) }},
	{name: "mimic", once: recorded(mimic), target: always("rare:tool")},
	{name: "flood", once: recorded(flood), target: always("flood:")},
	{name: "bury", once: recorded(after(episodic.Failure)), target: func(_ *history, _, best string) string { return best }, bury: true},
	{name: "request", once: recorded(request), target: always("rare:tool")},
	{name: "praise", once: said(episodic.Success), target: always("rare:tool")},
	{name: "blame", once: said(episodic.Failure), target: func(_ *history, _, best string) string { return best }, bury: true},
	{name: "stuffed", once: described(stuffed), target: always("evil:tool")},
	{name: "copies", once: described(copied), target: always("evil:")},
}

func always(id string) func(*history, string, string) string {
	return func(*history, string, string) string { return id }
}

// request records the target as what the context's own request needs.
func request(h *history, context, target string, _ int) episodic.Episode {
	return episodic.Episode{Intent: h.textOf(context), Outcome: episodic.Success, Steps: []episodic.Step{step(target, episodic.Success)}}
}

// stuffed is a tool whose description has the words of all tools.
func stuffed(h *history, _ string, _ int) catalog.Tool {
	words := []string{}
	for _, t := range h.tools {
		words = append(words, t.Description)
	}
	return catalog.Tool{ID: "evil:tool", Server: "evil", Name: "tool", Description: strings.Join(words, ", ")}
}

// copied is one of many tools with the description of the context's tool.
func copied(h *history, context string, i int) catalog.Tool {
	name := fmt.Sprint("t", i)
	return catalog.Tool{ID: "evil:" + name, Server: "evil", Name: name, Description: h.textOf(context)}
}

func (h *history) textOf(id string) string {
	i := slices.IndexFunc(h.tools, func(t catalog.Tool) bool { return t.ID == id })
	return h.tools[i].Description
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

// flood records the tools of one server in turn.
func flood(h *history, context, _ string, i int) episodic.Episode {
	return after(episodic.Success)(h, context, fmt.Sprint("flood:t", i%perCluster), i)
}

// trained answers from what a log teaches.
type trained struct {
	model   *suggest.Model
	profile string
}

func train(l log, profile string) (trained, error) {
	s := folded.NewState()
	for _, t := range l.tools {
		s.PutTool(t)
	}
	for i := range l.episodes {
		e := l.episodes[i]
		e.ID = fmt.Sprint("e", i)
		s.Record(&e)
	}
	for _, o := range l.feedback {
		s.Feedback([]string{o.context}, o.id, o.outcome, time.Time{}, o.key)
	}
	counts := s.Freeze()
	learns := profile == suggest.ProfileLearned // seed asks no models
	measures, err := suggest.Measure(context.Background(), counts, suggest.MeasureOptions{Learn: learns, WithoutLearned: !learns})
	if err != nil {
		return trained{}, err
	}
	m, err := suggest.NewModel(counts, measures, suggest.Stamp{Version: "attack"})
	return trained{m, profile}, err
}

const asked = 50 // answers of a question

// ask returns the ids of an answer: next, next with the intent, search by the intent, or the tasks of a plan for it.
func (t trained) ask(question, context, intent string) (ids []string, err error) {
	switch question {
	case "search":
		var a suggest.SearchAnswer
		a, err = t.model.Search(suggest.SearchRequest{Query: intent, Limit: asked, Profile: t.profile})
		for _, r := range a.Results {
			ids = append(ids, r.ID)
		}
	case "dag":
		var a suggest.DAGAnswer
		a, err = t.model.Plan(suggest.DAGRequest{Intent: intent, Profile: t.profile})
		for _, task := range a.DAG.Tasks {
			ids = append(ids, task.Tool)
		}
	default:
		if question == "next" {
			intent = ""
		}
		var a suggest.NextAnswer
		a, err = t.model.Next(suggest.NextRequest{Context: []string{context}, Intent: intent, Limit: asked, Profile: t.profile})
		for _, x := range a.Suggestions {
			ids = append(ids, x.ID)
		}
	}
	return ids, err
}

// suggester fits no models that profile seed does not ask.
func suggester(profile string) evaluate.Trainer {
	return evaluate.Suggester(profile, suggest.MeasureOptions{WithoutLearned: profile == suggest.ProfileSeed})
}

// effect of an attack, over contexts and histories.
type effect struct {
	n, five, first, moved, gone int
}

func (e *effect) add(before, after []string, target string, bury bool) {
	if bury && !slices.Contains(before, target) {
		return
	}
	e.n++
	at := slices.IndexFunc(after, func(id string) bool {
		return id == target || strings.HasSuffix(target, ":") && strings.HasPrefix(id, target)
	})
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
	kinds, questions []string
	seeds, contexts  int
}

func numbers(list string) (out []int) {
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			stdlog.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

func attack(p plan) error {
	fmt.Println("| history | profile | attack | keys | fakes | question | of | top five % | first % | places moved | excluded |\n|---|---|---|--:|--:|---|--:|--:|--:|--:|--:|")
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
				effects := make([]effect, len(p.questions))
				for seed := range uint64(p.seeds) {
					h := generate(sizes[world], p.contexts, seed)
					if err := of(h, k, profile, p.questions, keys, fakes, effects); err != nil {
						return err
					}
				}
				for i, e := range effects {
					n := 100 / float64(max(e.n, 1))
					fmt.Printf("| %s | %s | %s | %d | %d | %s | %d | %.0f | %.0f | %d | %d |\n", world, profile, k.name, keys, fakes, p.questions[i], e.n, n*float64(e.five), n*float64(e.first), e.moved, e.gone)
				}
			}
		}
	}
	return nil
}

// of attacks each context of a history on its own, and adds what became of each question.
func of(h *history, k kind, profile string, questions []string, keys, fakes int, effects []effect) error {
	clean, err := train(log{tools: h.tools, episodes: h.episodes}, profile)
	if err != nil {
		return err
	}
	for _, context := range h.contexts {
		intent := h.textOf(context)
		best, err := clean.ask("next", context, intent)
		if err != nil {
			return err
		}
		target := k.target(h, context, best[0])
		l := log{tools: slices.Clone(h.tools), episodes: slices.Clone(h.episodes)}
		for i := range fakes {
			key, n := fmt.Sprint("key:attacker", i%keys), len(l.episodes)
			k.once(h, &l, context, target, i)
			for j := range l.episodes[n:] {
				l.episodes[n+j].Source = key
			}
			if n := len(l.feedback); n > 0 {
				l.feedback[n-1].key = key
			}
		}
		attacked, err := train(l, profile)
		if err != nil {
			return err
		}
		for i, q := range questions {
			before, err := clean.ask(q, context, intent)
			if err != nil {
				return err
			}
			after, err := attacked.ask(q, context, intent)
			if err != nil {
				return err
			}
			effects[i].add(before, after, target, k.bury)
		}
	}
	return nil
}

// spread measures data sets with all episodes of one source, of two (95 % and 5 %), and of thirty of Zipf-distributed size.
func spread(profiles []string, numbers []int, folders []string) error {
	fmt.Println("| set | profile | sources | next MRR | next+intent MRR | tools NDCG | Node-F1 | time |\n|---|---|---|--:|--:|--:|--:|--:|")
	for _, folder := range folders {
		d, err := read(folder)
		if err != nil {
			return err
		}
		for _, profile := range profiles {
			for _, sources := range numbers {
				began := time.Now()
				for i := range d.Examples {
					d.Examples[i].Episode.Source = sourceOf(d.Examples[i].Episode.ID, sources)
				}
				r, err := evaluate.Evaluate(context.Background(), d, suggester(profile), evaluate.Options{WithoutAblation: true})
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
