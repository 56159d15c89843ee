package ingest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachValue(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		apart      bool
		want       []string
	}{
		{"lines", "\n{\"a\":1}\n\n{\"b\":\n{\"c\":1}\n", true, []string{`2 {"a":1}`, `4 {"b":`, `5 {"c":1}`}},
		{"one document", "{\n\"a\":\n1}\n", true, []string{"1 {\n\"a\":\n1}"}},
		{"several documents", "{\n\"a\":1}\n{\"b\":1}", true, []string{"1 {\n\"a\":1}", `3 {"b":1}`}},
		{"a list in one line", `[{"a":1},{"b":2}]`, true, []string{`1 {"a":1}`, `1 {"b":2}`}},
		{"a list over lines", "[{\"a\":1},\n{\"b\":2}\n]", true, []string{`1 {"a":1}`, `2 {"b":2}`}},
		{"a list as it is", "[{\"a\":1},\n{\"b\":2}\n]", false, []string{"1 [{\"a\":1},\n{\"b\":2}\n]"}},
		{"a list that is cut off", "[{\"a\":1},\n{\"b\":", true, []string{`1 {"a":1}`, "2 ! the file is cut off in this line"}},
		{"a bad first line", "{\"a\":\n{\"b\":1}\n", true, []string{`1 {"a":`, `2 {"b":1}`}},
		{"bom", bom + "{\"a\":1}", true, []string{`1 {"a":1}`}},
		{"nothing", "\n \n", true, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			require.NoError(t, eachValue(strings.NewReader(tt.text), tt.apart, func(l line) bool {
				if l.problem != "" {
					got = append(got, fmt.Sprintf("%d ! %s", l.number, l.problem))
				} else {
					got = append(got, fmt.Sprintf("%d %s", l.number, l.data))
				}
				return true
			}))
			assert.Equal(t, tt.want, got)
		})
	}
	broken := errors.New("disk")
	assert.ErrorIs(t, eachValue(iotest.ErrReader(broken), true, func(line) bool { return true }), broken)
	n := 0
	require.NoError(t, eachValue(strings.NewReader("{}\n{}\n{}"), true, func(line) bool { n++; return n < 2 }))
	assert.Equal(t, 2, n, "until visit has enough")
}
