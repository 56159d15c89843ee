package evaluate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/episodic"
	"waymark/internal/numeric"
)

// A rebuild is refused where one new key explains most of what is new. Such a key, of which the history held fewer than
// [newSourceKnown] episodes when a rebuild was last judged, must have recorded more than half of the episodes since and,
// by the lower end of the 95 % Wilson interval, more than [muchOfAll] of all. A history of fewer than [leastSources]
// sources at that time cannot say which share is usual and refuses none.
const (
	newSourceKnown = 5
	muchOfAll      = 0.05
	leastSources   = 3
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

// newSource finds the key that explains most of what follows the first judged episodes; nil: none does.
func newSource(episodes []episodic.Episode, judged int) *NewSource {
	before, since := map[string]int{}, map[string]int{}
	for i := range episodes {
		if i < judged {
			before[episodes[i].Source]++
		} else {
			since[episodes[i].Source]++
		}
	}
	if len(before) < leastSources || len(since) == 0 {
		return nil
	}
	name := slices.MaxFunc(slices.Sorted(maps.Keys(since)), func(a, b string) int { return cmp.Compare(since[a], since[b]) })
	s := &NewSource{Name: name, Episodes: since[name], New: len(episodes) - judged, All: len(episodes)}
	share := numeric.WilsonLower(float64(s.Episodes), float64(s.All), numeric.Z95)
	if !strings.Contains(name, "key:") || before[name] >= newSourceKnown || 2*s.Episodes <= s.New || share <= muchOfAll {
		return nil
	}
	return s
}
