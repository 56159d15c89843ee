package suggest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"waymark/episodic"
)

func TestWorkedAfterFailure(t *testing.T) {
	w := newWorld(t)
	for _, calls := range []string{ // ! failed, ? unknown
		"!stamp list stamp", "!stamp !stamp list", "!stamp write", "!stamp", "stamp shred", "!shred", "!stamp ?a ?b ?c list", "write list",
	} {
		e := episodic.Episode{Source: "test"}
		for _, call := range strings.Fields(calls) {
			outcome := episodic.Success
			switch call[0] {
			case '!':
				outcome = episodic.Failure
			case '?':
				outcome = episodic.Unknown
			}
			e.Steps = append(e.Steps, episodic.Step{Tool: "desk:" + strings.TrimLeft(call, "!?"), Outcome: outcome})
		}
		w.record(e)
	}
	m := w.model()
	for _, tt := range []struct {
		tool, id string
		n, of    int
	}{
		{"desk:stamp", "desk:list", 3, 6}, {"desk:shred", "", 0, 1}, {"desk:list", "", 0, 0}, {"desk:nothing", "", 0, 0},
	} {
		id, n, of := m.WorkedAfterFailure(tt.tool)
		assert.Equal(t, []any{tt.id, tt.n, tt.of}, []any{id, n, of}, tt.tool)
	}
}
