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
