package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"waymark/internal/numeric"
)

// A rebuild is refused where one new key explains most of what is new. Such a key, of which the history held fewer than
// [newSourceKnown] episodes when a rebuild was last judged, must have recorded more than half of the episodes since and,
// by the lower end of the 95 % Wilson interval, more than [muchOfAll] of all. A history of fewer than [severalSources]
// sources at that time cannot say which share is usual and refuses none.
const (
	newSourceKnown = 5
	muchOfAll      = 0.05
)

// NewSource is a key that explains most of what is new to a rebuild.
type NewSource struct {
	Name     string `json:"name"`
	Episodes int    `json:"episodes"` // of this source, since a rebuild was last judged
	New      int    `json:"new"`      // of all sources, since then
	All      int    `json:"all"`      // in the history
}

// String names the source and its shares.
func (s *NewSource) String() string {
	return fmt.Sprintf("%d of %d new episodes come from the new source %s (%d episodes in all)", s.Episodes, s.New, s.Name, s.All)
}

// FindNewSource finds the key that explains most of what follows the first judged of episodes, of which sources are given;
// nil: none does.
func FindNewSource(sources []string, judged int) *NewSource {
	before, since := map[string]int{}, map[string]int{}
	for i, source := range sources {
		if i < judged {
			before[source]++
		} else {
			since[source]++
		}
	}
	if len(before) < severalSources || len(since) == 0 {
		return nil
	}
	name := slices.MaxFunc(slices.Sorted(maps.Keys(since)), func(a, b string) int { return cmp.Compare(since[a], since[b]) })
	s := &NewSource{Name: name, Episodes: since[name], New: len(sources) - judged, All: len(sources)}
	share := numeric.WilsonLower(float64(s.Episodes), float64(s.All), numeric.Z95)
	if !HasKey(name) || before[name] >= newSourceKnown || 2*s.Episodes <= s.New || share <= muchOfAll {
		return nil
	}
	return s
}
