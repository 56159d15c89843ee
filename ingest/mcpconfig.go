package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"

	"waymark/catalog"
)

// Server is an MCP server that a host is configured to use. Nothing of it that can hold a secret is
// kept: no environment, no headers, no arguments, and of its address scheme and host alone.
type Server struct {
	Name      string `json:"name"`
	Transport string `json:"transport"` // stdio, http or sse
	Command   string `json:"command,omitempty"`
	URL       string `json:"url,omitempty"`
	Disabled  bool   `json:"disabled,omitempty"`
}

// Launch is a server of a host's configuration with all that is needed to start or reach it, as it is
// written there: variables are not replaced. It holds secrets where the file does.
type Launch struct {
	Server
	Program string            // the command, one program or path
	Args    []string          // its arguments
	Env     map[string]string // variables for it
	Inherit []string          // names of variables that it takes from whoever starts it
	Dir     string            // where it runs
	Address string            // the whole URL
	Headers map[string]string // for each request to it
	Bearer  string            // name of a variable that holds a bearer token

	StartTimeout, CallTimeout float64 // seconds; 0: not said
}

// decodeMCPConfig finds servers in the configuration of the usual hosts. It starts none of them.
//
//	mcpServers       Claude Desktop, Claude Code (also per project), Cursor, Windsurf, Gemini, …
//	servers          VS Code (mcp.json; under mcp in settings.json)
//	context_servers  Zed
//	mcp_servers      Codex (TOML)
func decodeMCPConfig(in *input, emit func(Item) bool) error {
	return in.eachFile("mcp-config", func(name string) (more bool, err error) {
		text, err := in.readAll(name)
		if err != nil {
			return false, err
		}
		return true, launches(name, text, func(server string, l Launch, err error) {
			it := Item{File: name, Line: lineOf(text, server), Kind: kindServer, ID: server, Server: &l.Server}
			if err != nil {
				it.drop(err.Error())
			}
			emit(it)
		})
	})
}

// Launches reads the servers of a host's configuration in the forms that mcp-config reads. What cannot be understood
// comes back as a complaint.
func Launches(name string, text []byte) (all []Launch, complaints []string, err error) {
	err = launches(name, text, func(_ string, l Launch, err error) {
		if err != nil {
			complaints = append(complaints, err.Error())
		} else {
			all = append(all, l)
		}
	})
	return all, complaints, err
}

// launches visits the servers of a configuration in the order in which hosts rank them, those of the user before those of
// single projects; of several of one name the first counts.
func launches(file string, text []byte, visit func(name string, l Launch, err error)) error {
	root, err := hostConfig(file, text)
	if err != nil {
		return err
	}
	mcp := "mcp.servers"
	if root.at(mcp) == nil {
		mcp = "mcp"
	}
	var tables []*document
	for _, key := range []string{"mcpServers", "servers", "mcp_servers", "context_servers", mcp} {
		tables = append(tables, root.at(key))
	}
	projects := root.at("projects").object()
	for _, p := range slices.Sorted(maps.Keys(projects)) {
		tables = append(tables, projects[p].at("mcpServers"))
	}
	seen := map[string]bool{}
	for _, t := range tables {
		table := t.object()
		for _, name := range slices.Sorted(maps.Keys(table)) {
			l, err := launch(name, table[name])
			if !seen[l.Name] {
				visit(name, l, err)
			}
			seen[l.Name] = l.Name != ""
		}
	}
	return nil
}

