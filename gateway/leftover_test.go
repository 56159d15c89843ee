package gateway

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLeftovers(t *testing.T) {
	list := "  1   1 /sbin/init\n" +
		" 20  20 node server.js MCP_STARTED_BY=waymark-a\n" + // a leader that runs, and its child
		" 21  20 sh -c x PATH=/bin MCP_STARTED_BY=waymark-a\n" +
		" 31  30 worker PATH=/bin MCP_STARTED_BY=waymark-a HOME=/\n" + // no leader any more
		" 32  30 other PATH=/bin\n" +
		" 41  40 worker MCP_STARTED_BY=waymark-ab\n" + // another mark
		" 50  50 [node] <defunct>\n" +
		" 51  50 worker MCP_STARTED_BY=waymark-a\n" +
		"nonsense\n"
	assert.Equal(t, []int{31, 51}, leftovers(list, "a"))
	assert.Empty(t, leftovers(list, "b"))
}
