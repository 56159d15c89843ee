package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"waymark/episodic"
)

// strategy is an attack as it is drawn: how much, when, by how many keys, and how much it looks like honest use.
type strategy struct {
	fakes  int
	keys   int
	when   string  // begin, end or spread: where in the history the fakes are
	honest float64 // share of honest sessions among the attacker's episodes
	before int     // honest steps before the context
	behind int     // honest steps after the target
	repeat bool    // the target twice in a row
	target string  // unused or known
}

func (s strategy) String() string {
	return fmt.Sprintf("%d episodes at the %s, %.0f %% honest, %d steps before, %d after, repeated %t, target %s",
		s.fakes, s.when, 100*s.honest, s.before, s.behind, s.repeat, s.target)
}

func drawStrategy(r *rand.Rand, keys int) strategy {
	return strategy{
		fakes: []int{1, 2, 3, 5, 10, 20, 50, 100, 300}[r.IntN(9)], keys: keys,
		when: []string{"begin", "end", "spread"}[r.IntN(3)], honest: []float64{0, 0, .3, .6, .9}[r.IntN(5)],
		before: r.IntN(3), behind: r.IntN(3), repeat: r.IntN(4) == 0,
		target: []string{"unused", "known"}[r.IntN(2)],
	}
}

// episodes returns the history with the attack in it.
func (s strategy) episodes(h *history, r *rand.Rand, context, target string) []episodic.Episode {
	fakes := make([]episodic.Episode, s.fakes)
	for i := range fakes {
		if r.Float64() < s.honest {
			fakes[i] = h.session("")
		} else {
			fakes[i] = episodic.Episode{Outcome: episodic.Success}
			around := h.session("").Steps
			fakes[i].Steps = append(fakes[i].Steps, around[:s.before]...)
			fakes[i].Steps = append(fakes[i].Steps, step(context, episodic.Success), step(target, episodic.Success))
			if s.repeat {
				fakes[i].Steps = append(fakes[i].Steps, step(target, episodic.Success))
			}
			fakes[i].Steps = append(fakes[i].Steps, around[len(around)-s.behind:]...)
		}
		fakes[i].Source = fmt.Sprint("key:attacker", i%s.keys)
	}
	switch s.when {
	case "begin":
		return slices.Concat(fakes, h.episodes)
	case "end":
		return slices.Concat(h.episodes, fakes)
	}
	out := slices.Clone(h.episodes)
	for _, f := range fakes {
		out = slices.Insert(out, r.IntN(len(out)+1), f)
	}
	return out
}

// searchAll draws attacks and tries each on some contexts of a history of its own.
func searchAll(worlds, profiles []string, keys []int, tries, contexts int) error {
	fmt.Println("| history | profile | keys | attacks | top five, mean % | attacks with any | worst % | worst attack |\n|---|---|--:|--:|--:|--:|--:|---|")
	for _, world := range worlds {
		for _, profile := range profiles {
			for _, k := range keys {
				random := rand.New(rand.NewPCG(uint64(k), 7))
				sum, successful, worst, by := 0., 0, -1., strategy{}
				for try := range tries {
					s := drawStrategy(random, k)
					share, err := s.tried(world, profile, contexts, uint64(try), random)
					if err != nil {
						return err
					}
					if sum += share; share > 0 {
						successful++
					}
					if share > worst {
						worst, by = share, s
					}
				}
				fmt.Printf("| %s | %s | %d | %d | %.1f | %d | %.0f | %s |\n", world, profile, k, tries, 100*sum/float64(tries), successful, 100*worst, by)
			}
		}
	}
	return nil
}

// tried returns the share of contexts in which the target stands among the first five and did not without the attack.
func (s strategy) tried(world, profile string, contexts int, seed uint64, random *rand.Rand) (float64, error) {
	h := generate(sizes[world], contexts, seed)
	clean, err := train(log{tools: h.tools, episodes: h.episodes}, profile)
	if err != nil {
		return 0, err
	}
	n, hits := 0, 0
	for _, context := range h.contexts {
		before, err := clean.ask("next", context, "")
		if err != nil {
			return 0, err
		}
		target := "rare:tool"
		if s.target == "known" {
			target = h.elsewhere(context)
		}
		if slices.Contains(before[:min(5, len(before))], target) || strings.HasPrefix(context, target) {
			continue
		}
		attacked, err := train(log{tools: h.tools, episodes: s.episodes(h, random, context, target)}, profile)
		if err != nil {
			return 0, err
		}
		after, err := attacked.ask("next", context, "")
		if err != nil {
			return 0, err
		}
		n++
		if slices.Contains(after[:min(5, len(after))], target) {
			hits++
		}
	}
	return float64(hits) / float64(max(1, n)), nil
}
