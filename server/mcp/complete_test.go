package mcpserver

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCompletions(t *testing.T) {
	ids := []string{"git:log", "fs:read", "log:read", "Log:tail", "catalog:list"}
	for _, tt := range []struct {
		typed string
		want  []string
	}{
		{"log", []string{"Log:tail", "log:read", "catalog:list", "git:log"}},
		{"LOG:R", []string{"log:read"}},
		{"", []string{"Log:tail", "catalog:list", "fs:read", "git:log", "log:read"}},
		{"none", []string{}},
	} {
		assert.Equal(t, tt.want, completions(ids, tt.typed), tt.typed)
	}
}
