package ingest

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/episodic"
)

var update = flag.Bool("update", false, "write testdata/imported.golden")

// The golden file holds a hash of everything that comes out of each fixture and of the failing session of each trace
// format: items in their order with places, reasons, tallies, and the stored form with the digests of values.
func TestImportedItemsArePinned(t *testing.T) {
	key := episodic.DigestKey{7}
	var lines []string
	pin := func(name string, items func(yield func(Item, error) bool)) {
		var out bytes.Buffer
		n := 0
		for it, err := range items {
			require.NoError(t, err, name)
			n++
			fmt.Fprintf(&out, "%s %v\n", describe(it), it.Server != nil)
			if it.Tally != nil {
				fmt.Fprintln(&out, *it.Tally)
			}
			require.NoError(t, WriteLine(&out, it))
		}
		lines = append(lines, fmt.Sprintf("%s %d %x\n", name, n, sha256.Sum256(out.Bytes())))
	}
	require.NoError(t, filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "fuzz") || strings.HasSuffix(path, ".golden") {
			return err
		}
		pin(filepath.ToSlash(path), Read(t.Context(), path, Options{Split: "all", Digests: &key}))
		return nil
	}))
	formats := make([]string, 0, len(failingSession))
	for format := range failingSession {
		formats = append(formats, format)
	}
	slices.Sort(formats)
	for _, format := range formats {
		for _, text := range []string{"ENOENT: no such file", "Command timed out", "HTTP 401 Unauthorized", "No such tool available"} {
			pin(format+", "+text, ReadFrom(t.Context(), strings.NewReader(failingSession[format](text)), Options{Format: format, Digests: &key}))
		}
	}
	golden, got := filepath.Join("testdata", "imported.golden"), strings.Join(lines, "")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}
