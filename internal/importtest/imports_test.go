// Package importtest keeps the drawing of the program true: who may know whom.
package importtest

import (
	"go/parser"
	"go/token"
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

const module = "waymark"

// imports is the architecture: which groups of packages a group may import. A group is a folder with everything below
// it, unless a deeper folder has a row of its own; packages of one group may import each other. Data flows down:
//
//	in    ingest · live/record ──▶ live ──▶ storage
//	out   storage ──▶ suggest (counts, measures) ◀── graph · spectral · episodic · suggest/semantic
//	                     │ ◀── suggest/learn (fitted from a history)
//	                     ▼
//	                  suggest/evaluate ──▶ live ──▶ server · cmd
//
// Scorers (score) and the executor of DAGs (run) stand beside it; gateway speaks to other MCP servers. internal holds
// what any group may use.
var imports = map[string][]string{
	"internal":               nil,
	"catalog":                nil,
	"storage":                {"internal"},
	"graph":                  {"internal"},
	"spectral":               {"internal"},
	"suggest/semantic":       {"internal"},
	"run":                    {"catalog"},
	"episodic":               {"catalog", "internal"},
	"ingest":                 {"catalog", "episodic", "internal"},
	"cmd/waymark/sampledata": {},
	"suggest/learn":          {"graph", "internal", "suggest/semantic"},
	"score":                  {"catalog", "internal", "run", "suggest/semantic"},
	"suggest":                {"catalog", "episodic", "graph", "internal", "suggest/learn", "suggest/semantic", "spectral"},
	"suggest/evaluate":       {"catalog", "episodic", "internal", "suggest", "suggest/semantic"},
	"suggest/mine":           {"catalog", "episodic", "internal", "score", "suggest", "suggest/semantic"},
	"live":                   {"catalog", "episodic", "suggest/evaluate", "internal", "suggest/mine", "score", "suggest/semantic", "storage", "suggest"},
	"ingest/report":          {"catalog", "episodic", "suggest/evaluate", "ingest", "suggest"},
	"live/record":            {"catalog", "episodic", "ingest", "live", "run", "storage", "suggest"},
	"gateway":                {"catalog", "internal", "run", "storage"},
	"server":                 {"catalog", "episodic", "suggest/evaluate", "gateway", "ingest", "internal", "live", "suggest/mine", "run", "score", "server/page", "storage", "suggest"},
	"cmd":                    {"catalog", "episodic", "suggest/evaluate", "gateway", "ingest", "internal", "live", "live/record", "run", "cmd/waymark/sampledata", "score", "suggest/semantic", "server", "storage", "suggest", "ingest/report"},

	// The built web page: files, and nothing that knows the rest.
	"server/page": nil,

	// Hosts wait for the hook, so it links next to nothing.
	"cmd/waymark-hook": {"ingest/hook"},
}

// rims are the packages of others that stay at one place: whoever wants to replace them has one folder,
// or two, to look into.
var rims = map[string]string{
	"github.com/gin-gonic/gin":               "server",
	"github.com/danielgtaylor/huma":          "server",
	"github.com/modelcontextprotocol/go-sdk": "server, gateway",
	"github.com/prometheus/client_golang":    "server",
	"github.com/dgraph-io/badger":            "storage",
	"github.com/jackc/pgx":                   "storage",
	"github.com/gofrs/flock":                 "storage",
	"github.com/anishathalye/porcupine":      "storage",
	"go.opentelemetry.io/proto/otlp":         "ingest",
	"github.com/sashabaranov/go-openai":      "internal/endpoint, score",
	"github.com/kljensen/snowball":           "suggest/semantic",
	"github.com/spf13/cobra":                 "cmd",
	"go.yaml.in/yaml":                        "cmd, ingest, score",
	"github.com/expr-lang/expr":              "run",
	"github.com/santhosh-tekuri/jsonschema":  "run",
}

// What is imported is in the table, and every permission is used: a row that allows more than the code needs hides the
// direction.
func TestWhoMayKnowWhom(t *testing.T) {
	found, err := read(os.DirFS(filepath.Join("..", "..")))
	require.NoError(t, err)
	require.Contains(t, found, "cmd/waymark", "the test reads the wrong folder")
	used := map[string]bool{}
	for pkg, list := range found {
		from := groupOf(pkg)
		assert.NotEmpty(t, from, "package %s is missing from the table", pkg)
		for _, imported := range list {
			if own, ok := strings.CutPrefix(imported, module+"/"); ok && groupOf(own) != from {
				allowed := false
				for _, to := range imports[from] {
					if within(own, to) {
						allowed, used[from+" "+to] = true, true
					}
				}
				assert.True(t, allowed, "%s imports %s, which the table does not allow", pkg, own)
			}
			for rim, homes := range rims {
				home := func(folder string) bool { return within(pkg, folder) }
				if within(imported, rim) && !slices.ContainsFunc(strings.Split(homes, ", "), home) {
					t.Errorf("%s imports %s, which belongs to %s alone", pkg, rim, homes)
				}
			}
		}
	}
	for from, list := range imports {
		for _, to := range list {
			assert.True(t, used[from+" "+to], "%s never imports %s", from, to)
		}
	}
}

// The table itself must be a DAG, or it describes no direction.
func TestTheTableIsADAG(t *testing.T) {
	left := maps.Clone(imports)
	for before := 0; len(left) != before; {
		before = len(left)
		maps.DeleteFunc(left, func(_ string, list []string) bool {
			return !slices.ContainsFunc(list, func(folder string) bool { _, has := left[folder]; return has })
		})
	}
	assert.Empty(t, left, "rows that lead to a cycle")
}

// read lists what each package's non-test files import. A folder with a go.mod is another module and is skipped: the
// lab may import any package, and check reports a package that imports the lab, since the table does not list it.
func read(fsys fs.FS) (map[string][]string, error) {
	found := map[string][]string{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() && name != ".":
			if _, err := fs.Stat(fsys, path.Join(name, "go.mod")); err == nil {
				return fs.SkipDir
			}
			return nil
		case d.IsDir(), path.Ext(name) != ".go", strings.HasSuffix(name, "_test.go"):
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		found[dir] = append(found[dir], nil...) // known even if it imports nothing
		for _, spec := range file.Imports {
			found[dir] = append(found[dir], strings.Trim(spec.Path.Value, `"`))
		}
		return nil
	})
	return found, err
}

// groupOf is the deepest folder of the table that a package is in, or empty.
func groupOf(pkg string) (group string) {
	for folder := range imports {
		if within(pkg, folder) && len(folder) > len(group) {
			group = folder
		}
	}
	return group
}

func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}
