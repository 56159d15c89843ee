// Command engine measures package learn/rank on data sets.
//
//	data set ──train part──▶ rank.Fit ──▶ next tool (with and without the request), tools and plans for a request
//
// By default a fifth of the train part, whole groups of near-equal requests at a time, is asked about: choices are made on
// these. -part test asks the test split, once the choices are made.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/lab/labelled"
	"waymark/suggest"
	"waymark/suggest/evaluate"
	"waymark/suggest/learn/rank"
)

func main() {
	dir := flag.String("datasets", "../shared/datasets", "`folder` of the data sets")
	sets := flag.String("sets", "ultratool,toollinkos", "`names` of the sets")
	part := flag.String("part", "train", "`part` that is asked about: train (a fifth of it, held out) or test")
	profile := flag.String("cpuprofile", "", "`file` of a profile of the processor")
	engines := flag.String("engines", "rank", "`engines` to measure: rank, learned, seed")
	what := flag.String("what", "tasks", "`questions`: tasks, words (reworded requests and needs) or sample (requests of an engineer, two tasks in a session)")
	half := flag.String("half", "develop", "`half` of the words: develop, held or both")
	flag.StringVar(&without, "without", "", "`group` of rows that is left out")
	most := flag.Int("most", 1000, "most tasks that are asked about")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	for _, name := range strings.Split(*sets, ",") {
		for _, engine := range strings.Split(*engines, ",") {
			var err error
			switch *what {
			case "words":
				err = contact(*dir, name, engine, *half)
			case "sample":
				err = engineer(filepath.Join(*dir, "..", "evaluation"), engine)
			default:
				err = measure(filepath.Join(*dir, name), *part, engine, *most)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, "engine:", err)
				os.Exit(1)
			}
		}
	}
}

var without string

var values = regexp.MustCompile(`"[^"]*"|'[^']{2,}'|\d+`)

// group numbers the tasks that are near copies of one request.
func group(intent, id string) uint64 {
	h := fnv.New64a()
	text := values.ReplaceAllString(strings.ToLower(intent), "#")
	if text == "" {
		text = id
	}
	h.Write([]byte(text))
	x := h.Sum64()
	return (x ^ x>>31) * 0x9e3779b97f4a7c15 >> 8
}

// data is a set whose test examples are those asked about.
type data struct {
	evaluate.Data
	data        evaluate.Data // without the examples
	train, test []*evaluate.Example
	labels      map[string]*labelled.Episode // by id of the episode
}

func read(dir, part string) (*data, error) {
	set, err := labelled.Read(context.Background(), dir)
	if err != nil {
		return nil, err
	}
	d := &data{labels: map[string]*labelled.Episode{}}
	d.data = evaluate.Data{Name: set.Name, Tools: set.Tools, Capabilities: set.Capabilities}
	d.Name = set.Name
	for i := range set.Episodes {
		e := &set.Episodes[i]
		d.labels[e.Episode.ID] = e
		x := evaluate.Example{Episode: e.Episode, Split: e.Split}
		switch {
		case x.Split != evaluate.Train && x.Split != "":
			if part != "train" {
				d.test = append(d.test, &x)
			}
		case part == "train" && group(x.Episode.Intent, x.Episode.ID)>>16%5 == 0:
			d.test = append(d.test, &x)
		default:
			d.train = append(d.train, &x)
		}
	}
	return d, nil
}

// predictor answers with package rank.
type predictor struct {
	model  *rank.Model
	ids    []string
	number map[string]int32
}

func (p *predictor) add(id string) int32 {
	n, ok := p.number[id]
	if !ok {
		n = int32(len(p.ids))
		p.number[id] = n
		p.ids = append(p.ids, id)
	}
	return n
}

func train(_ context.Context, d *evaluate.Data, history []*evaluate.Example) ([]evaluate.Predictor, error) {
	p := &predictor{number: map[string]int32{}}
	for i := range d.Tools {
		p.add(d.Tools[i].ID)
	}
	tasks := make([]*rank.Task, len(history))
	for i, x := range history {
		e := &x.Episode
		t := &rank.Task{Intent: strings.TrimSpace(e.Intent), Group: group(e.Intent, e.ID), Failed: e.Outcome == episodic.Failure}
		for _, s := range e.Order() {
			t.Steps = append(t.Steps, p.add(e.Steps[s].Tool))
		}
		for at, before := range e.Before() {
			for _, b := range before {
				if from, to := p.add(e.Steps[b].Tool), p.add(e.Steps[at].Tool); from != to {
					t.Links = append(t.Links, [2]int32{from, to})
				}
			}
		}
		tasks[i] = t
	}
	tools, servers := make([]rank.Tool, len(p.ids)), map[string]int32{}
	for i, id := range p.ids {
		server, _, found := strings.Cut(id, ":")
		if !found {
			server, _, _ = strings.Cut(id, ".")
		}
		tools[i] = rank.Tool{Name: id, Server: serverOf(servers, server)}
	}
	for i := range d.Tools {
		t, r := &d.Tools[i], &tools[i]
		r.Name, r.Text, r.Properties, r.Effect = cmp.Or(t.Name, t.ID), t.Description, strings.Join(properties(t), " "), suggest.EffectOf(t.Annotations)
		if s := t.Server + t.Domain; s != "" {
			r.Server = serverOf(servers, s)
		}
		for _, need := range t.Requires {
			if n, ok := p.number[need]; ok {
				r.Requires = append(r.Requires, n)
			}
		}
	}
	p.model = rank.Fit(rank.NewTexts(tools, nil, nil), tasks, rank.Options{Without: without})
	return []evaluate.Predictor{{Next: p.Next, Find: p.Find, Plan: p.Plan}}, nil
}

