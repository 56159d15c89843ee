package importtest

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of kernels only the tests that say in their names that several processors are at work run under the race
// detector: each kernel has one.
func TestKernelsAreTestedOnSeveralProcessors(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	spread := regexp.MustCompile(`(?m)^SPREAD *= *(.+)$`).FindSubmatch(makefile)
	require.NotNil(t, spread)
	says := regexp.MustCompile(`Test\w*(` + string(spread[1]) + `)`)
	filter := regexp.MustCompile(`(?m)^KERNELS *= \$\(filter (.+),`).FindSubmatch(makefile)
	require.NotNil(t, filter)
	patterns := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(string(filter[1]), "%", "..."), module+"/", "./"))
	list := exec.Command("go", append([]string{"list", "-f", `{{.ImportPath}} {{range .Imports}}{{.}} {{end}}{{range .GoFiles}}{{$.Dir}}/{{.}} {{end}}{{range .TestGoFiles}}{{$.Dir}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$.Dir}}/{{.}} {{end}}`}, patterns...)...)
	list.Dir = "../.."
	out, err := list.Output()
	require.NoError(t, err)
	kernels := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		atWork, said := false, false
		for _, w := range words[1:] {
			atWork = atWork || w == "sync" || w == "sync/atomic"
			if strings.HasSuffix(w, ".go") {
				text, err := os.ReadFile(w)
				require.NoError(t, err)
				atWork = atWork || bytes.Contains(text, []byte("numeric.Each("))
				said = said || strings.HasSuffix(w, "_test.go") && says.Match(text)
			}
		}
		if atWork {
			kernels++
			assert.True(t, said, "%s works on several processors, and no test of it says so: %s", words[0], spread[1])
		}
	}
	assert.Positive(t, kernels)
}
