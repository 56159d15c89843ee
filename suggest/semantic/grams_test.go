package semantic

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Oracle: edits counted by hand. One is allowed up to 7 letters of the first word, two beyond.
func TestSpelling(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want float64
	}{
		{"search", "search", 1},
		{"serach", "search", 1 - 1./6}, // one swap; without it two changes, one too many
		{"isues", "issues", 1 - 1./6},
		{"issuess", "issues", 1 - 1./7},
		{"fetch", "batch", 0}, // two changes in a short word
		{"calender", "calendar", 1 - 1./8},
		{"repistory", "repository", 1 - 2./10}, // i for o, o dropped
		{"read", "readable", 0},
	} {
		var rows [3][maxGrammed + 1]int32
		assert.InDelta(t, row.want, spelling([]byte(row.a), row.b, &rows), 1e-12, "%s, %s", row.a, row.b)
	}
}
