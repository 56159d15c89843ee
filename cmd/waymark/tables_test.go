package main

import (
	"bytes"
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
	assert.Equal(t, strings.Repeat("é", maxText-1)+"…", short(strings.Repeat("é", 500)))
	assert.Equal(t, strings.Repeat("é", maxText), short(strings.Repeat("é", maxText)))
}

// Every form in which episodes may come gives one object a line; what is a line already stays as it is.
func TestEpisodeLines(t *testing.T) {
	for _, tt := range []struct{ name, in, want, err string }{
		{"one a line", "{\"id\":1}\n\n{\"id\":2}\n", "{\"id\":1}\n\n{\"id\":2}\n", ""},
		{"blank lines first", "\n \n{\"id\":1}", "\n \n{\"id\":1}", ""},
		{"one object", "{\n\"id\": 1\n}\n", "{\"id\":1}\n", ""},
		{"array", "[{\"id\":1},\n {\"id\":2}]", "{\"id\":1}\n{\"id\":2}\n", ""},
		{"array of nothing", "[]", "", ""},
		{"a bad line among good ones", "{\"id\":\n{\"id\":2}\n", "{\"id\":\n{\"id\":2}\n", ""},
		{"cut array", "[{\"id\":1}", "", "neither a whole JSON array"},
		{"nothing", " \n", "", "holds no episode"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := episodeLines(t.Context(), strings.NewReader(tt.in), "it")
			if tt.err != "" {
				assert.ErrorContains(t, err, tt.err)
				return
			}
			assert.NoError(t, err)
			var b bytes.Buffer
			_, err = b.ReadFrom(r)
			assert.NoError(t, err)
			assert.Equal(t, tt.want, b.String())
		})
	}
}