func (p *predictor) Next(q evaluate.Question) ([]evaluate.Candidate, error) {
	var list []evaluate.Candidate
	s := rank.Situation{Intent: q.Intent}
	for _, id := range q.Context {
		if n, ok := p.number[id]; ok {
			s.Context = append(s.Context, n)
		}
	}
	for _, r := range p.model.Next(s).Ranked {
		list = append(list, evaluate.Candidate{ID: p.ids[r.Tool]})
	}
	return list[:min(100, len(list))], nil
}

func (p *predictor) Find(intent string) ([]string, error) {
	var ids []string
	for _, r := range p.model.Next(rank.Situation{Intent: intent}).Ranked {
		ids = append(ids, p.ids[r.Tool])
	}
	return ids[:min(10, len(ids))], nil
}

func (p *predictor) Plan(intent string) (evaluate.Plan, error) {
	a := p.model.Plan(rank.Situation{Intent: intent})
	var plan evaluate.Plan
	for _, x := range a.Steps {
		for _, from := range x.After {
			plan.Links = append(plan.Links, evaluate.Link{From: p.ids[a.Steps[from].Tool], To: p.ids[x.Tool]})
		}
		plan.Tools = append(plan.Tools, p.ids[x.Tool])
	}
	return plan, nil
}

func properties(t *catalog.Tool) (names []string) {
	for _, p := range catalog.Properties(t.InputSchema) {
		names = append(names, p.Name)
	}
	return names
}

func serverOf(servers map[string]int32, name string) int32 {
	n, ok := servers[name]
	if !ok {
		n = int32(len(servers))
		servers[name] = n
	}
	return n
}

// measure fits an engine on the train part and asks it.
func measure(dir, part, engine string, most int) error {
	d, err := read(dir, part)
	if err != nil {
		return err
	}
	begun := time.Now()
	p, err := trained(engine, &d.data, d.train)
	if err != nil {
		return err
	}
	fitted := time.Since(begun)
	var next, asked, ndcg, node, link, exact mean
	for _, x := range d.test[:min(most, len(d.test))] {
		e := &x.Episode
		steps := ordered(e)
		if d.labels[e.ID].Next {
			for at := 1; at < len(steps); at++ {
				next.add(reciprocal(p, evaluate.Question{Context: steps[:at]}, steps[at]))
				if e.Intent != "" {
					asked.add(reciprocal(p, evaluate.Question{Context: steps[:at], Intent: e.Intent}, steps[at]))
				}
			}
		}
		if e.Intent == "" || !d.labels[e.ID].Intent {
			continue
		}
		ranked, err := p.Find(e.Intent)
		if err != nil {
			return err
		}
		plan, err := p.Plan(e.Intent)
		if err != nil {
			return err
		}
		ndcg.add(evaluate.NDCG(ranked, gold(e), 10))
		f := evaluate.F1(plan.Tools, gold(e))
		node.add(f)
		exact.yes(f > 1-1e-9)
		if links := linksOf(e); len(links) > 0 {
			link.add(evaluate.F1(plan.Links, links))
		}
	}
	fmt.Printf("%-10s %-8s train %d test %d  next %.4f  with request %.4f  ndcg@10 %.4f  node-f1 %.4f  link-f1 %.4f  exact %.4f  fit %.1f s, all %.1f s\n",
		d.Name, engine, len(d.train), len(d.test), next.of(), asked.of(), ndcg.of(), node.of(), link.of(), exact.of(), fitted.Seconds(), time.Since(begun).Seconds())
	return nil
}

// linksOf are the different links of a task between its tools.
func linksOf(e *episodic.Episode) (links []evaluate.Link) {
	for at, before := range e.Before() {
		for _, b := range before {
			l := evaluate.Link{From: e.Steps[b].Tool, To: e.Steps[at].Tool}
			if l.From != l.To && !slices.Contains(links, l) {
				links = append(links, l)
			}
		}
	}
	return links
}

func ordered(e *episodic.Episode) (ids []string) {
	for _, i := range e.Order() {
		ids = append(ids, e.Steps[i].Tool)
	}
	return ids
}

// trained is an engine with a history.
func trained(engine string, d *evaluate.Data, history []*evaluate.Example) (p evaluate.Predictor, err error) {
	trainer := train
	if engine != "rank" {
		trainer = evaluate.Suggester(engine, suggest.MeasureOptions{})
	}
	all, err := trainer(context.Background(), d, history)
	if err != nil {
		return p, err
	}
	return all[0], nil
}

func reciprocal(p evaluate.Predictor, q evaluate.Question, right string) float64 {
	list, err := p.Next(q)
	for i, r := range list {
		if err == nil && r.ID == right {
			return 1 / float64(i+1)
		}
	}
	return 0
}

type mean struct {
	sum float64
	n   int
}

func (m *mean) add(x float64) { m.sum += x; m.n++ }
func (m *mean) of() float64   { return m.sum / max(1, float64(m.n)) }
