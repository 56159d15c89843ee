package server

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The page and its files need no key: what they show, they ask the API for.
func TestPageIsServed(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.RequireKey = true })
	index := w.ask("GET", "/", "")
	require.Equal(t, 200, index.status, index.body)
	assert.Contains(t, index.header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
	files := regexp.MustCompile(`/assets/[^"]+`).FindAllString(index.body, -1)
	require.Len(t, files, 3)
	for _, path := range append(files, "/") {
		assert.Equal(t, 200, w.ask("HEAD", path, "").status, path)
		got := w.ask("GET", path, "")
		assert.Equal(t, 200, got.status, path)
		assert.Equal(t, 304, w.ask("GET", path, "", "If-None-Match: "+got.header.Get("ETag")).status, path)
	}
	requireProblem(t, 404, "no such route", w.ask("GET", "/assets/other.js", ""))
	requireProblem(t, 401, "API key", w.ask("GET", "/v1/stats", ""))
}
