package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSurface compares the program with testdata/surface.tsv, the whole surface: commands, HTTP operations with their
// scopes, and MCP tools.
func TestSurface(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile(filepath.Join("testdata", "surface.tsv"))
	require.NoError(t, err)
	want, got := map[string]string{}, map[string]string{} // scope by surface and name
	root := (&app{}).command()
	root.InitDefaultCompletionCmd()
	for row := range strings.Lines(string(table)) {
		cells := strings.Split(strings.TrimSpace(row), "\t")
		if strings.HasPrefix(row, "#") || len(cells) != 5 {
			require.True(t, strings.HasPrefix(row, "#"), row)
			continue
		}
		for _, name := range listed(cells[1]) {
			want["command "+ofCommand(root, name)] = ""
		}
		for _, name := range listed(cells[2]) {
			if strings.Contains(name, " /v1/") {
				want[name] = cells[4]
			}
		}
		for _, name := range listed(cells[3]) {
			want["tool "+name] = ""
		}
	}
	for _, name := range commands(root, "") {
		got["command "+name] = ""
	}

	dir := filepath.Join(t.TempDir(), "data")
	says(t, 0, "gateway", "add", deskConfig(t, map[string]string{}), "--yes", "--data", dir)
	server := startServer(t, dir, "--connect")
	awaitDesk(t, dir)
	tools, err := mcpClient(t, &mcp.StreamableClientTransport{Endpoint: server.URLs.MCP}).ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, tool := range tools.Tools {
		if !strings.HasPrefix(tool.Name, "My-Desk") {
			got["tool "+tool.Name] = ""
		}
	}
	base := strings.TrimSuffix(server.URLs.API, "/v1")
	var spec struct {
		Paths map[string]map[string]struct{ Description string }
	}
	askOver(t, http.MethodGet, base+"/openapi.json", "", http.StatusOK, &spec)
	for path, methods := range spec.Paths {
		for method, op := range methods {
			scope := "-"
			if found := needed.FindStringSubmatch(op.Description); found != nil {
				scope = found[1]
			}
			if strings.HasPrefix(path, "/v1/") {
				got[strings.ToUpper(method)+" "+path] = scope
			}
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/docs", "/"} {
		askOver(t, http.MethodGet, base+path, "", http.StatusOK, nil)
	}

	var differences []string
	for name := range got {
		if scope, known := want[name]; !known {
			differences = append(differences, "more: "+name)
		} else if scope != got[name] {
			differences = append(differences, "scope: "+name+" "+got[name]+", not "+scope)
		}
	}
	for name := range want {
		if _, there := got[name]; !there {
			differences = append(differences, "missing: "+name)
		}
	}
	slices.Sort(differences)
	assert.Empty(t, differences)
}

var (
	needed = regexp.MustCompile(`Needs scope (\w+)\.`)
	aside  = regexp.MustCompile(` \([^)]*\)| --[^,]*(, \w+)*`)
)

// listed splits a cell such as "rule ban, pin" into "rule ban" and "rule pin".
func listed(cell string) (all []string) {
	if cell = aside.ReplaceAllString(cell, ""); cell == "-" {
		return nil
	}
	prefix := ""
	for i, name := range strings.Split(cell, ", ") {
		if first, _, two := strings.Cut(name, " "); i == 0 && two {
			prefix = first + " "
		} else if i > 0 {
			name = prefix + name
		}
		all = append(all, name)
	}
	return all
}

// ofCommand is the command that a name of the table runs: what follows it are arguments.
func ofCommand(root *cobra.Command, name string) string {
	cmd, _, err := root.Find(strings.Fields(name))
	if err != nil || cmd == root || cmd.HasSubCommands() {
		return name
	}
	return strings.TrimPrefix(cmd.CommandPath(), "waymark ")
}

// commands are the paths of all commands that do something of their own.
func commands(c *cobra.Command, path string) (all []string) {
	if path != "" && !c.HasSubCommands() || path == "completion" { // below it is one command for each shell
		return append(all, path)
	}
	for _, sub := range c.Commands() {
		all = append(all, commands(sub, strings.TrimSpace(path+" "+sub.Name()))...)
	}
	return all
}
