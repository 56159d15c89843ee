package suggest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/internal/codec"
	"waymark/suggest/history"
)

// An episode that was recorded as far as it was done, and continued, counts as one that came whole, bit for
// bit, also through a snapshot in between.
func TestReopenedEpisodesCountAsWholeOnes(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	for round := range 60 {
		whole, reopened := history.NewState(), history.NewState()
		for i := range 12 {
			e := randomEpisode(r, fmt.Sprint("e", i))
			whole.Record(&e)
			n := 1 + r.IntN(len(e.Steps))
			part := e
			part.Steps, part.Outcome = e.Steps[:n:n], ""
			reopened.Record(&part)
			if n == len(e.Steps) && !e.Outcome.Known() {
				continue
			}
			g := &episodic.Grown{Episode: part}
			for i := range part.Steps {
				g.Numbers = append(g.Numbers, i+1)
			}
			reopened.Open(g)
			if r.IntN(2) == 0 {
				var w codec.Writer
				require.NoError(t, reopened.Image().Write(&w))
				read := codec.NewReader(w.Bytes)
				*reopened = *history.ReadState(read)
				require.NoError(t, read.End())
			}
			for i := n; i < len(e.Steps); i++ {
				step := e.Steps[i]
				reopened.Perform(&episodic.Performed{Episode: e.ID, Source: e.Source, Time: e.Time, Number: i + 1, Step: &step})
			}
			reopened.Perform(&episodic.Performed{Episode: e.ID, Source: e.Source, Time: e.Time, Outcome: e.Outcome})
		}
		require.Equal(t, unmeasured(t, whole).Parts(), unmeasured(t, reopened).Parts(), "round %d", round)
	}
}
