package evaluate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"waymark/episodic"
)

// HoldOut splits the history of a workspace by time: the latest share of the episodes is the test, all earlier
// ones are history. If an episode has no time, the order means little (an import reads files as they come, one
// kind of task after the other). Then the test is spread evenly over all episodes, and near copies of one request
// stay together.
func HoldOut(episodes []episodic.Episode, share float64) ([]Example, error) {
	if !(share > 0 && share < 1) {
		return nil, fmt.Errorf("hold out a share of %v: must lie between 0 and 1", share)
	}
	n := int(math.Round(share * float64(len(episodes))))
	if n == 0 || n == len(episodes) {
		return nil, fmt.Errorf("hold out a share of %v of %d episodes: one side would be empty", share, len(episodes))
	}
	examples := make([]Example, len(episodes))
	timed := true
	for i, e := range episodes {
		examples[i] = Example{Episode: e, Split: Train}
		timed = timed && !e.Time.IsZero()
	}
	if !timed {
		spread(examples, n)
		return examples, nil
	}
	slices.SortStableFunc(examples, func(a, b Example) int { return a.Episode.Time.Compare(b.Episode.Time) })
	for i := len(examples) - n; i < len(examples); i++ {
		examples[i].Split = Test
	}
	return examples, nil
}

// spread marks about n of the examples as tests, evenly over all and whole groups at a time. Groups of more than n
// are history. If the other groups have fewer than 2·n examples, single examples are spread instead.
func spread(examples []Example, n int) {
	groups, size, small := make([]string, len(examples)), map[string]int{}, 0
	for i := range examples {
		groups[i] = groupOf(&examples[i].Episode)
		size[groups[i]]++
	}
	for _, k := range size {
		if k <= n {
			small += k
		}
	}
	if small < 2*n { // too few examples are in small groups
		for i := range examples {
			if i*n/len(examples) != (i+1)*n/len(examples) {
				examples[i].Split = Test
			}
		}
		return
	}
	seen, taken := 0, 0
	splits := map[string]string{}
	for i, g := range groups {
		if splits[g] == "" {
			splits[g] = Train
			if size[g] <= n {
				if seen += size[g]; taken < seen*n/small {
					taken += size[g]
					splits[g] = Test
				}
			}
		}
		examples[i].Split = splits[g]
	}
}

// groupOf returns the group of an episode: its request without words that have digits; the session if it has no
// request; else its id. Episodes of one group are history together or held out together, because near copies on both
// sides would measure memorisation alone.
func groupOf(e *episodic.Episode) string {
	words := slices.DeleteFunc(strings.Fields(strings.ToLower(e.Intent)), func(w string) bool { return strings.ContainsFunc(w, unicode.IsDigit) })
	return cmp.Or(strings.Join(words, " "), e.Session, e.ID)
}
