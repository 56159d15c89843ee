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

// Server is an MCP server that a host is configured to use. It keeps nothing that can hold a secret: no
// environment, no headers and no arguments, and only scheme and host of its address.
type Server struct {
	Name      string `json:"name"`
	Transport string `json:"transport"` // stdio, http or sse
	Command   string `json:"command,omitempty"`
	URL       string `json:"url,omitempty"`
	Disabled  bool   `json:"disabled,omitempty"`
}

// Launch is a server of a host's configuration with all that is needed to start or reach it, exactly as
// configured: variables are not expanded. It contains the secrets of the file.
type Launch struct {
	Server
	Program string            // command, one program or path
	Args    []string          // arguments of the program
	Env     map[string]string // environment variables of the program
	Inherit []string          // names of variables that it inherits from the starting process
	Dir     string            // working directory
	Address string            // complete URL
	Headers map[string]string // headers of each request
	Bearer  string            // name of a variable that holds a bearer token

	StartTimeout, CallTimeout float64 // in seconds; 0: not configured
}

// decodeMCPConfig reads the servers in the configuration of common hosts. It does not start them.
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

// Launches reads the servers of a host's configuration in the forms that the format mcp-config supports. Each
// server that cannot be understood adds a complaint.
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

// launches visits the servers of a configuration in the order of precedence that hosts use: servers of the user
// before those of single projects. Only the first of several servers with the same name is visited.
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

// hostConfig reads the settings of a host: TOML, by the file name, or JSON as editors write it.
func hostConfig(name string, text []byte) (*document, error) {
	plain := stripComments(text)
	if path.Ext(name) == ".toml" || path.Ext(name) != ".json" && !bytes.HasPrefix(bytes.TrimSpace(plain), []byte("{")) {
		var root map[string]any
		if err := toml.Unmarshal(text, &root); err != nil {
			return nil, fmt.Errorf("%s: not TOML: %w", name, err)
		}
		var err error
		if plain, err = json.Marshal(root); err != nil { // fails for the TOML values nan and inf
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	d, err := newDocument(line{data: plain})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// stripComments converts the JSON of editors, with comments and trailing commas, to plain JSON. Removed
// characters become spaces, so that offsets stay the same. Any other text is returned unchanged.
func stripComments(text []byte) []byte {
	if plain, err := hujson.Standardize(bytes.Clone(text)); err == nil {
		return plain
	}
	return text
}

// transportTypes are the names that hosts use for transports, in lower case; most hosts omit it.
var transportTypes = []string{"", "stdio", "local", "http", "streamable-http", "streamablehttp", "streamable_http", "remote", "sse"}

// launch reads one server. If an object with a valid name cannot be understood, the returned Launch still has
// the name.
func launch(name string, d *document) (l Launch, err error) {
	if l.Name, err = catalog.Identifier("name", name, catalog.MaxName); err != nil {
		return Launch{}, fmt.Errorf("server: %w", err)
	}
	if d == nil || d.raw[0] != '{' {
		return Launch{}, fmt.Errorf("server %q is no object", l.Name)
	}
	process := d
	switch {
	case holds(d, "command={*"): // Zed
		process = d.at("command")
		l.Program = process.text("path")
	case holds(d, "command=[*"): // complete command line
		if l.Args = d.words("command"); len(l.Args) > 0 {
			l.Program, l.Args = l.Args[0], l.Args[1:]
		}
	default:
		l.Program = d.text("command")
	}
	if program, rest, ok := strings.Cut(l.Program, " -"); ok { // arguments in the same string as the command
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

// times reads the timeouts of start and call. Hosts write "timeout" in seconds or milliseconds, and use it for
// one or both.
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
	if both > 120 && l.StartTimeout == 0 { // longer than the default start timeout
		l.StartTimeout = both
	}
}

// address keeps only scheme and host of a URL: some services put a key into the path.
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

// lineOf returns the line on which a name first occurs, 1 if it does not.
func lineOf(text []byte, name string) int {
	quoted, _ := json.Marshal(name)
	at := bytes.Index(text, quoted)
	if at < 0 {
		at = bytes.Index(text, []byte("mcp_servers."+name))
	}
	return bytes.Count(text[:max(at, 0)], []byte("\n")) + 1
}
