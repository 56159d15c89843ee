package importtest

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write SIZE anew, if the sum does not rise")

const sizeFile = "SIZE"

// size is the code of a group of packages: lines and bytes without blank lines, comments, leading blanks and tests.
type size struct{ Lines, Bytes int }

// The code only becomes smaller: SIZE has the lines and bytes of each top-level folder, and of all. After a deletion or
// a move
//
//	go test ./internal/importtest -run Size -update
//
// writes it anew, and refuses if the sum rises.
func TestSize(t *testing.T) {
	root := filepath.Join("..", "..")
	got, err := sizes(os.DirFS(root))
	require.NoError(t, err)
	file := filepath.Join(root, sizeFile)
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	if *update {
		var lines, bytes int
		_, err := fmt.Sscanf(string(want[strings.Index(string(want), "total"):]), "total %d %d", &lines, &bytes)
		require.NoError(t, err)
		require.LessOrEqual(t, got["total"].Lines, lines, "the sum of lines rises: what can go?")
		want = format(got)
		require.NoError(t, os.WriteFile(file, want, 0o644))
	}
	assert.Equal(t, string(want), string(format(got)), "the code has another size than SIZE says")
}

func format(all map[string]size) []byte {
	var b bytes.Buffer
	for _, group := range slices.Sorted(maps.Keys(all)) {
		if group != "total" {
			fmt.Fprintf(&b, "%s\t%d\t%d\n", group, all[group].Lines, all[group].Bytes)
		}
	}
	fmt.Fprintf(&b, "total\t%d\t%d\n", all["total"].Lines, all["total"].Bytes)
	return b.Bytes()
}

// sizes counts the code of each top-level folder. The lab, tests and their data do not count.
func sizes(fsys fs.FS) (map[string]size, error) {
	all := map[string]size{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" || name == "lab" || name == "internal/lab"):
			return fs.SkipDir
		case d.IsDir(), path.Ext(name) != ".go", strings.HasSuffix(name, "_test.go"):
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		group, _, _ := strings.Cut(name, "/")
		for _, key := range []string{group, "total"} {
			s := all[key]
			s.count(src)
			all[key] = s
		}
		return nil
	})
	return all, err
}

func (s *size) count(src []byte) {
	comment := false
	for text := range strings.Lines(string(src)) {
		text = strings.TrimLeft(strings.TrimRight(text, "\n"), " \t")
		switch {
		case comment:
			comment = !strings.Contains(text, "*/")
		case strings.HasPrefix(text, "/*"):
			comment = !strings.Contains(text, "*/")
		case text != "" && !strings.HasPrefix(text, "//"):
			s.Lines++
			s.Bytes += len(text)
		}
	}
}
