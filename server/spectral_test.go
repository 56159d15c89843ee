package server

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/suggest"
)

// From stored capabilities to an answer over HTTP: the spectral clusters decide which capability comes
// first after a tool that two groups share. Without them the two are alike and the smaller id wins.
func TestClustersChangeAnAnswer(t *testing.T) {
	const capabilities = `{"capabilities":[
		{"id":"cap:1","tools":["x","p1","p2"]}, {"id":"cap:2","tools":["x","y","z"]},
		{"id":"cap:3","tools":["x","y","w"]},   {"id":"cap:4","tools":["y","z","w"]},
		{"id":"cap:5","tools":["p1","p2","p3"]},{"id":"cap:6","tools":["p1","p3","p4"]},
		{"id":"cap:7","tools":["p2","p3","p4"]}]}`
	first := func(m suggest.MeasureOptions) suggest.Suggestion {
		w := newWeb(t, func(c *Config) { c.Workspaces = live.NewWorkspaces(c.Store, live.Options{Measure: m}) })
		require.Equal(t, 200, w.ask("PUT", "/v1/capabilities", capabilities).status)
		_, err := defaultEngine(t, w.Server).Build(t.Context())
		require.NoError(t, err)
		r := w.ask("POST", "/v1/next", `{"context":["x"],"profile":"seed"}`)
		require.Equal(t, 200, r.status, r.body)
		var a suggest.NextAnswer
		require.NoError(t, json.Unmarshal([]byte(r.body), &a))
		require.NotEmpty(t, a.Suggestions)
		return a.Suggestions[0]
	}
	with, without := first(suggest.MeasureOptions{}), first(suggest.MeasureOptions{WithoutSpectral: true})
	assert.Equal(t, "cap:2", with.ID)
	assert.Equal(t, "cap:1", without.ID)
	for _, term := range without.Terms {
		if term.Name == "structural_boost" {
			assert.Equal(t, 1.0, term.Value)
		}
	}
}
