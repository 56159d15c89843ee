package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"waymark/internal/numeric"
)

// A rebuild is refused if one new key recorded most of the new episodes. A key is new if the history held fewer than
// [newSourceKnown] of its episodes when a rebuild was last judged. Such a key must have recorded more than half of the
// episodes since then and, by the lower end of the 95 % Wilson interval, more than [muchOfAll] of all episodes. If the
// history had fewer than [severalSources] sources then, the usual share is unknown and no rebuild is refused.
const (
	newSourceKnown = 5
	muchOfAll      = 0.05
)

// NewSource is a new key that recorded most of the episodes that are new to a rebuild.
type NewSource struct {
	Name     string `json:"name"`
	Episodes int    `json:"episodes"` // of this source, since a rebuild was last judged
	New      int    `json:"new"`      // of all sources, since then
	All      int    `json:"all"`      // in the history
}

// String describes the source and its shares.
func (s *NewSource) String() string {
	return fmt.Sprintf("%d of %d new episodes come from the new source %s (%d episodes in all)", s.Episodes, s.New, s.Name, s.All)
}

// FindNewSource returns the new key that recorded most of the episodes after the first judged ones; nil if there is
// none. sources holds the source of each episode.
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
