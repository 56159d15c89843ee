package suggest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Of the ten best of all tools, those that text, graph and popularity bring in as candidates: 99 of 100 at least, over
// questions with and without an intent.
func TestCandidatesHoldTheBestOfAllTools(t *testing.T) {
	m := big(t, 2000, 4000).modelWith(MeasureOptions{WithoutSpectral: true})
	require.Greater(t, len(m.IDs), 5*textCandidates)
	ask := func(context []string, intent string, all bool) []int32 {
		q, err := m.newQuery(context, intent, nil)
		require.NoError(t, err)
		defer q.close()
		require.NoError(t, q.ask(ProfileSeed, nil))
		for n := range int32(len(m.IDs)) {
			if all && m.Live(n) {
				q.consider(n)
				if tool := m.measures.texts.tool[n]; intent != "" && q.nodes.semantic[n] == 0 {
					q.nodes.semantic[n] = q.matching().Of(tool)
				}
			}
		}
		var best []int32
		for _, c := range q.best(10, q.passes) {
			best = append(best, c.node)
		}
		return best
	}
	for name, kind := range map[string]struct{ context, intent bool }{"next": {context: true}, "intent": {true, true}} {
		found, of := 0, 0
		for i := range 60 {
			p := m.Past.Episode(i * 97 % m.Past.N)
			var context []string
			for _, n := range p.Nodes[:max(1, len(p.Nodes)-1)] {
				context = append(context, m.IDs[n])
			}
			intent := p.Intent
			if !kind.context {
				context = nil
			}
			if !kind.intent {
				intent = ""
			}
			have := map[int32]bool{}
			for _, n := range ask(context, intent, false) {
				have[n] = true
			}
			for _, n := range ask(context, intent, true) {
				of++
				if have[n] {
					found++
				}
			}
		}
		require.GreaterOrEqual(t, float64(found), .99*float64(of), name)
	}
}
