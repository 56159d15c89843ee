package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The real program on a tiny set: the page of a second run is the same, and reports that were kept are
// not made again.
func TestRunWritesThePage(t *testing.T) {
	dir := t.TempDir()
	o := options{dir: filepath.Join(dir, "sets"), program: filepath.Join(dir, "waymark.exe"), profile: "seed",
		floors: filepath.Join(dir, "floors.tsv"), page: filepath.Join(dir, "page.md")}
	out, err := exec.Command("go", "build", "-o", o.program, "waymark/cmd/waymark").CombinedOutput()
	require.NoError(t, err, string(out))
	var tools, episodes strings.Builder
	for _, id := range []string{"web:fetch", "json:parse", "db:store"} {
		fmt.Fprintf(&tools, `{"id":%q,"name":%q}`+"\n", id, id)
	}
	for i := range 6 {
		split := []string{"train", "test"}[i/4]
		fmt.Fprintf(&episodes, `{"id":"%d","intent":"store a page","split":%q,"outcome":"success","steps":[{"id":"1","tool":"web:fetch","depends_on":[]},`+
			`{"id":"2","tool":"json:parse","depends_on":["1"]},{"id":"3","tool":"db:store","depends_on":["2"]}]}`+"\n", i, split)
	}
	set := filepath.Join(o.dir, "tiny")
	require.NoError(t, os.MkdirAll(set, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(set, "tools.jsonl"), []byte(tools.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(set, "episodes.jsonl"), []byte(episodes.String()), 0o600))
	require.NoError(t, os.WriteFile(o.floors, []byte(floorHeader+"\ntiny\t-\tnext\tmrr\t0.5\t0.9\ta chain\n"), 0o600))

	page := func() string {
		require.NoError(t, run(t.Context(), o))
		text, err := os.ReadFile(o.page)
		require.NoError(t, err)
		return string(text)
	}
	first := page()
	assert.Contains(t, first, "Of 1 floors 1 are reached")
	assert.Contains(t, first, "`waymark evaluate --profile seed --dataset $DIR/tiny`: 4 train and 2 test episodes.")
	assert.NotContains(t, first, dir, "no path of this machine")
	assert.Equal(t, first, page())
	o.keep = filepath.Join(dir, "kept")
	assert.Equal(t, first, page())
	o.program = filepath.Join(dir, "gone")
	assert.Equal(t, first, page(), "the kept report is taken")
	o.profile = "learned"
	assert.Error(t, run(t.Context(), o), "the report of another profile is not")
}
