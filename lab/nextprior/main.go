// Command nextprior fits the weights that package learn/next begins with, from the train parts of several data
// sets, and says what they are worth on sets left out.
//
//	data sets ──train part──▶ small histories, steps of other tasks ──▶ weights that suit all of them ──▶ prior.go
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waymark/ingest"
	nexttool "waymark/learn/next"
	"waymark/suggest"
	"waymark/suggest/history"
)

func main() {
	var o options
	flag.StringVar(&o.folder, "datasets", "../shared/datasets", "`folder` of the data sets")
	flag.StringVar(&o.names, "sets", "galaxy_eu,tau_bench,toolbench,toollinkos", "`names` of the sets fitted on")
	flag.StringVar(&o.left, "without", "", "`name` of a set left out of the fit")
	flag.StringVar(&o.measured, "measure", "", "`names` of sets to measure on, by the weights fitted on the others")
	flag.StringVar(&o.out, "o", "", "`file` to write the weights to")
	flag.IntVar(&o.draws, "draws", 4, "`number` of histories of each size")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "nextprior:", err)
		os.Exit(1)
	}
}

type options struct {
	folder, names, left, measured, out string
	draws                              int
}

var (
	sizes    = [...]int{1, 3, 10, 30, 100, 300} // tasks of the histories
	measured = [...]int{1, 3, 10, 30, 100}
)

const (
	stepsADraw = 60 // asked for of each history
	stepsATask = 8
)

type set struct {
	name    string
	catalog nexttool.Catalog
	tasks   []*nexttool.Task
}

func read(folder, name string) (*set, error) {
	data, err := ingest.ReadLabelled(context.Background(), filepath.Join(folder, name))
	if err != nil {
		return nil, err
	}
	state := history.NewState()
	for _, t := range data.Tools {
		state.PutTool(t)
	}
	for i := range data.Episodes {
		if x := &data.Episodes[i]; x.Split == "train" && x.Next {
			state.Record(&x.Episode)
		}
	}
	s := &set{name: name}
	s.catalog, s.tasks = suggest.NextTasks(state.Freeze())
	return s, nil
}

// draw is a history of n tasks, and tasks of other groups; related ones, as the tasks of one person are, or any.
func (s *set) draw(n, draw int, salt string, related bool) (h *nexttool.History, asked, history []*nexttool.Task) {
	order := make([]int, len(s.tasks))
	key := make([]uint64, len(s.tasks))
	for i := range order {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", salt, draw, i))
		order[i], key[i] = i, binary.BigEndian.Uint64(sum[:])
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(key[a], key[b]), cmp.Compare(a, b)) })
	if related {
		order = s.related(order, 2*n+20)
	}
	n = min(n, len(order)*3/4)
	past := slices.Clone(order[:n])
	slices.Sort(past)
	h = nexttool.NewHistory(s.catalog)
	known := map[uint64]bool{}
	for _, i := range past {
		h.Observe(s.tasks[i])
		history = append(history, s.tasks[i])
		known[s.tasks[i].Group] = true
	}
	h.Settle(func() bool { return false })
	steps := 0
	for _, i := range order[n:] {
		if t := s.tasks[i]; !known[t.Group] && steps < stepsADraw {
			steps += min(len(t.Tools)-1, stepsATask)
			asked = append(asked, t)
		}
	}
	return h, asked, history
}

// related keeps the n tasks that share most tools with the first, in their order.
func (s *set) related(order []int, n int) []int {
	near, like := slices.Clone(order), make([]float64, len(s.tasks))
	for _, i := range order {
		like[i] = jaccard(s.tasks[order[0]].Tools, s.tasks[i].Tools)
	}
	slices.SortStableFunc(near, func(a, b int) int { return cmp.Compare(like[b], like[a]) })
	near = near[:min(n, len(near))]
	return slices.DeleteFunc(order, func(i int) bool { return !slices.Contains(near, i) })
}

// jaccard is the share of the tools of two tasks that both use.
func jaccard(a, b []int32) float64 {
	in := map[int32]bool{}
	for _, t := range a {
		in[t] = false
	}
	both := 0.0
	for _, t := range b {
		if used, ok := in[t]; ok && !used {
			both++
		}
		in[t] = true
	}
	return both / float64(len(in))
}

