package suggest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Transitions since the build count at once: a follower of the last step that is new comes up, and where both ways
// came as often as before, the steps before the last go on deciding between them.
func TestLearnedCountsTransitionsSinceTheBuild(t *testing.T) {
	w := planted(t, 80)
	measures := w.measured()
	for range 60 {
		w.episode("", "x:a", "x:b", "x:c")
		w.episode("", "x:d", "x:b", "x:e")
		w.episode("", "x:f", "x:new")
	}
	m := w.since(measures)
	for context, want := range map[[2]string]string{{"x:a", "x:b"}: "x:c", {"x:d", "x:b"}: "x:e", {"x:b", "x:f"}: "x:new", {"x:c", "x:a"}: "x:b"} {
		for range 2 { // an answer does not depend on the one before
			a := next(t, m, NextRequest{Context: context[:], Profile: ProfileLearned, Limit: MaxLimit})
			assert.Equal(t, want, a.Suggestions[0].ID, "after %v", context)
			assert.Greater(t, a.Suggestions[0].Confidence, .5)
			total := 0.0
			for _, s := range a.Suggestions {
				total += s.Confidence
			}
			assert.Less(t, total, 1.01, "after %v", context)
		}
	}
}
