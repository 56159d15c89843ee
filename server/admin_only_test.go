package server

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A judgement alone neither compares nor publishes.
func TestDryRunGoesAlone(t *testing.T) {
	w := newWeb(t)
	for _, with := range []string{"verify", "force"} {
		requireProblem(t, 422, "neither verify nor force", w.ask("POST", "/v1/rebuild", `{"dry_run":true,"`+with+`":true}`))
	}
	assert.Contains(t, w.ask("POST", "/v1/rebuild", `{"dry_run":true}`).body, `"judge"`)
}
