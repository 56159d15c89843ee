// Package importtest keeps the drawing of the program true: who may know whom.
package importtest

import (
	"fmt"
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
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "waymark"

// imports is the program as a drawing; data flows down the page.
//
//	numeric   catalog              storage   embed
//	  │          │                    │
//	  ├─▶ graph ─┤                    │
//	  ├─▶ spectral                    │
//	  ├─▶ semantic ─▶ predict         │
//	  └────┬─ episodic ─▶ importer ─▶ sample
//	       ▼     ▼                    │
//	      suggest ──▶ learn ───▶ live ┤
//	                    │          ▼  ▼
//	                    └▶ report server ─▶ cmd/waymark
//
// predict is what a history teaches, for suggest to ask, kernels first:
//
//	sequence · maxent · choice · calibrate ─▶ next        labels · logit · decode · calibrate ─▶ plan        logit ─▶ calibrate ─▶ stop
//
// Scorers stand beside all that, each a kernel of its own; judge is their way to a model:
//
//	score/rubric ┬─▶ score/hypothesis · council · contribution · evidence ─┬─▶ score ─▶ server
//	             └─▶ score/judge ◀─ score/judge/reply · internal/endpoint ─┘
var imports = map[string][]string{
	"numeric":      nil,
	"wire":         nil,
	"catalog":      nil,
	"storage":      nil,
	"embed":        {"internal/endpoint"},
	"embed/static": {"semantic"},
	"graph":        {"numeric"},
	"spectral":     {"numeric"},
	"semantic":     {"numeric", "wire"},
	"episodic":     {"catalog", "internal/pages", "numeric", "semantic", "wire"},
	"importer":     {"catalog", "episodic", "toolcall"},
	"sample":       {"catalog", "episodic", "importer"},
	"mine":         {"episodic", "internal/parallel", "numeric"},
	"suggest":      {"catalog", "episodic", "graph", "internal/pages", "numeric", "predict/association", "predict/calibrate", "predict/next", "predict/plan", "predict/sequence", "predict/stop", "semantic", "semantic/thesaurus", "semantic/wordvectors", "spectral", "wire", "wiring"},
	"learn":        {"catalog", "episodic", "numeric", "predict/calibrate", "suggest"},
	"live":         {"catalog", "episodic", "learn", "mine", "mine/proposal", "numeric", "score/rubric", "semantic", "semantic/thesaurus", "storage", "suggest", "wire"},
	"live/state":   {"run", "score", "storage"},
	"server":       {"catalog", "episodic", "gateway", "importer", "ledger", "live", "live/state", "mine/proposal", "run", "score", "score/evidence", "score/judge", "score/rubric", "storage", "suggest"},

	"mine/proposal": {"catalog", "episodic", "mine", "numeric", "score/rubric", "semantic"},

	"score/rubric":       nil,
	"score/hypothesis":   {"internal/parallel", "score/rubric"},
	"score/council":      {"numeric", "score/judge/reply", "score/rubric"},
	"score/evidence":     {"numeric", "score/rubric", "semantic"},
	"score/contribution": {"score/rubric"},
	"score/judge":        {"internal/endpoint", "score/judge/reply", "score/rubric"},
	"score/judge/reply":  nil,
	"run":                {"catalog"},
	"exchange":           {"catalog"},
	"wiring":             {"numeric", "wire"},
	"recorder":           {"episodic", "live", "run", "suggest"},
	"ledger":             nil,
	"toolcall":           {"catalog", "episodic"},
	"hook":               {"catalog", "episodic", "toolcall"},
	"feed":               {"episodic", "hook", "importer", "live", "storage", "suggest", "toolcall"},
	"cmd/waymark-hook":   {"hook", "internal/datadir"},
	"gateway":            {"catalog", "internal/endpoint", "run", "storage"},
	"score":              {"catalog", "run", "score/contribution", "score/council", "score/council/convene", "score/evidence", "score/evidence/inquiry", "score/hypothesis", "score/judge", "score/rubric"},

	"semantic/thesaurus":          {"semantic"},
	"semantic/wordvectors":        {"numeric"},
	"predict/association":         {"numeric"},
	"predict/sequence":            {"numeric"},
	"predict/maxent":              {"numeric"},
	"predict/choice":              {"internal/parallel", "numeric"},
	"predict/calibrate":           {"numeric", "predict/logit", "wire"},
	"predict/next":                {"graph", "internal/parallel", "numeric", "predict/calibrate", "predict/choice", "predict/maxent", "predict/sequence", "spectral"},
	"learn/report":                {"learn"},
	"predict/labels":              {"internal/parallel", "numeric", "wire"},
	"predict/logit":               {"internal/parallel", "numeric", "wire"},
	"score/evidence/inquiry":      {"score/evidence", "semantic"},
	"score/council/convene":       {"score/council", "score/judge", "score/rubric"},
	"predict/decode":              nil,
	"predict/plan":                {"internal/parallel", "numeric", "predict/calibrate", "predict/choice", "predict/decode", "predict/labels", "predict/logit", "semantic", "semantic/thesaurus", "wire"},
	"predict/stop":                {"internal/parallel", "numeric", "predict/calibrate", "predict/logit", "wire"},
	"cmd/waymark/internal/client": nil,
	"cmd/waymark":                 {"catalog", "cmd/waymark/internal/client", "embed", "embed/static", "episodic", "exchange", "feed", "gateway", "hook", "importer", "internal/datadir", "learn", "learn/report", "live", "mine/proposal", "recorder", "run", "sample", "score", "score/contribution", "score/council", "score/evidence", "score/hypothesis", "score/judge", "semantic/thesaurus", "server", "storage", "suggest"},
	"internal/datadir":            nil,
	"internal/endpoint":           nil,
	"internal/importtest":         nil,
	"internal/pages":              nil,
	"internal/parallel":           nil,
	"internal/bench":              nil,
}

// rims are the packages of others that stay at one place: whoever wants to replace them has one folder,
// or two, to look into.
var rims = map[string]string{
	"github.com/gin-gonic/gin":               "server",
	"github.com/danielgtaylor/huma":          "server",
	"github.com/modelcontextprotocol/go-sdk": "server, gateway",
	"github.com/prometheus/client_golang":    "server",
	"github.com/dgraph-io/badger":            "storage",
	"go.opentelemetry.io/collector":          "importer, server",
	"github.com/sashabaranov/go-openai":      "embed, score/judge",
	"github.com/kljensen/snowball":           "semantic",
	"github.com/spf13/cobra":                 "cmd",
	"github.com/knadh/koanf":                 "cmd",
	"go.yaml.in/yaml":                        "score/rubric, exchange",
	"github.com/expr-lang/expr":              "run",
	"github.com/santhosh-tekuri/jsonschema":  "run, gateway",
}

func TestWhoMayKnowWhom(t *testing.T) {
	found, err := read(os.DirFS(filepath.Join("..", "..")))
	require.NoError(t, err)
	require.Contains(t, found, "cmd/waymark", "the test reads the wrong folder")
	for _, complaint := range check(found, imports, rims) {
		t.Error(complaint)
	}
}

// The table itself must be a DAG, else it draws nothing.
func TestTheTableIsADAG(t *testing.T) {
	assert.Empty(t, cycle(imports))
}

// The checks have to notice what they are for.
func TestCheckComplains(t *testing.T) {
	table := map[string][]string{"graph": nil, "score/judge": nil, "server": {"graph"}}
	rims := map[string]string{"github.com/gin-gonic/gin": "server", "github.com/spf13/cobra": "cmd", "example.org/api": "embed, score/judge"}
	for _, tt := range []struct {
		name  string
		found map[string][]string
		want  []string
	}{
		{"as drawn", map[string][]string{"server": {"waymark/graph", "github.com/gin-gonic/gin/binding", "fmt"}}, nil},
		{"against the flow", map[string][]string{"graph": {"waymark/server"}}, []string{"graph imports server, which the table does not allow"}},
		{"unknown package", map[string][]string{"extra": nil}, []string{"package extra is missing from the table"}},
		{"rim", map[string][]string{"graph": {"github.com/gin-gonic/gin"}}, []string{"graph imports github.com/gin-gonic/gin, which belongs to server alone"}},
		{"rim of two folders", map[string][]string{"score/judge": {"example.org/api"}, "server": {"example.org/api"}},
			[]string{"server imports example.org/api, which belongs to embed, score/judge alone"}},
		{"rim of a folder", map[string][]string{"server": {"github.com/spf13/cobra"}}, []string{"server imports github.com/spf13/cobra, which belongs to cmd alone"}},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, check(tt.found, table, rims)) })
	}
	assert.Equal(t, []string{"a", "b", "a"}, cycle(map[string][]string{"a": {"b"}, "b": {"a"}, "c": {"a"}}))
}

