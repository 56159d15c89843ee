package main

import (
	"io"
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

// Every form in which episodes may come is known by its beginning, and comes through whole.
func TestJSONLines(t *testing.T) {
	for in, want := range map[string]bool{
		"{\"id\":1}\n\n{\"id\":2}\n": true, "\n \n{\"id\":1}": true, "{\n\"id\": 1\n}\n": false, "[{\"id\":1},\n {\"id\":2}]": false,
		"[]": false, "{\"id\":\n{\"id\":2}\n": true, "[{\"id\":1}": false, " \n": false, "": false,
	} {
		rest, lines, err := jsonLines(strings.NewReader(in))
		assert.NoError(t, err)
		assert.Equal(t, want, lines, in)
		whole, err := io.ReadAll(rest)
		assert.NoError(t, err)
		assert.Equal(t, in, string(whole))
	}
}
