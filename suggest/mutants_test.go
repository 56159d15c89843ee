package suggest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mutants are constants of the learned profile, each changed alone. TestGoldenLearned must fail for every one.
var mutants = []struct {
	file, from, to string // from occurs once in the file
}{
	{"learn/next/structure.go", "lastDecay  = .7", "lastDecay  = .3"},
	{"learn/next/featurevalues.go", "case age <= 3:", "case age <= 2:"},
	{"learn/next/featurevalues.go", "(float64(h.again[t])+.5)/", "(float64(h.again[t])+1.5)/"},
	{"learn/next/fit.go", "tight, tighter = 15, 45", "tight, tighter = 5, 15"},
	{"learn/next/learn.go", "kappa  = .1", "kappa  = .3"},
	{"learn/next/learn.go", "pastN  = 30", "pastN  = 15"},
	{"learn/sequence/chain.go", "Discount = 0.4", "Discount = 0.6"},
	{"learn/sequence/neighbours.go", "nearest    = 40", "nearest    = 20"},
	{"learn/sequence/neighbours.go", "later      = .6", "later      = .3"},
	{"learn/plan/planner.go", "lambda    = .7", "lambda    = 1.4"},
	{"learn/plan/planner.go", "corrected = 5", "corrected = 15"},
	{"learn/plan/sets.go", "onTop      = .5", "onTop      = .1"},
	{"learn/plan/request.go", "neighbours = 10", "neighbours = 5"},
	{"learn/stop/stop.go", "penalty  = 3", "penalty  = 9"},
	{"learn/calibrate/calibrate.go", "kept            = 50", "kept            = 25"},
	{"learn/choice/minimise.go", "tolerance = 1e-6", "tolerance = 1e-4"},
	{"learn/maxent/maxent.go", "rate  = .12", "rate  = .06"},
	{"suggest/outside.go", "textBelief = 4, 1.6, .1", "textBelief = 2, 1.6, .1"},
	{"suggest/outside.go", "textBelief = 4, 1.6, .1", "textBelief = 4, 0.8, .1"},
	{"suggest/wording.go", "leastLike  = .02", "leastLike  = .1"},
	{"suggest/wording.go", "mostAlike  = 30", "mostAlike  = 10"},
}

// TestMutants proves that the golden file of learned answers notices its constants. It takes minutes, so it runs
// on demand: make mutants.
func TestMutants(t *testing.T) {
	if os.Getenv("WAYMARK_MUTANTS") == "" {
		t.Skip("make mutants runs it")
	}
	for _, m := range mutants {
		t.Run(m.to, func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join("..", filepath.FromSlash(m.file)))
			require.NoError(t, err)
			source, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(source), m.from), "%s has moved on: %q is not there once", m.file, m.from)
			changed := filepath.Join(t.TempDir(), "changed.go")
			require.NoError(t, os.WriteFile(changed, []byte(strings.Replace(string(source), m.from, m.to, 1)), 0o600))
			overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
			require.NoError(t, err)
			file := filepath.Join(t.TempDir(), "overlay.json")
			require.NoError(t, os.WriteFile(file, overlay, 0o600))
			out, err := exec.Command("go", "test", "-vet=off", "-overlay", file, "-run", "^TestGoldenLearned$", ".").CombinedOutput()
			require.Error(t, err, "%s: %q instead of %q changes no answer", m.file, m.to, m.from)
			assert.Contains(t, string(out), "--- FAIL: TestGoldenLearned", "it must fail for its answers")
		})
	}
}
