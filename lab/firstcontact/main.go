// Command firstcontact measures answers to requests in words that the history does not have.
//
//	data set ──train part without the requests asked about──▶ model ──▶ plans for the original, short and plain wording
//	                                                            └────▶ searches for single needs, for tools by their own text
//
// The requests and needs are files of hand-written wordings, SET.requests.jsonl and SET.needs.jsonl. A hash of
// the episode or tool puts each into the half to develop on or the half to look at once. Each model is fitted
// once and asked about every wording.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/lab/labelled"
	"waymark/suggest"
	"waymark/suggest/evaluate"
	"waymark/suggest/history"
)

type options struct {
	datasets, reworded, sets, half, profiles string
	plans, needs, own, test, misses, guard   bool
	curve                                    bool
	sizes                                    string
	draws                                    int
	everyday, foreign                        string
}

func main() {
	var o options
	flag.StringVar(&o.datasets, "datasets", "../shared/datasets", "`folder` of the data sets")
	flag.StringVar(&o.reworded, "reworded", "", "`folder` of the wordings; default: reworded in the folder of the data sets")
	flag.StringVar(&o.sets, "sets", "ultratool,toollinkos,tau_bench,toolathlon,n8n,livemcp,sample,cold", "`names` of the sets; cold is the catalog of livemcp and mcp_catalog without a history")
	flag.StringVar(&o.half, "half", "develop", "`half` of the wordings: develop, held or both")
	flag.StringVar(&o.profiles, "profiles", "seed,learned", "`profiles` to ask")
	flag.BoolVar(&o.plans, "plans", true, "ask for plans of reworded requests")
	flag.BoolVar(&o.needs, "needs", true, "search for single needs")
	flag.BoolVar(&o.own, "own", true, "search for tools by their own name and first sentence")
	flag.BoolVar(&o.test, "test", false, "ask for plans of the test split, too")
	flag.BoolVar(&o.misses, "misses", false, "print the needs that are not answered among the first five")
	flag.BoolVar(&o.guard, "thesaurus", false, "only print the entries of the thesaurus that stand in the needs and in the texts of hardly any tool")
	flag.BoolVar(&o.curve, "curve", false, "measure learning curves in place of other wordings")
	flag.StringVar(&o.sizes, "sizes", "0,3,10,30,100,300", "`numbers` of tasks of a learning curve")
	flag.IntVar(&o.draws, "draws", 5, "`number` of draws of each history of a learning curve")
	flag.StringVar(&o.everyday, "everyday", "", "`folder` of everyday requests: ask them of the sets sample and cold, a catalog without history")
	flag.StringVar(&o.foreign, "foreign", "", "`file` of foreign requests")
	flag.Parse()
	if o.reworded == "" {
		o.reworded = filepath.Join(o.datasets, "reworded")
	}
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "firstcontact:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.guard {
		return guard(o)
	}
	for _, name := range strings.Split(o.sets, ",") {
		s, err := read(ctx, o, name)
		if err == nil && o.curve {
			err = s.curve(ctx, o)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if o.curve {
			continue
		}
		if err := s.measure(ctx, o); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(pooled)) {
		pooled[key].print(key)
	}
	return nil
}

// pooled are the claims of all sets, by profile and wording.
var pooled = map[string]*trust{}

// trust is what first suggestions claimed, and by how much at least.
type trust struct {
	claims []evaluate.Prediction
	lows   []evaluate.Prediction
}

// print says how far the claims can be trusted: their error, the share right where .9 or more is claimed, and in how
// many of ten parts of equal size, ordered by lower bound, at least as many are right as these say on average.
func (t *trust) print(key string) {
	sure, right := 0, 0
	for _, c := range t.claims {
		if c.Confidence >= 0.9 {
			sure++
			if c.Right {
				right++
			}
		}
	}
	slices.SortStableFunc(t.lows, func(a, b evaluate.Prediction) int { return cmp.Compare(a.Confidence, b.Confidence) })
	held := 0
	for i := range 10 {
		kept := 0.0
		for _, c := range t.lows[i*len(t.lows)/10 : (i+1)*len(t.lows)/10] {
			kept -= c.Confidence
			if c.Right {
				kept++
			}
		}
		if kept >= 0 {
			held++
		}
	}
	c := evaluate.Calibrate(t.claims, 1)
	fmt.Printf("all sets, %-18s n %4d  list ece %.3f band %.3f  right where 0.9 is claimed %.3f of %d  bound holds in %d of 10\n",
		key, len(t.claims), c.ECE, c.Band[1], float64(right)/float64(max(1, sure)), sure, held)
}

