package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"waymark/episodic"
	"waymark/lab/labelled"
	"waymark/suggest/evaluate"
)

// develops reports whether a key is in the half that choices may be made on.
func develops(key string) bool { return sha256.Sum256([]byte(key))[0] < 128 }

func lines[T any](path string) ([]T, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []T
	in := bufio.NewScanner(bytes.NewReader(text))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var v T
		if err := json.Unmarshal(in.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, v)
	}
	return all, in.Err()
}

// contact asks in words that the history does not have: reworded requests, and needs for single tools.
func contact(dir, name, engine, half string) error {
	takes := func(key string) bool { return half == "both" || develops(key) == (half == "develop") }
	d, err := readSample()
	if name != "sample" {
		d, err = read(filepath.Join(dir, name), "all")
	}
	if err != nil {
		return err
	}
	type request struct{ Episode, Short, Plain string }
	requests, err := lines[request](filepath.Join(dir, "reworded", name+".requests.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	asked, said := map[string]*evaluate.Example{}, map[string]bool{}
	for _, r := range requests {
		asked[r.Episode] = nil
	}
	for _, x := range slices.Concat(d.train, d.test) {
		if _, ok := asked[x.Episode.ID]; ok {
			asked[x.Episode.ID] = x
			said[x.Episode.Intent] = true
		}
	}
	d.train = slices.DeleteFunc(d.train, func(x *evaluate.Example) bool { return said[x.Episode.Intent] })
	p, err := trained(engine, &d.data, d.train)
	if err != nil {
		return err
	}
	fmt.Printf("%-10s %-8s", name, engine)
	for _, kind := range []string{"original", "short", "plain"} {
		var node, size, ndcg, three mean
		for _, r := range requests {
			if !takes(r.Episode) {
				continue
			}
			e := &asked[r.Episode].Episode
			text := map[string]string{"original": e.Intent, "short": r.Short, "plain": r.Plain}[kind]
			plan, err := p.Plan(text)
			if err != nil {
				return err
			}
			node.add(evaluate.F1(distinct(plan.Tools), gold(e)))
			size.add(float64(len(plan.Tools)))
			found, err := p.Find(text)
			if err != nil {
				return err
			}
			three.add(evaluate.F1(found[:min(3, len(found))], gold(e)))
			ndcg.add(evaluate.NDCG(found, gold(e), 10))
		}
		if node.n > 0 {
			fmt.Printf("  %s %.3f (%.1f, ndcg %.3f, three %.3f)", kind, node.of(), size.of(), ndcg.of(), three.of())
		}
	}
	type need struct {
		Tool, A, B string
		Also       []string
	}
	needs, err := lines[need](filepath.Join(dir, "reworded", name+".needs.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var first, five, planned mean
	for _, n := range needs {
		if !takes(n.Tool) {
			continue
		}
		right := func(id string) bool { return id == n.Tool || slices.Contains(n.Also, id) }
		for _, text := range []string{n.A, n.B} {
			list, err := p.Find(text)
			if err != nil {
				return err
			}
			plan, err := p.Plan(text)
			if err != nil {
				return err
			}
			first.yes(len(list) > 0 && right(list[0]))
			five.yes(slices.ContainsFunc(list, right))
			planned.yes(slices.ContainsFunc(plan.Tools, right))
		}
	}
	if first.n > 0 {
		fmt.Printf("  needs: first %.3f five %.3f planned %.3f of %d", first.of(), five.of(), planned.of(), first.n)
	}
	fmt.Println()
	return nil
}

func gold(e *episodic.Episode) []string {
	var ids []string
	for _, s := range e.Steps {
		ids = append(ids, s.Tool)
	}
	return distinct(ids)
}

func distinct(ids []string) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (m *mean) yes(x bool) {
	if x {
		m.add(1)
	} else {
		m.add(0)
	}
}

func readSample() (*data, error) {
	d := &data{}
	d.Name = "sample"
	tools, capabilities, episodes, err := labelled.Sample()
	if err != nil {
		return nil, err
	}
	d.data = evaluate.Data{Name: "sample", Tools: tools, Capabilities: capabilities}
	for _, e := range episodes {
		d.train = append(d.train, &evaluate.Example{Episode: e, Split: evaluate.Train})
	}
	return d, nil
}

// engineer asks the sample for plans as an engineer would, and joins two tasks in one context.
func engineer(dir, engine string) error {
	d, err := readSample()
	if err != nil {
		return err
	}
	p, err := trained(engine, &d.data, d.train)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, "sample.changing.json"))
	if err != nil {
		return err
	}
	var changing []string
	if err := json.Unmarshal(text, &changing); err != nil {
		return err
	}
	type asked struct {
		Request   string
		Essential [][]string
		Asked     []string `json:"changes_asked"`
	}
	requests, err := lines[asked](filepath.Join(dir, "sample.plans.jsonl"))
	if err != nil {
		return err
	}
	complete, nothing, unasked, servable := 0, 0, 0, 0
	for _, r := range requests {
		plan, err := p.Plan(r.Request)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(plan.Tools, func(id string) bool { return slices.Contains(changing, id) && !slices.Contains(r.Asked, id) }) {
			unasked++
		}
		if r.Essential == nil {
			continue
		}
		got := 0
		for _, group := range r.Essential {
			if slices.ContainsFunc(group, func(id string) bool { return slices.Contains(plan.Tools, id) }) {
				got++
			}
		}
		servable++
		if got == len(r.Essential) {
			complete++
		}
		if got == 0 {
			nothing++
		}
	}
	fmt.Printf("sample     %-8s complete %d nothing right %d of %d, unasked change %d of %d", engine, complete, nothing, servable, unasked, len(requests))
	random := rand.New(rand.NewPCG(11, 0))
	var long []*evaluate.Example
	for _, x := range d.train {
		if x.Episode.Intent != "" && len(x.Episode.Steps) >= 3 && x.Episode.Outcome == "success" {
			long = append(long, x)
		}
	}
	var alone, joined, with mean
	for range 60 {
		a, b := long[random.IntN(len(long))], long[random.IntN(len(long))]
		before, steps := ordered(&a.Episode), ordered(&b.Episode)
		for at := 1; at < len(steps); at++ {
			hit := func(q evaluate.Question) bool { return reciprocal(p, q, steps[at]) == 1 }
			both := slices.Concat(before, steps[:at])
			alone.yes(hit(evaluate.Question{Context: steps[:at]}))
			joined.yes(hit(evaluate.Question{Context: both}))
			with.yes(hit(evaluate.Question{Context: both, Intent: b.Episode.Intent}))
		}
	}
	fmt.Printf("; alone %.3f joined %.3f with the request %.3f\n", alone.of(), joined.of(), with.of())
	return nil
}
