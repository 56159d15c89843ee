package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of many tools with one text that nobody used, the one of a server in use is the likeliest, though it
// stands last.
func TestUnusedToolOfAServerInUse(t *testing.T) {
	tools, tasks := office(120)
	for i := range 100 {
		tools = append(tools, Tool{Name: "count_words", Text: "Count the words of a page", Server: fmt.Sprint("stranger", i)})
	}
	tools = append(tools, Tool{Name: "count_words", Text: "Count the words of a page", Server: "mail"})
	m := Fit(NewTexts(tools), nil, tasks)
	found := m.Plan("write to my aunt, count the words of this page", nil).Tools
	first := slices.IndexFunc(found, func(r Ranked) bool { return r.Tool >= 8 })
	require.GreaterOrEqual(t, first, 0, "some of them are found")
	assert.Equal(t, int32(len(tools)-1), found[first].Tool)
}
