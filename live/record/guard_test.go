package record

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/run"
)

// turn is one call of a session: what it is asked and answered, and how long after the call before.
type turn struct {
	tool, arguments string
	failure         run.Failure
	message         string
	after           time.Duration
	refused         bool
}

func TestRepeatedFailures(t *testing.T) {
	fails := func(message string) turn {
		return turn{tool: "desk:stamp", arguments: `{"letter":7,"to":"Ada"}`, failure: run.FailedTool, message: message}
	}
	with := func(t turn, change func(*turn)) turn { change(&t); return t }
	refused := func(t turn) turn { t.refused = true; return t }
	missing := fails("no letter 7")
	for _, tt := range []struct {
		name  string
		turns []turn
	}{
		{"the third equal failure", []turn{missing, missing, refused(missing), refused(missing)}},
		{"arguments in another order", []turn{missing, with(missing, func(t *turn) { t.arguments = ` {"to":"Ada", "letter":7}` }), refused(missing)}},
		{"numbers in the message", []turn{fails("request 4711 failed at 12:01"), fails("request 4712 failed at 12:02"), refused(missing)}},
		{"others between that fail, too", []turn{missing, with(missing, func(t *turn) { t.tool = "desk:shred" }), missing, refused(missing)}},
		{"a refused argument", []turn{with(missing, func(t *turn) { t.failure = run.FailedArgument }), with(missing, func(t *turn) { t.failure = run.FailedArgument }), refused(missing)}},
		{"other arguments", []turn{missing, missing, with(missing, func(t *turn) { t.arguments = `{"letter":8}` })}},
		{"another error", []turn{missing, fails("the desk is closed on Sundays"), missing}},
		{"a success between", []turn{missing, missing, {tool: "desk:write", arguments: `{}`}, missing}},
		{"a pause", []turn{missing, missing, with(missing, func(t *turn) { t.after = 2 * time.Second }), missing}},
		{"not yet", []turn{fails("build 7 is not ready yet"), fails("build 7 is not ready yet"), fails("build 7 is not ready yet")}},
		{"a limit", []turn{fails("429 Too Many Requests"), fails("429 Too Many Requests"), fails("429 Too Many Requests")}},
		{"busy", []turn{fails("database is locked"), fails("database is locked"), fails("database is locked")}},
		{"no answer in time", []turn{with(missing, func(t *turn) { t.failure = run.FailedTimeout }), with(missing, func(t *turn) { t.failure = run.FailedTimeout }), missing}},
		{"nobody there", []turn{with(missing, func(t *turn) { t.failure = run.FailedUnavailable }), with(missing, func(t *turn) { t.failure = run.FailedUnavailable }), missing}},
	} {
		t.Run(tt.name, func(t *testing.T) { play(t, workspace(t, memory(t)), "", tt.turns) })
	}
	t.Run("of a run", func(t *testing.T) { play(t, workspace(t, memory(t)), "t1", []turn{missing, missing, missing}) })
}

// play makes calls in one session and asks which of them are refused.
func play(t *testing.T, e *live.Engine, id string, turns []turn) {
	t.Helper()
	now, at := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC), 0
	r := New(opened(e), callerFunc(func(context.Context, run.Call) (run.Result, error) {
		return run.Result{Failure: turns[at].failure, Message: turns[at].message, Structured: json.RawMessage(`{}`)}, nil
	}), Options{Now: func() time.Time { return now }})
	for i, turn := range turns {
		at, now = i, now.Add(turn.after+10*time.Millisecond)
		result, err := r.Call(t.Context(), run.Call{Tool: turn.tool, Session: "s", ID: id, Arguments: json.RawMessage(turn.arguments)})
		require.NoError(t, err)
		if turn.refused {
			assert.Equal(t, run.FailedPolicy, result.Failure, "call %d", i)
			assert.True(t, result.Repeated)
		} else {
			assert.Equal(t, turn.failure, result.Failure, "call %d: %s", i, result.Message)
		}
	}
}