func TestReadSkipsOtherModules(t *testing.T) {
	source := &fstest.MapFile{Data: []byte("package p\n\nimport \"waymark/graph\"\n")}
	found, err := read(fstest.MapFS{
		"go.mod": {}, "server/a.go": source, "server/a_test.go": source, "server/testdata/b.go": source, "lab/go.mod": {}, "lab/bench/c.go": source,
	})
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{"server": {"waymark/graph"}}, found)
	assert.Equal(t, []string{"server imports lab/bench, which the table does not allow"},
		check(map[string][]string{"server": {"waymark/lab/bench"}}, map[string][]string{"server": nil}, nil))
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

// check says, in order, what of the imports found is not as drawn.
func check(found, table map[string][]string, rims map[string]string) []string {
	var complaints []string
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		allowed, known := table[pkg]
		if !known {
			complaints = append(complaints, fmt.Sprintf("package %s is missing from the table", pkg))
			continue
		}
		list := slices.Clone(found[pkg])
		slices.Sort(list)
		for _, imported := range slices.Compact(list) {
			if own, ok := strings.CutPrefix(imported, module+"/"); ok && !slices.Contains(allowed, own) {
				complaints = append(complaints, fmt.Sprintf("%s imports %s, which the table does not allow", pkg, own))
			}
			for _, rim := range slices.Sorted(maps.Keys(rims)) {
				home := func(folder string) bool { return within(pkg, folder) }
				if within(imported, rim) && !slices.ContainsFunc(strings.Split(rims[rim], ", "), home) {
					complaints = append(complaints, fmt.Sprintf("%s imports %s, which belongs to %s alone", pkg, rim, rims[rim]))
				}
			}
		}
	}
	return complaints
}

func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}

// cycle is a way in the table that comes back to where it began, or empty.
func cycle(table map[string][]string) []string {
	done := map[string]bool{}
	var way []string
	var visit func(pkg string) []string
	visit = func(pkg string) []string {
		if i := slices.Index(way, pkg); i >= 0 {
			return append(slices.Clone(way[i:]), pkg)
		}
		if done[pkg] {
			return nil
		}
		way = append(way, pkg)
		for _, next := range table[pkg] {
			if c := visit(next); c != nil {
				return c
			}
		}
		way, done[pkg] = way[:len(way)-1], true
		return nil
	}
	for _, pkg := range slices.Sorted(maps.Keys(table)) {
		if c := visit(pkg); c != nil {
			return c
		}
	}
	return nil
}