func run(o options) error {
	own := map[string]nexttool.Weights{}
	names := slices.DeleteFunc(strings.Split(o.names, ","), func(name string) bool { return name == o.left })
	for _, name := range names {
		s, err := read(o.folder, name)
		if err != nil {
			return err
		}
		var pool nexttool.Pool
		s.pool(&pool, o.draws)
		own[name] = pool.Fit()
	}
	if o.out != "" {
		source, err := format.Source([]byte(combined(own, names, "").Source("go run ./lab/nextprior -o learn/next/prior.go")))
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.out, source, 0o644); err != nil {
			return err
		}
	}
	for _, name := range strings.FieldsFunc(o.measured, func(r rune) bool { return r == ',' }) {
		s, err := read(o.folder, name)
		if err != nil {
			return err
		}
		s.measure(combined(own, names, name), o.draws, false)
		s.measure(combined(own, names, name), o.draws, true)
	}
	return nil
}

// combined is the belief by the sets but one.
func combined(own map[string]nexttool.Weights, names []string, without string) nexttool.Belief {
	var all []nexttool.Weights
	for _, name := range names {
		if name != without {
			all = append(all, own[name])
		}
	}
	return nexttool.Combine(all)
}

// pool adds steps predicted from histories of every size, which count the same for every set.
func (s *set) pool(pool *nexttool.Pool, draws int) {
	for _, n := range sizes {
		for draw := range draws {
			h, asked, _ := s.draw(n, draw, "fit", draw%2 == 0)
			steps := 0
			for _, t := range asked {
				steps += len(t.Tools) - 1
			}
			for _, t := range asked {
				pool.Add(h, t, stepsADraw/float64(steps))
			}
		}
	}
}

// measure prints the mean reciprocal rank of the next tool at every size: by a second-order Markov chain, by the
// prior, and by weights fitted from there.
func (s *set) measure(b nexttool.Belief, draws int, related bool) {
	never := func() bool { return false }
	for _, n := range measured {
		var sum [5]float64
		positions := 0
		for draw := range draws {
			h, asked, past := s.draw(n, draw, "measure", related)
			fit, _, _ := nexttool.FitFrom(b, s.catalog, past, false, never)
			var signs nexttool.FeatureValues
			var sources nexttool.Sources
			for _, t := range asked {
				h.Guess(t.Tools, &sources)
				var r *nexttool.Request
				if len(t.Request) > 0 {
					r = h.Ask(t.Request, t.Texts())
				}
				for i := 1; i < len(t.Tools); i++ {
					positions++
					h.Compute(t.Tools, sources.Parents, i, nil, &signs)
					sum[4] += 1 / float64(markov(past, t.Tools[:i], t.Tools[i], len(s.catalog.Server)))
					for k, x := range []nexttool.Weights{b.Mean, fit} {
						sum[k] += 1 / float64(h.Place(&signs, x.Plain, t.Tools[i]))
					}
					if r != nil {
						h.Compute(t.Tools, sources.Parents, i, r, &signs)
					}
					for k, x := range []nexttool.Weights{b.Mean, fit} {
						if r == nil {
							x.Asked = x.Plain
						}
						sum[2+k] += 1 / float64(h.Place(&signs, x.Asked, t.Tools[i]))
					}
				}
			}
		}
		fmt.Printf("%-10s %-7s %4d  markov %.3f ", s.name, map[bool]string{true: "related"}[related], n, sum[4]/float64(positions))
		for k, name := range []string{"prior", "fit", "| with a request: prior", "fit"} {
			fmt.Printf(" %s %.3f", name, sum[k]/float64(positions))
		}
		fmt.Println()
	}
}

// markov is the place of a tool by second-order counts, then first-order ones, then popularity.
func markov(past []*nexttool.Task, prefix []int32, tool int32, tools int) int {
	var one, two, all = make([]float64, tools), make([]float64, tools), make([]float64, tools)
	n := len(prefix)
	for _, t := range past {
		for i, x := range t.Tools {
			all[x]++
			if i > 0 && t.Tools[i-1] == prefix[n-1] {
				one[x]++
				if i > 1 && n > 1 && t.Tools[i-2] == prefix[n-2] {
					two[x]++
				}
			}
		}
	}
	if all[tool] == 0 {
		return 1e6
	}
	place := 1
	for x := range all {
		if int32(x) != tool && (two[x] > two[tool] || two[x] == two[tool] && (one[x] > one[tool] || one[x] == one[tool] && (all[x] > all[tool] || all[x] == all[tool] && int32(x) < tool))) {
			place++
		}
	}
	return place
}
