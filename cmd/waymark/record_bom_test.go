package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What Windows writes begins with a byte order mark.
func TestInputWithAByteOrderMark(t *testing.T) {
	out, errs, code := waymark(t, "\uFEFF"+`{"id":"1","steps":[{"tool":"a:b"}]}`+"\n", "record", "-", "--data", filepath.Join(t.TempDir(), "data"))
	assert.Zero(t, code, errs)
	assert.Contains(t, out, "accepted 1")
}