// request is one line of a file of requests; need one of a file of needs.
type request struct{ Episode, Short, Plain string }

type need struct {
	Tool, A, B string
	Also       []string
}

type set struct {
	name     string
	data     evaluate.Data
	requests []request
	needs    []need
}

// develops reports whether a key is in the half to develop on.
func develops(key string) bool { return sha256.Sum256([]byte(key))[0] < 128 }

func lines[T any](path string, keep func(T) bool) ([]T, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []T
	in := bufio.NewScanner(bytes.NewReader(data))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var v T
		if err := json.Unmarshal(in.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if keep(v) {
			all = append(all, v)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

func read(ctx context.Context, o options, name string) (*set, error) {
	if name == "cold" {
		return cold(ctx, o)
	}
	s := &set{name: name}
	s.data.Name = name
	var err error
	if name == "sample" {
		var episodes []episodic.Episode
		if s.data.Tools, s.data.Capabilities, episodes, err = labelled.Sample(); err != nil {
			return nil, err
		}
		for _, e := range episodes {
			s.data.Examples = append(s.data.Examples, evaluate.Example{Episode: e, Split: evaluate.Train})
		}
	} else {
		set, err := labelled.Read(ctx, filepath.Join(o.datasets, name))
		if err != nil {
			return nil, err
		}
		s.data.Tools, s.data.Capabilities = set.Tools, set.Capabilities
		for _, x := range set.Episodes {
			s.data.Examples = append(s.data.Examples, evaluate.Example{Episode: x.Episode, Split: x.Split})
		}
	}
	takes := func(key string) bool { return o.half == "both" || develops(key) == (o.half == "develop") }
	if s.requests, err = lines(filepath.Join(o.reworded, name+".requests.jsonl"), func(r request) bool { return true }); err != nil {
		return nil, err
	}
	s.withhold(takes)
	s.needs, err = lines(filepath.Join(o.reworded, name+".needs.jsonl"), func(n need) bool { return takes(n.Tool) })
	return s, err
}

// withhold takes the requests asked about, and other attempts at them, out of the history. It keeps the requests
// of the half.
func (s *set) withhold(takes func(string) bool) {
	asked, said := map[string]bool{}, map[string]bool{}
	for _, r := range s.requests {
		asked[r.Episode] = true
	}
	for i := range s.data.Examples {
		if e := &s.data.Examples[i].Episode; asked[e.ID] {
			said[e.Intent] = true
		}
	}
	for i := range s.data.Examples {
		switch x := &s.data.Examples[i]; {
		case asked[x.Episode.ID]:
			x.Split = "asked"
		case x.Split == evaluate.Train && said[x.Episode.Intent]:
			x.Split = "left out"
		}
	}
	s.requests = slices.DeleteFunc(s.requests, func(r request) bool { return !takes(r.Episode) })
}

// model is fitted to the train part.
func (s *set) model(ctx context.Context, profiles string) (*suggest.Model, error) {
	state := history.NewState()
	for _, t := range s.data.Tools {
		state.PutTool(t)
	}
	for _, c := range s.data.Capabilities {
		state.PutCapability(c)
	}
	for i := range s.data.Examples {
		if x := &s.data.Examples[i]; x.Split == evaluate.Train {
			state.Record(&x.Episode)
		}
	}
	o := suggest.MeasureOptions{Learn: strings.Contains(profiles, "learned")}
	counts := state.Freeze()
	measures, err := suggest.Measure(ctx, counts, o)
	if err != nil {
		return nil, err
	}
	return suggest.NewModel(counts, measures, suggest.Stamp{Version: "firstcontact"})
}

func (s *set) measure(ctx context.Context, o options) error {
	start := time.Now()
	m, err := s.model(ctx, o.profiles)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d tools, built in %.1f s\n", s.name, len(s.data.Tools), time.Since(start).Seconds())
	for _, profile := range strings.Split(o.profiles, ",") {
		if o.plans {
			if err := s.askPlans(m, profile, o.test); err != nil {
				fmt.Printf("  %-8s %v\n", profile, err)
			}
		}
		if o.needs && len(s.needs) > 0 {
			if err := s.askNeeds(m, profile, o.misses); err != nil {
				fmt.Printf("  %-8s %v\n", profile, err)
			}
		}
		if o.foreign != "" {
			if err := s.askForeign(m, profile, o.foreign, o.half, o.misses); err != nil {
				fmt.Printf("  %-8s %v\n", profile, err)
			}
		}
		if o.everyday != "" {
			for _, file := range map[string][]string{"sample": {"sample.jsonl", "sample-typos.jsonl"}, "cold": {"cold.jsonl"}}[s.name] {
				if err := s.askEveryday(m, profile, filepath.Join(o.everyday, file), s.name == "cold", o.misses); err != nil {
					fmt.Printf("  %-8s %v\n", profile, err)
				}
			}
		}
		if o.own {
			if err := s.askOwn(m, profile); err != nil {
				fmt.Printf("  %-8s %v\n", profile, err)
			}
		}
	}
	return nil
}

// askPlans asks for a plan and a list of tools for every wording.
func (s *set) askPlans(m *suggest.Model, profile string, test bool) error {
	byID := map[string]*evaluate.Example{}
	for i := range s.data.Examples {
		byID[s.data.Examples[i].Episode.ID] = &s.data.Examples[i]
	}
	kinds := []struct {
		name string
		of   func(r request, e *episodic.Episode) string
	}{
		{"original", func(_ request, e *episodic.Episode) string { return e.Intent }},
		{"short", func(r request, _ *episodic.Episode) string { return r.Short }},
		{"plain", func(r request, _ *episodic.Episode) string { return r.Plain }},
	}
	for _, kind := range kinds {
		var a plans
		for _, r := range s.requests {
			e := &byID[r.Episode].Episode
			if err := a.ask(m, profile, kind.of(r, e), e); err != nil {
				return err
			}
		}
		a.print(profile, kind.name)
	}
	if test {
		var a plans
		for i := range s.data.Examples {
			if x := &s.data.Examples[i]; x.Split == evaluate.Test && strings.TrimSpace(x.Episode.Intent) != "" {
				if err := a.ask(m, profile, x.Episode.Intent, &x.Episode); err != nil {
					return err
				}
			}
		}
		a.print(profile, "test")
	}
	return nil
}

// plans adds up how well plans and lists did.
type plans struct {
	n, linked              int
	node, link, ndcg, size float64
	gold                   float64
	trust
	claimed float64
}

func (a *plans) ask(m *suggest.Model, profile, intent string, e *episodic.Episode) error {
	tools, links, confidence, _, err := plan(m, profile, intent)
	if err != nil {
		return err
	}
	slices.Sort(tools)
	tools = slices.Compact(tools)
	var gold []string
	var goldLinks []evaluate.Link
	before := e.Before()
	for _, i := range e.Order() {
		gold = append(gold, e.Steps[i].Tool)
		for _, b := range before[i] {
			if l := (evaluate.Link{From: e.Steps[b].Tool, To: e.Steps[i].Tool}); l.From != l.To && !slices.Contains(goldLinks, l) {
				goldLinks = append(goldLinks, l)
			}
		}
	}
	slices.Sort(gold)
	gold = slices.Compact(gold)
	no := false
	found, err := m.Next(suggest.NextRequest{Intent: intent, Limit: suggest.MaxLimit, Profile: profile, Explain: &no})
	if err != nil {
		return err
	}
	var ranked []string
	for _, r := range found.Suggestions {
		if r.Kind == catalog.KindTool {
			ranked = append(ranked, r.ID)
		}
	}
	a.n++
	f1 := evaluate.F1(tools, gold)
	a.node += f1
	a.ndcg += evaluate.NDCG(ranked, gold, 10)
	a.size += float64(len(tools))
	a.gold += float64(len(gold))
	a.claimed += confidence
	if len(goldLinks) > 0 {
		a.linked++
		a.link += evaluate.F1(links, goldLinks)
	}
	if len(ranked) > 0 {
		right := slices.Contains(gold, ranked[0])
		a.claims = append(a.claims, evaluate.Prediction{Confidence: found.Suggestions[0].Confidence, Right: right})
		a.lows = append(a.lows, evaluate.Prediction{Confidence: found.Suggestions[0].ConfidenceLow, Right: right})
	}
	return nil
}

func (a *plans) print(profile, kind string) {
	if a.n == 0 {
		return
	}
	n := float64(a.n)
	key := profile + " " + kind
	if pooled[key] == nil {
		pooled[key] = &trust{}
	}
	pooled[key].claims, pooled[key].lows = append(pooled[key].claims, a.claims...), append(pooled[key].lows, a.lows...)
	c := evaluate.Calibrate(a.claims, 1)
	fmt.Printf("  %-8s %-9s n %4d  node %.3f link %.3f ndcg %.3f  size %.2f of %.2f  claimed %.3f  list ece %.3f band %.3f\n",
		profile, kind, a.n, a.node/n, a.link/float64(max(1, a.linked)), a.ndcg/n, a.size/n, a.gold/n, a.claimed/n, c.ECE, c.Band[1])
}

// askNeeds searches for single needs.
func (s *set) askNeeds(m *suggest.Model, profile string, misses bool) error {
	var t hits
	for _, n := range s.needs {
		right := append([]string{n.Tool}, n.Also...)
		for _, query := range []string{n.A, n.B} {
			ranked, err := search(m, profile, query)
			if err != nil {
				return err
			}
			if at := t.add(ranked, func(id string) bool { return slices.Contains(right, id) }); misses && (at < 0 || at > 4) {
				fmt.Printf("    %q: wanted %s, got %v\n", query, n.Tool, ranked[:min(3, len(ranked))])
			}
		}
	}
	t.print(profile, "needs")
	return nil
}

func search(m *suggest.Model, profile, query string) ([]string, error) {
	no := false
	found, err := m.Search(suggest.SearchRequest{Query: query, Limit: 60, Kinds: []catalog.Kind{catalog.KindTool}, Profile: profile, Explain: &no})
	var ids []string
	for _, r := range found.Results {
		ids = append(ids, r.ID)
	}
	return ids, err
}

// hits adds up where the first right answer stands.
type hits struct {
	n, first, five int
	mrr            float64
}

func (h *hits) add(ranked []string, right func(string) bool) int {
	at := slices.IndexFunc(ranked, right)
	h.n++
	if at >= 0 {
		h.mrr += 1 / float64(at+1)
		if at == 0 {
			h.first++
		}
		if at < 5 {
			h.five++
		}
	}
	return at
}

func (h *hits) print(profile, kind string) {
	n := float64(max(1, h.n))
	fmt.Printf("  %-8s %-9s n %4d  hit@1 %.3f hit@5 %.3f mrr %.3f\n", profile, kind, h.n, float64(h.first)/n, float64(h.five)/n, h.mrr/n)
}

// askOwn searches for tools by their own name and by the first sentence of their description. Tools of equal
// text are equally right.
func (s *set) askOwn(m *suggest.Model, profile string) error {
	var name, sentence hits
	step := max(1, len(s.data.Tools)/300)
	same := map[string]map[string]bool{}
	put := func(text, id string) {
		if same[text] == nil {
			same[text] = map[string]bool{}
		}
		same[text][id] = true
	}
	for _, t := range s.data.Tools {
		put(nameWords(t.Name, t.ID), t.ID)
		put(firstSentence(t.Description), t.ID)
	}
	for i := 0; i < len(s.data.Tools); i += step {
		t := s.data.Tools[i]
		for _, q := range []struct {
			text string
			to   *hits
		}{{nameWords(t.Name, t.ID), &name}, {firstSentence(t.Description), &sentence}} {
			if strings.TrimSpace(q.text) == "" {
				continue
			}
			ranked, err := search(m, profile, q.text)
			if err != nil {
				return err
			}
			q.to.add(ranked, func(id string) bool { return same[q.text][id] })
		}
	}
	name.print(profile, "own name")
	sentence.print(profile, "own text")
	return nil
}

// nameWords is a name as words.
func nameWords(name, id string) string {
	if name == "" {
		name = id
		if i := strings.LastIndexAny(name, ":/"); i >= 0 {
			name = name[i+1:]
		}
	}
	var b strings.Builder
	var last rune
	for _, r := range name {
		if r >= 'A' && r <= 'Z' && last >= 'a' && last <= 'z' {
			b.WriteByte(' ')
		}
		if r == '_' || r == '-' || r == '.' || r == '/' {
			r = ' '
		}
		b.WriteRune(r)
		last = r
	}
	return strings.ToLower(b.String())
}

func firstSentence(text string) string {
	if i := strings.IndexAny(text, ".\n"); i > 0 {
		text = text[:i]
	}
	return strings.TrimSpace(text)
}
