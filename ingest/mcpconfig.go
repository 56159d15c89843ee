package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
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
	"waymark/internal/strictjson"
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
	var tables []any
	for _, key := range []string{"mcpServers", "servers", "mcp_servers", "context_servers"} {
		tables = append(tables, root[key])
	}
	mcp := object(root["mcp"])
	if inner, ok := mcp["servers"]; ok {
		tables = append(tables, inner)
	} else {
		tables = append(tables, root["mcp"])
	}
	projects := object(root["projects"])
	for _, p := range slices.Sorted(maps.Keys(projects)) {
		tables = append(tables, object(projects[p])["mcpServers"])
	}
	seen := map[string]bool{}
	for _, t := range tables {
		table := object(t)
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
func hostConfig(name string, text []byte) (root map[string]any, err error) {
	plain := stripComments(text)
	if path.Ext(name) == ".toml" || path.Ext(name) != ".json" && !bytes.HasPrefix(bytes.TrimSpace(plain), []byte("{")) {
		if err := toml.Unmarshal(text, &root); err != nil {
			return nil, fmt.Errorf("%s: not TOML: %w", name, err)
		}
	} else if err := strictjson.UnmarshalForeign(plain, &root); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return root, nil
}

// stripComments turns the JSON that editors write, with comments and commas before a closing bracket, into JSON. What is
// taken out becomes spaces, so that places stay. Anything else stays as it is.
func stripComments(text []byte) []byte {
	if plain, err := hujson.Standardize(bytes.Clone(text)); err == nil {
		return plain
	}
	return text
}

// serverFields are what hosts write of a server, in all their spellings.
type serverFields struct {
	Command     json.RawMessage `json:"command"` // a text, the whole command line as a list or, in Zed, an object
	Path        string          `json:"path"`    // of the program in that object
	Args        []word          `json:"args"`
	Env         map[string]word `json:"env"`
	Environment map[string]word `json:"environment"`
	EnvVars     []word          `json:"env_vars"`
	Dir         string          `json:"cwd"`

	Type        string          `json:"type"`
	Transport   string          `json:"transport"`
	URL         string          `json:"url"`
	ServerURL   string          `json:"serverUrl"`
	HTTPURL     string          `json:"httpUrl"`
	Headers     map[string]word `json:"headers"`
	HTTPHeaders map[string]word `json:"http_headers"`
	EnvHeaders  map[string]word `json:"env_http_headers"` // header: name of a variable
	Bearer      string          `json:"bearer_token_env_var"`

	StartSeconds word `json:"startup_timeout_sec"`
	StartMillis  word `json:"startup_timeout_ms"`
	CallSeconds  word `json:"tool_timeout_sec"`
	Timeout      word `json:"timeout"`

	Disabled bool  `json:"disabled"`
	Enabled  *bool `json:"enabled"`
}

// word is a text, or a number or truth value as one.
type word string

func (w *word) UnmarshalJSON(v []byte) error {
	if v[0] == '{' || v[0] == '[' {
		return errors.New("an object or a list is no text")
	}
	if v[0] != '"' {
		*w = word(v)
		return nil
	}
	return json.Unmarshal(v, (*string)(w))
}

// transportTypes are what hosts call the ways to a server, in lower case; most leave it out.
var transportTypes = []string{"", "stdio", "local", "http", "streamable-http", "streamablehttp", "streamable_http", "remote", "sse"}

// launch reads one server. One that has a name comes with it even if it cannot be understood.
func launch(name string, v any) (l Launch, err error) {
	if l.Name, err = catalog.Identifier("name", name, catalog.MaxName); err != nil {
		return Launch{}, fmt.Errorf("server: %w", err)
	}
	var f serverFields
	text, err := json.Marshal(v)
	if err == nil && text[0] != '{' {
		return Launch{}, fmt.Errorf("server %q is no object", l.Name)
	}
	if err == nil {
		err = strictjson.UnmarshalForeign(text, &f)
	}
	var line []word
	if err == nil && len(f.Command) > 0 {
		switch f.Command[0] {
		case '[':
			err = strictjson.UnmarshalForeign(f.Command, &line)
		case '{':
			f.Args, f.Env = nil, nil
			if err = strictjson.UnmarshalForeign(f.Command, &f); err == nil {
				line = []word{word(f.Path)}
			}
		default:
			err = strictjson.UnmarshalForeign(f.Command, &l.Program)
		}
	}
	if err != nil {
		return l, fmt.Errorf("server %q: %w", l.Name, err)
	}
	if len(line) > 0 {
		l.Program, line = string(line[0]), line[1:]
	}
	if program, rest, ok := strings.Cut(l.Program, " -"); ok { // arguments in one string with the command
		l.Program, l.Args = program, strings.Fields("-"+rest)
	}
	for _, w := range slices.Concat(line, f.Args) {
		l.Args = append(l.Args, string(w))
	}
	for _, w := range f.EnvVars {
		l.Inherit = append(l.Inherit, string(w))
	}
	for header, variable := range f.EnvHeaders {
		f.EnvHeaders[header] = "${" + variable + "}"
	}
	l.Env, l.Headers = joined(f.Environment, f.Env), joined(f.HTTPHeaders, f.Headers, f.EnvHeaders)
	l.Address, l.Dir, l.Bearer = cmp.Or(f.URL, f.ServerURL, f.HTTPURL), f.Dir, f.Bearer
	l.Command, l.URL = catalog.Cut(l.Program, catalog.MaxID), address(l.Address)
	l.times(&f)
	l.Disabled = f.Disabled || f.Enabled != nil && !*f.Enabled
	switch kind := strings.ToLower(cmp.Or(f.Type, f.Transport)); {
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
func (l *Launch) times(f *serverFields) {
	seconds := func(w word, unit float64) float64 {
		v, err := strconv.ParseFloat(string(w), 64)
		if err != nil || !(v > 0) {
			return 0
		}
		return v * unit
	}
	l.StartTimeout = max(seconds(f.StartSeconds, 1), seconds(f.StartMillis, .001))
	l.CallTimeout = seconds(f.CallSeconds, 1)
	both := seconds(f.Timeout, 1)
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

// joined is all of some tables, nil for none; of two of one name the later counts.
func joined(tables ...map[string]word) (all map[string]string) {
	for _, table := range tables {
		for name, w := range table {
			if all == nil {
				all = map[string]string{}
			}
			all[name] = string(w)
		}
	}
	return all
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
