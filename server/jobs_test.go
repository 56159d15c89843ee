package server

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

// HEAD has the status and headers of GET, where that is no stream.
func TestHead(t *testing.T) {
	w := newWeb(t)
	for _, path := range []string{"/v1/stats", "/v1/tools", "/v1/tools/fs:read_file", "/v1/jobs", "/v1/tools/none", "/openapi.json"} {
		head, get := w.ask("HEAD", path, ""), w.ask("GET", path, "")
		assert.Equal(t, get.status, head.status, path)
		assert.Equal(t, get.header.Get("Content-Type"), head.header.Get("Content-Type"), path)
		assert.Empty(t, head.body, path)
	}
	for _, path := range []string{"/v1/export", "/v1/next", "/v1/jobs/none/events"} {
		assert.Equal(t, http.StatusMethodNotAllowed, w.ask("HEAD", path, "").status, path)
	}
}
