package contract

import (
	"cmp"
	"slices"

	"waymark/catalog"
	"waymark/semantic"
)

// Renamed is a tool that may be another one under a new id.
type Renamed struct {
	From  string  `json:"from"`
	To    string  `json:"to"`
	Score float64 `json:"score" minimum:"0" maximum:"1" doc:"Likeness of names, texts and arguments; 1: equal but for the id."`
}

// LeastAlike is the score below which two tools are not taken for one. Measured on public catalogues (docs/decisions.md).
const LeastAlike = 0.7

// Successors pairs tools of old with tools of now that are alike: the most alike first, each tool once.
func Successors(old, now []catalog.Tool) []Renamed {
	a, b := features(old), features(now)
	named := map[string][]int{} // by word of the name: without a shared one no score is high enough
	for j := range b {
		for _, word := range b[j].name {
			named[word] = append(named[word], j)
		}
	}
	var all []Renamed
	for i := range a {
		var near []int
		for _, word := range a[i].name {
			near = append(near, named[word]...)
		}
		slices.Sort(near)
		for _, j := range slices.Compact(near) {
			if score := a[i].like(&b[j]); score >= LeastAlike {
				all = append(all, Renamed{old[i].ID, now[j].ID, score})
			}
		}
	}
	slices.SortFunc(all, func(a, b Renamed) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	from, to := map[string]bool{}, map[string]bool{}
	return slices.DeleteFunc(all, func(r Renamed) bool {
		taken := from[r.From] || to[r.To]
		from[r.From], to[r.To] = true, true
		return taken
	})
}

// WholeServers puts one pair "old:*", "new:*" in the place of two or more tools of a server that kept their names and went
// to one other server, unless another tool of that server got another name.
func WholeServers(pairs []Renamed) []Renamed {
	moved, other := map[[2]string][]Renamed{}, map[string]bool{}
	ways := map[string]map[string]bool{} // the servers that the tools of a server went to
	for _, p := range pairs {
		from, name, ok := catalog.Split(p.From)
		to, after, both := catalog.Split(p.To)
		if !ok || !both || name != after || from == to {
			other[from] = true
			continue
		}
		if ways[from] == nil {
			ways[from] = map[string]bool{}
		}
		ways[from][to] = true
		moved[[2]string{from, to}] = append(moved[[2]string{from, to}], p)
	}
	whole := func(way [2]string) bool { return len(moved[way]) > 1 && len(ways[way[0]]) == 1 && !other[way[0]] }
	out := []Renamed{}
	for _, p := range pairs {
		from, _, _ := catalog.Split(p.From)
		to, _, _ := catalog.Split(p.To)
		way := [2]string{from, to}
		if !whole(way) {
			out = append(out, p)
		} else if all := moved[way]; all[0] == p {
			out = append(out, Renamed{from + catalog.EveryTool, to + catalog.EveryTool, all[len(all)-1].Score}) // the lowest
		}
	}
	return out
}

// traits are what two tools are compared by. Empty ones are not compared: of a tool that was only seen in episodes the
// name alone is known.
type traits struct{ name, text, arguments []string }

func features(tools []catalog.Tool) []traits {
	all := make([]traits, len(tools))
	for i, t := range tools {
		name := t.ID
		if _, plain, ok := catalog.Split(t.ID); ok {
			name = plain
		}
		all[i] = traits{name: set(semantic.Tokens(name)), text: set(semantic.Tokens(t.Description))}
		for _, p := range catalog.Properties(t.InputSchema) {
			all[i].arguments = append(all[i].arguments, p.Name)
		}
		all[i].arguments = set(all[i].arguments)
	}
	return all
}

func set(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

// like is the mean of the overlaps 2·|A∩B| / (|A|+|B|) of names (weight 2), texts and arguments.
func (t *traits) like(o *traits) float64 {
	sum, weights := 0.0, 0.0
	for i, pair := range [][2][]string{{t.name, o.name}, {t.text, o.text}, {t.arguments, o.arguments}} {
		if a, b := pair[0], pair[1]; i == 0 || len(a) > 0 && len(b) > 0 {
			weight := 1.0
			if i == 0 {
				weight = 2
			}
			sum, weights = sum+weight*overlap(a, b), weights+weight
		}
	}
	return sum / weights
}

// overlap is Dice's coefficient of two sorted sets; 0 where both are empty.
func overlap(a, b []string) float64 {
	if len(a)+len(b) == 0 {
		return 0
	}
	shared := 0
	for _, w := range a {
		if _, ok := slices.BinarySearch(b, w); ok {
			shared++
		}
	}
	return 2 * float64(shared) / float64(len(a)+len(b))
}
