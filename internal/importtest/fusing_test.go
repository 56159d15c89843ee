package importtest

import (
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exact are the places where a fused multiply-add gives the same bits as two roundings, because the
// product is exact: single-precision factors, and a random number's scaling by a power of two.
var exact = regexp.MustCompile(`numeric/numeric\.go:5\d|numeric/numeric\.go:6[0-3]`)

var fused = regexp.MustCompile(`(\w+/\w+\.go:\d+)\)\s+FN?M(?:ADD|SUB)[DS]\s`)

// What is stored, hashed or compared must not depend on whether the processor fuses x·y + z. The
// compiler of one that does says where it would.
func TestNoFusedMultiplyAdd(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles these packages for another processor")
	}
	cmd := exec.Command("go", "build", "-gcflags=-S", "./internal/numeric", "./graph", "./spectral", "./suggest/semantic", "./episodic", "./suggest", "./suggest/evaluate",
		"./suggest/learn/...")
	cmd.Dir = "../.."
	cmd.Env = append(cmd.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, m := range fused.FindAllSubmatch(out, -1) {
		if place := string(m[1]); !exact.MatchString(place) {
			assert.Fail(t, "fused multiply-add", "%s: wrap the product, float64(x*y)", place)
		}
	}
}