// hostConfig reads a host's settings, TOML by its name or JSON as editors write it.
func hostConfig(name string, text []byte) (*document, error) {
	plain := stripComments(text)
	if path.Ext(name) == ".toml" || path.Ext(name) != ".json" && !bytes.HasPrefix(bytes.TrimSpace(plain), []byte("{")) {
		var root map[string]any
		if err := toml.Unmarshal(text, &root); err != nil {
			return nil, fmt.Errorf("%s: not TOML: %w", name, err)
		}
		var err error
		if plain, err = json.Marshal(root); err != nil { // TOML has nan and inf
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	d, err := newDocument(line{data: plain})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// stripComments turns the JSON that editors write, with comments and commas before a closing bracket, into JSON. What is
// taken out becomes spaces, so that places stay. Anything else stays as it is.
func stripComments(text []byte) []byte {
	if plain, err := hujson.Standardize(bytes.Clone(text)); err == nil {
		return plain
	}
	return text
}

// transportTypes are what hosts call the ways to a server, in lower case; most leave it out.
var transportTypes = []string{"", "stdio", "local", "http", "streamable-http", "streamablehttp", "streamable_http", "remote", "sse"}

// launch reads one server. One that has a name comes with it even if it cannot be understood.
func launch(name string, d *document) (l Launch, err error) {
	if l.Name, err = catalog.Identifier("name", name, catalog.MaxName); err != nil {
		return Launch{}, fmt.Errorf("server: %w", err)
	}
	if d == nil || d.raw[0] != '{' {
		return Launch{}, fmt.Errorf("server %q is no object", l.Name)
	}
	process := d
	switch {
	case holds(d, "command={*"): // of Zed
		process = d.at("command")
		l.Program = process.text("path")
	case holds(d, "command=[*"): // the whole command line
		if l.Args = d.words("command"); len(l.Args) > 0 {
			l.Program, l.Args = l.Args[0], l.Args[1:]
		}
	default:
		l.Program = d.text("command")
	}
	if program, rest, ok := strings.Cut(l.Program, " -"); ok { // arguments in one string with the command
		l.Program, l.Args = program, strings.Fields("-"+rest)
	}
	l.Args = append(l.Args, process.words("args")...)
	l.Env, l.Inherit = process.table("environment env"), d.words("env_vars")
	l.Headers = d.table("http_headers headers env_http_headers")
	for header, variable := range d.table("env_http_headers") {
		l.Headers[header] = "${" + variable + "}"
	}
	l.Address, l.Dir, l.Bearer = d.text("url serverUrl httpUrl"), process.text("cwd"), d.text("bearer_token_env_var")
	l.Command, l.URL = catalog.Cut(l.Program, catalog.MaxID), address(l.Address)
	l.times(d)
	l.Disabled = holds(d, "disabled=true; enabled=false")
	kind := strings.ToLower(d.text("type transport"))
	if err, *d.problem = *d.problem, nil; err != nil {
		return l, fmt.Errorf("server %q: %w", l.Name, err)
	}
	switch {
	case !slices.Contains(transportTypes, kind):
		return l, fmt.Errorf("server %q has the unknown type %q", l.Name, catalog.Cut(kind, 64))
	case l.Command != "" && l.URL == "":
		l.Transport = "stdio"
	case kind == "sse" || strings.HasSuffix(l.Address, "/sse") && kind == "":
		l.Transport = "sse"
	case l.URL != "":
		l.Transport = "http"
	default:
		return l, fmt.Errorf("server %q has neither command nor url", l.Name)
	}
	return l, nil
}

// times reads how long a start and a call may take. Hosts write "timeout" in seconds or milliseconds, and mean one or both by it.
func (l *Launch) times(d *document) {
	seconds := func(name string, unit float64) float64 {
		if v := d.at(name); v != nil {
			if n, err := strconv.ParseFloat(v.word(name), 64); err == nil && n > 0 {
				return n * unit
			}
		}
		return 0
	}
	l.StartTimeout = max(seconds("startup_timeout_sec", 1), seconds("startup_timeout_ms", .001))
	l.CallTimeout = seconds("tool_timeout_sec", 1)
	both := seconds("timeout", 1)
	if both >= 1000 {
		both /= 1000
	}
	if l.CallTimeout == 0 {
		l.CallTimeout = both
	}
	if both > 120 && l.StartTimeout == 0 { // as long as every start may take
		l.StartTimeout = both
	}
}

// address keeps of a URL what names the server, scheme and host: some services put a key into the path.
func address(s string) string {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return ""
	case err != nil || u.Host == "":
		return "(address not understood)"
	}
	return catalog.Cut(u.Scheme+"://"+u.Host, catalog.MaxID)
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
