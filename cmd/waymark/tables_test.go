package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Descriptions come from servers nobody here has checked: whatever steers a terminal (ECMA-48) or
// reorders what is read (Unicode UAX #9) must not get through.
func TestCleanTakesWhatSteersATerminal(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain text", "plain text"},
		{"two\nlines\tand tab", "two lines and tab"},
		{"\x1b[31mred\x1b[0m", "[31mred[0m"},
		{"\x1b]0;title\x07", "]0;title"},
		{"right\u202eleft", "rightleft"},
		{"zero\u200bwidth", "zerowidth"},
		{"Grüße, 世界", "Grüße, 世界"},
	} {
		assert.Equal(t, tt.want, clean(tt.in))
	}
	assert.Equal(t, strings.Repeat("é", maxText-1)+"…", truncated(clean(strings.Repeat("é", 500)), maxText))
	assert.Equal(t, strings.Repeat("é", maxText), truncated(clean(strings.Repeat("é", maxText)), maxText))
}
