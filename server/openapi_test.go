package server

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/openapi.json anew")

// The description of the API changes only on purpose: go test ./server -run OpenAPI -update.
func TestOpenAPIIsAsReviewed(t *testing.T) {
	const golden = "testdata/openapi.json"
	w := newWeb(t)
	got := w.ask("GET", "/openapi.json", "")
	require.Equal(t, 200, got.status)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(got.body), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.body, "the API has changed; if that is meant, run with -update and review the difference")
	assert.Equal(t, got.body, newWeb(t).ask("GET", "/openapi.json", "").body, "two servers, one description")
}

// Every reference in the description leads somewhere, every route of the API is in it, and the page
// made of it shows every operation and type.
func TestOpenAPIIsComplete(t *testing.T) {
	w := newWeb(t)
	body := w.ask("GET", "/openapi.json", "").body
	var spec struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Responses   map[string]json.RawMessage
		}
		Components struct{ Schemas map[string]json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &spec))
	assert.Equal(t, "3.1.0", spec.OpenAPI)
	for _, ref := range regexp.MustCompile(`"\$ref": "#/components/schemas/([^"]+)"`).FindAllStringSubmatch(body, -1) {
		assert.Contains(t, spec.Components.Schemas, ref[1])
	}
	assert.False(t, regexp.MustCompile(`"(array|object)",\s*"null"`).MatchString(body), "lists are lists")

	described := map[string]bool{}
	page := w.ask("GET", "/docs", "").body
	for path, item := range spec.Paths {
		for method, op := range item {
			described[strings.ToUpper(method)+" "+path] = true
			assert.Contains(t, page, `id="`+op.OperationID+`"`)
			for _, status := range []string{"400", "401", "403"} {
				assert.Contains(t, op.Responses, status, "%s %s", method, path)
			}
		}
	}
	for key := range w.rules {
		method, path, _ := strings.Cut(key, " ")
		if strings.HasPrefix(path, "/v1/") {
			path = regexp.MustCompile(`:([a-z]+)`).ReplaceAllString(path, "{$1}")
			if method == "HEAD" { // answered like GET
				method = "GET"
			}
			assert.True(t, described[method+" "+path], "%s %s is described", method, path)
		}
	}
	for name := range spec.Components.Schemas {
		assert.Contains(t, page, `id="type-`+name+`"`)
	}
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		assert.Contains(t, page, `id="`+link[1]+`"`)
	}
}
