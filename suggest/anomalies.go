package suggest

import (
	"cmp"
	"fmt"
	"slices"

	"waymark/internal/numeric"
	"waymark/suggest/history"
)

// Anomaly is an unusual property of a source with a key. It is shown to the operator and changes no answer.
type Anomaly struct {
	Source string `json:"source"`
	Kind   string `json:"kind" enum:"repeats,failures,share"`
	Detail string `json:"detail"`
}

// The kinds of anomaly.
const (
	AnomalyRepeats  = "repeats"  // at least half of its episodes repeat transitions more often than is counted for one key
	AnomalyFailures = "failures" // its tasks mostly fail, those of all others mostly succeed; by 95 % Wilson intervals
	AnomalyShare    = "share"    // it is new and recorded most of the episodes since the last build
)

// suspectedFrom is the minimum number of episodes for an anomaly: repeating episodes of a source for AnomalyRepeats,
// episodes with a known outcome of the source and of all others for AnomalyFailures.
const suspectedFrom = 20

// anomalies reads all past episodes. It also returns the number of limited episodes by source.
func (m *Model) anomalies() (limited map[string]int, found []Anomaly) {
	type count struct{ all, limited, known, failed int }
	var total count
	by, sources := make([]count, len(m.Sources)), make([]string, m.Past.N)
	for i := range m.Past.N {
		p := m.Past.Episode(i)
		sources[i] = m.Sources[p.Source]
		for _, c := range []*count{&total, &by[p.Source]} {
			c.all++
			if p.Limited {
				c.limited++
			}
			if p.Outcome != 0 {
				c.known++
			}
			if p.Failed() {
				c.failed++
			}
		}
	}
	for i, c := range by {
		name := m.Sources[i]
		note := func(kind, format string, args ...any) {
			found = append(found, Anomaly{name, kind, fmt.Sprintf(format, args...)})
		}
		if c.limited > 0 {
			if limited == nil {
				limited = map[string]int{}
			}
			limited[name] = c.limited
		}
		if c.limited >= suspectedFrom && 2*c.limited >= c.all {
			note(AnomalyRepeats, "%d of %d episodes repeat transitions more often than is counted of one key", c.limited, c.all)
		}
		others := count{known: total.known - c.known, failed: total.failed - c.failed}
		if history.HasKey(name) && min(c.known, others.known) >= suspectedFrom && mostly(c.failed, c.known) && mostly(others.known-others.failed, others.known) {
			note(AnomalyFailures, "%d of %d tasks failed, %d of %d of the others", c.failed, c.known, others.failed, others.known)
		}
	}
	if s := history.FindNewSource(sources, m.measures.episodes); s != nil {
		found = append(found, Anomaly{s.Name, AnomalyShare, s.String()})
	}
	slices.SortFunc(found, func(a, b Anomaly) int { return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Kind, b.Kind)) })
	return limited, found
}

// mostly reports whether the lower end of the 95 % Wilson interval of a share is above one half.
func mostly(of, all int) bool {
	return numeric.WilsonLower(float64(of), float64(all), numeric.Z95) > 0.5
}
