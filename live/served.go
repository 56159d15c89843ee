package live

import "waymark/suggest"

// served is an answer that was given, kept for feedback.
type served struct {
	Context []string
	First   string // id of the first suggestion; empty: there was none
}

// servedLimit is how many answers are remembered.
const servedLimit = 4096

// resolved returns the canonical id of a spelling, or the spelling if it has none.
func resolved(m *suggest.Model, spelling string) string {
	if id, err := m.Resolve(spelling); err == nil {
		return id
	}
	return spelling
}
