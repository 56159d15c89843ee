package evidence

import (
	"slices"
	"strings"
)

// Alike returns the groups of hypotheses that say the same: of cosine above the threshold over the words
// of their texts, directly or through others. Texts that differ in a number, in a verb and its opposite,
// or in that one denies what the other says are never the same, whatever their cosine. Groups and their
// members are in order of id.
func Alike(hypotheses []Hypothesis, threshold float64) [][]string {
	hs := slices.SortedFunc(slices.Values(hypotheses), func(a, b Hypothesis) int { return strings.Compare(a.ID, b.ID) })
	l := newLexicon()
	sets, words := make([][]int32, len(hs)), make([][]string, len(hs))
	group := make([]int, len(hs)) // by hypothesis: the first one of its group
	for i, h := range hs {
		sets[i], words[i], group[i] = l.set(h.Text), spoken(h.Text), i
		for j := range i {
			if cosine(sets[i], sets[j]) <= threshold || !sameClaim(words[i], words[j]) || group[i] == group[j] {
				continue
			}
			first, last := min(group[i], group[j]), max(group[i], group[j])
			for m := range i + 1 {
				if group[m] == last {
					group[m] = first
				}
			}
		}
	}
	groups := [][]string{}
	for i := range hs {
		var ids []string
		for j := i; j < len(hs); j++ {
			if group[j] == i {
				ids = append(ids, hs[j].ID)
			}
		}
		if len(ids) > 1 {
			groups = append(groups, ids)
		}
	}
	return groups
}

// sameClaim reports whether nothing small turns one claim into another.
func sameClaim(a, b []string) bool {
	return denies(a) == denies(b) && slices.Equal(numbers(a), numbers(b)) && !opposed(a, b) && !opposed(b, a)
}

// numbers returns the words with a digit, sorted.
func numbers(words []string) []string {
	var n []string
	for _, w := range words {
		if strings.ContainsAny(w, "0123456789") {
			n = append(n, w)
		}
	}
	slices.Sort(n)
	return slices.Compact(n)
}

// Distance is the mean of 1 - cosine over all pairs of texts: how far a set of hypotheses covers different
// answers. It is 0 for fewer than two.
func Distance(hypotheses []Hypothesis) float64 {
	l := newLexicon()
	var sets [][]int32
	for _, h := range hypotheses {
		sets = append(sets, l.set(h.Text))
	}
	var distances []float64
	for i := range sets {
		for j := range i {
			distances = append(distances, 1-cosine(sets[i], sets[j]))
		}
	}
	return mean(distances)
}
