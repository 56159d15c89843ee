package suggest_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/evaluate"
	"waymark/sample"
	"waymark/suggest"
)

// held is the bundled history with every fifth task held out.
func held(t testing.TB) *evaluate.Data {
	d := &evaluate.Data{Name: "sample"}
	tools, err := sample.Tools()
	require.NoError(t, err)
	for _, tool := range tools {
		require.NoError(t, tool.Normalise())
		d.Tools = append(d.Tools, tool)
	}
	capabilities, err := sample.Capabilities()
	require.NoError(t, err)
	for _, c := range capabilities {
		require.NoError(t, c.Normalise())
		d.Capabilities = append(d.Capabilities, c)
	}
	episodes, err := sample.Episodes()
	require.NoError(t, err)
	for i, e := range episodes {
		require.NoError(t, e.Normalise())
		split := evaluate.Train
		if i%5 == 4 {
			split = evaluate.Test
		}
		d.Examples = append(d.Examples, evaluate.Example{Episode: e, Split: split, Next: true, Intent: true})
	}
	return d
}

// The golden file holds what both profiles reach on the bundled history, so that a change of any ranking
// shows in review as numbers.
func TestGoldenQuality(t *testing.T) {
	if testing.Short() {
		t.Skip("learns from 1,440 tasks")
	}
	d := held(t)
	var b strings.Builder
	for _, profile := range []string{suggest.ProfileSeed, suggest.ProfileLearned} {
		r, err := evaluate.Evaluate(t.Context(), d, evaluate.Suggester(profile, suggest.MeasureOptions{}), evaluate.Options{Profile: profile, WithoutAblation: true})
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s: %d tasks learned from, %d asked about\n", profile, r.TrainEpisodes, r.TestEpisodes)
		for _, c := range r.Comparisons() {
			fmt.Fprintf(&b, "  %s %s %.4f\n", c.Question, c.Metric, c.Value)
		}
	}
	const file = "testdata/quality.golden"
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), b.String(), "go test ./suggest -update writes it anew")
}
