package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"waymark/catalog"
	"waymark/internal/strictjson"
)

// Server is an MCP server that a host is configured to use. Nothing of it that can hold a secret is
// kept: no environment, no headers, no arguments, no query, and of the path of its address only parts
// that look like words.
type Server struct {
	Name      string `json:"name"`
	Transport string `json:"transport"` // stdio, http or sse
	Command   string `json:"command,omitempty"`
	URL       string `json:"url,omitempty"`
	Disabled  bool   `json:"disabled,omitempty"`
}

// decodeMCPConfig finds servers in the configuration of the usual hosts. It starts none of them.
//
//	mcpServers       Claude Desktop, Claude Code (also per project), Cursor, Windsurf, Gemini, …
//	servers          VS Code (mcp.json; under mcp in settings.json)
//	context_servers  Zed
//	mcp_servers      Codex (TOML)
func decodeMCPConfig(in *input, emit func(Item) bool) error {
	return in.eachFile("mcp-config", []string{".json", ".toml"}, func(name string) (more bool, err error) {
		text, err := in.readAll(name)
		if err != nil {
			return false, err
		}
		root, err := hostConfig(name, text)
		if err != nil {
			return false, err
		}
		more = true
		for _, it := range servers(root) {
			it.File, it.Line = name, lineOf(text, it.ID)
			if more = emit(it); !more {
				break
			}
		}
		return more, nil
	})
}

// hostConfig reads a host's settings, TOML by its name or JSON as editors write it.
func hostConfig(name string, text []byte) (root map[string]any, err error) {
	if path.Ext(name) == ".toml" || path.Ext(name) != ".json" && !looksLikeJSON(text) {
		if err := toml.Unmarshal(text, &root); err != nil {
			return nil, fmt.Errorf("%s: not TOML: %w", name, err)
		}
	} else if err := strictjson.UnmarshalForeign(stripComments(text), &root); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return root, nil
}

func looksLikeJSON(text []byte) bool {
	text = bytes.TrimSpace(stripComments(text))
	return len(text) > 0 && text[0] == '{'
}

// servers lists the servers of a configuration, those of the user before those of single projects.
func servers(root map[string]any) (items []Item) {
	for _, table := range serverTables(root) {
		items = append(items, serverItems(table)...)
	}
	seen := map[Server]bool{}
	return slices.DeleteFunc(items, func(it Item) bool { // many projects name the same server
		if it.Server == nil {
			return false
		}
		again := seen[*it.Server]
		seen[*it.Server] = true
		return again
	})
}

// serverTables are the places of a configuration that hold servers by name.
func serverTables(root map[string]any) (tables []any) {
	for _, key := range []string{"mcpServers", "servers", "mcp_servers", "context_servers"} {
		tables = append(tables, root[key])
	}
	if mcp, ok := root["mcp"].(map[string]any); ok {
		if inner, ok := mcp["servers"]; ok {
			tables = append(tables, inner)
		} else {
			tables = append(tables, mcp)
		}
	}
	projects, _ := root["projects"].(map[string]any)
	for _, p := range slices.Sorted(maps.Keys(projects)) {
		if project, ok := projects[p].(map[string]any); ok {
			tables = append(tables, project["mcpServers"])
		}
	}
	return tables
}

func serverItems(v any) (items []Item) {
	table, _ := v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(table)) {
		it := Item{Kind: kindServer, ID: name}
		if l, err := launch(name, table[name]); l.Name != "" {
			it.Server = &l.Server
		} else {
			it.drop(err.Error())
		}
		items = append(items, it)
	}
	return items
}

// transportTypes are what hosts call the ways to a server, in lower case; most leave it out.
var transportTypes = []string{"", "stdio", "local", "http", "streamable-http", "streamablehttp", "streamable_http", "remote", "sse"}

// address keeps of a URL what names the server: scheme, host, and the parts of the path that look like
// words. Some services put a key into the path.
func address(s string) string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return "(address not understood)"
	}
	parts := strings.Split(u.Path, "/")
	for i, p := range parts {
		letters := strings.Trim(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.") == ""
		version := len(p) <= 3 && strings.HasPrefix(p, "v")
		if len(p) > 24 || !letters && !version {
			parts[i] = "*"
		}
	}
	return catalog.Cut(u.Scheme+"://"+u.Host+strings.Join(parts, "/"), catalog.MaxID)
}

// lineOf finds the line on which a server is named.
func lineOf(text []byte, name string) int {
	quoted, _ := json.Marshal(name)
	at := bytes.Index(text, quoted)
	if at < 0 {
		at = bytes.Index(text, []byte("mcp_servers."+name))
	}
	return bytes.Count(text[:max(at, 0)], []byte("\n")) + 1
}

// stripComments turns the JSON that editors write, with comments and commas before a closing bracket,
// into JSON. What is taken out becomes spaces, so that places stay.
func stripComments(text []byte) []byte {
	out := bytes.Clone(text)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	comma := -1 // a comma that nothing follows yet
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
			comma = -1
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			end, skip := []byte("\n"), 0
			if out[i+1] == '*' {
				end, skip = []byte("*/"), 2
			}
			stop := len(out)
			if n := bytes.Index(out[i+2:], end); n >= 0 {
				stop = i + 2 + n + skip
			}
			blank(i, stop)
			i = stop - 1
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma], comma = ' ', -1
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			comma = -1
		}
	}
	return out
}
