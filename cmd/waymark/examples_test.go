package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exampleOrder names the operations with examples, each after those that make what it needs.
const exampleOrder = `record next dag search explain feedback traces put-tools get-tool put-capabilities get-capability mine get-proposal
	approve-proposal reject-proposal approve-tools add-rule undo-rule start-run get-run watch-run score triangulate add-evidence get-triangulation
	delete-triangulation evidence rebuild get-job watch-job cancel-job add-servers grant-tools revoke-grant forget-server create-workspace
	delete-workspace delete-capability delete-tool import forget create-key`

// withoutExample are operations whose ids and codes no example can know.
const withoutExample = "approve-run cancel-run revoke-key exchange-sign-in-link"

// TestExamples sends each operation's example of the OpenAPI description to a server with a part of the sample history.
func TestExamples(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	says(t, 0, "import", sampleCut(t, 120, "forge", "metrics", "tracker", "chat", "sheets"), "--data", data)
	server := startServer(t, data)
	base := strings.TrimSuffix(server.URLs.API, "/v1")
	var spec struct {
		Paths map[string]map[string]struct {
			OperationID string
			Parameters  []struct {
				Name, In string
				Required bool
				Example  any
			}
			RequestBody *struct {
				Required bool
				Content  map[string]struct{ Example any }
			}
		}
	}
	askOver(t, http.MethodGet, base+"/openapi.json", "", http.StatusOK, &spec)
	requests, have := map[string]func() (int, string){}, 0
	for path, methods := range spec.Paths {
		for method, op := range methods {
			at, query, needs, has := path, url.Values{}, false, false
			for _, p := range op.Parameters {
				needs = needs || p.Required
				if p.Example == nil {
					continue
				}
				has = true
				if p.In == "path" {
					at = strings.Replace(at, "{"+p.Name+"}", url.PathEscape(fmt.Sprint(p.Example)), 1)
				} else {
					query.Set(p.Name, fmt.Sprint(p.Example))
				}
			}
			var body []byte
			kind := ""
			if op.RequestBody != nil {
				needs = needs || op.RequestBody.Required
				for k, content := range op.RequestBody.Content {
					if content.Example == nil {
						continue
					}
					has, kind = true, k
					if lines, ok := content.Example.(string); ok {
						body = []byte(lines)
					} else {
						body, _ = json.Marshal(content.Example)
					}
				}
			}
			if !has {
				assert.True(t, !needs || strings.Contains(withoutExample, op.OperationID), "%s has no example", op.OperationID)
				continue
			}
			have++
			address := base + at + "?" + query.Encode()
			requests[op.OperationID] = func() (int, string) {
				req, err := http.NewRequestWithContext(t.Context(), strings.ToUpper(method), address, bytes.NewReader(body))
				require.NoError(t, err)
				req.Header.Set("Content-Type", kind)
				resp, text := sent(t, req)
				return resp.StatusCode, text
			}
		}
	}
	order := strings.Fields(exampleOrder)
	require.Len(t, order, have)
	for _, id := range order {
		require.Contains(t, requests, id)
		status, text := requests[id]()
		for end := time.Now().Add(time.Minute); status == 404 && time.Now().Before(end); { // a job goes on
			time.Sleep(100 * time.Millisecond)
			status, text = requests[id]()
		}
		if id == "forget" && status == 504 { // it rebuilds, and goes on without the request where the machine is busy
			continue
		}
		assert.Equal(t, 2, status/100, "%s: %d %s", id, status, text)
	}
}
