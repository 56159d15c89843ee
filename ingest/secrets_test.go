package ingest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"waymark/episodic"
)

func TestIntentIsCutBesideItsSecrets(t *testing.T) {
	f := input{opts: Options{Seen: Seen{}}}
	it := Item{Episode: &episodic.Episode{ID: "e", Steps: []episodic.Step{{Tool: "a"}}, Intent: strings.Repeat("y", episodic.MaxIntent-10) + " AKIA" + "IOSFODNN7EXAMPLE zzz"}}
	f.finish(&it)
	assert.True(t, it.Shortened)
	assert.NotContains(t, it.Episode.Intent, "AKIA")
}
