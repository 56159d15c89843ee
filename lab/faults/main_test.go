package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every test that a row names exists in its package: a row of renamed tests would show nothing.
func TestRowsNameTests(t *testing.T) {
	root := filepath.Join("..", "..")
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, r := range rows(1) {
		files, err := filepath.Glob(filepath.Join(root, r.pkg, "*_test.go"))
		require.NoError(t, err)
		var names []string
		for _, f := range files {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
				names = append(names, m[1])
			}
		}
		for _, pattern := range strings.Split(r.tests, "|") {
			re := regexp.MustCompile("^" + pattern + "$")
			found := false
			for _, name := range names {
				found = found || re.MatchString(name)
			}
			require.True(t, found, "%s: %s has no %s", r.fault, r.pkg, pattern)
		}
	}
}

// What is shown is what failed, and a run that was cut short is none that passed.
func TestShow(t *testing.T) {
	start := `{"Action":"start","Package":"waymark/storage"}
{"Action":"output","Package":"waymark/storage","Test":"TestKill","Output":"    kill_test.go:9: 3 kills\n"}
`
	passed := start + `{"Action":"pass","Package":"waymark/storage","Test":"TestKill","Elapsed":2}
{"Action":"output","Package":"waymark/storage","Output":"ok  \twaymark/storage\t2s\n"}
{"Action":"pass","Package":"waymark/storage","Elapsed":2}
`
	failed := start + `{"Action":"fail","Package":"waymark/storage","Test":"TestKill","Elapsed":2}
{"Action":"fail","Package":"waymark/storage","Elapsed":2}
`
	notBuilt := `{"ImportPath":"waymark/graph","Action":"build-output","Output":"graph.go:1:1: no\n"}
{"ImportPath":"waymark/graph","Action":"build-fail"}
`
	for _, c := range []struct {
		name, in, shown string
		ok              bool
	}{
		{"passed", passed, "ok  \twaymark/storage\t2s\n", true},
		{"failed", failed, "    kill_test.go:9: 3 kills\n", false},
		{"not built", notBuilt + passed, "graph.go:1:1: no\nok  \twaymark/storage\t2s\n", false},
		{"cut short", start, "", false},
		{"not begun", "go: no such module\n", "go: no such module\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w strings.Builder
			file := filepath.Join(t.TempDir(), "kept")
			ok, err := show(&w, strings.NewReader(c.in), file)
			require.NoError(t, err)
			require.Equal(t, c.ok, ok)
			require.Equal(t, c.shown, w.String())
			kept, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, c.in, string(kept))
		})
	}
	o, err := rows(1)[0].read(strings.NewReader(passed))
	require.NoError(t, err)
	require.Equal(t, 1, o.passed)
	require.Equal(t, []string{"3 kills"}, o.figures)
	require.Equal(t, 2., o.seconds)
}
