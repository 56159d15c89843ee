package server

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
	assert.Equal(t, body, newWeb(t).ask("GET", "/openapi.json", "").body, "two servers, one description")
	for _, ref := range regexp.MustCompile(`"\$ref": "#/components/schemas/([^"]+)"`).FindAllStringSubmatch(body, -1) {
		assert.Contains(t, spec.Components.Schemas, ref[1])
	}
	assert.False(t, regexp.MustCompile(`"(array|object)",\s*"null"`).MatchString(body), "lists are lists")

	described := map[string]bool{}
	for path, item := range spec.Paths {
		for method, op := range item {
			described[strings.ToUpper(method)+" "+path] = true
			for _, status := range []string{"400", "401", "403"} {
				assert.Contains(t, op.Responses, status, "%s %s", method, path)
			}
		}
	}
	for key := range w.routes.Rules {
		method, path, _ := strings.Cut(key, " ")
		if strings.HasPrefix(path, "/v1/") {
			path = regexp.MustCompile(`:([a-z]+)`).ReplaceAllString(path, "{$1}")
			if method == "HEAD" { // answered like GET
				method = "GET"
			}
			assert.True(t, described[method+" "+path], "%s %s is described", method, path)
		}
	}
}

// Episodes come one alone, as a list, or one a line.
func TestEpisodesInAnyForm(t *testing.T) {
	w := newWeb(t)
	one := func(id string) string { return `{"id":"` + id + `","steps":[{"tool":"a:b"},{"tool":"a:c"}]}` }
	for _, tt := range []struct {
		body     string
		accepted int
		rejected string
	}{
		{one("1"), 1, ""},
		{" [" + one("2") + "," + one("3") + "]", 2, ""},
		{`[` + one("4") + `,{"id":"5","steps":7},` + one("6") + `]`, 2, "5"},
		{`[]`, 0, ""},
	} {
		got := parse[recordResult](t, 200, w.ask("POST", "/v1/episodes", tt.body))
		assert.Equal(t, tt.accepted, got.Accepted, tt.body)
		if tt.rejected != "" {
			require.Len(t, got.Rejected, 1)
			assert.Equal(t, tt.rejected, got.Rejected[0].ID)
			assert.Equal(t, 2, got.Rejected[0].Line)
		}
	}
	requireProblem(t, 422, "steps", w.ask("POST", "/v1/episodes", `{"id":"7","steps":7}`))
}
