package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A respelled id is one that may be kept, and another id has another one.
func TestRespellToolID(t *testing.T) {
	long := strings.Repeat("x", MaxPart+1)
	for id, want := range map[string]string{
		"git:log":    "git:log",
		"a{b}":       "a%7Bb%7D",
		"s:<i>\x00":  "s:%3Ci%3E%00",
		"größe:€":    "größe:%E2%82%AC",
		"s:\xff":     "s:%EF%BF%BD",
		long:         long[:64] + "~",
		long + "y":   long[:64] + "~",
		"s:" + long:  "s:" + long[:62] + "~",
		"{" + long:   "%7B" + long[:61] + "~",
		long + ":id": long[:64] + "~",
	} {
		got := RespellToolID(id)
		server, _, _ := strings.Cut(got, ":")
		assert.NoError(t, CheckToolID("id", got, server), got)
		assert.Equal(t, got, RespellToolID(got), "once is enough")
		if head, isHash := strings.CutSuffix(want, "~"); isHash {
			assert.Regexp(t, `^`+head+`~[0-9a-f]{16}$`, got)
		} else {
			assert.Equal(t, want, got)
		}
	}
	assert.NotEqual(t, RespellToolID(long), RespellToolID(long+"y"))
}

func TestPlural(t *testing.T) {
	for want, got := range map[string]string{
		"1 task": Plural(1, "task"), "0 tasks": Plural(0, "task"), "2 hypotheses": Plural(2, "hypothesis"),
		"3 capabilities": Plural(uint64(3), "capability"), "2 entries": Plural(2, "entry"), "4 days": Plural(4, "day"),
	} {
		assert.Equal(t, want, got)
	}
}
