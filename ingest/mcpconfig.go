package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"

	"waymark/catalog"
	"waymark/internal/codec"
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
	Server  `json:"-"`
	Program string            `json:"-"`
	Args    []string          `json:"args"`                 // arguments of the program
	Env     map[string]string `json:"env"`                  // environment variables of the program
	Inherit []string          `json:"env_vars"`             // names of variables that it inherits from the starting process
	Dir     string            `json:"cwd"`                  // working directory
	Address string            `json:"url"`                  // complete URL
	Headers map[string]string `json:"headers"`              // headers of each request
	Bearer  string            `json:"bearer_token_env_var"` // name of a variable that holds a bearer token

	StartTimeout float64 `json:"startup_timeout_sec"` // in seconds; 0: not configured
	CallTimeout  float64 `json:"tool_timeout_sec"`
}

// entry is a server as hosts write it, with the names that only some of them use.
type entry struct {
	Launch
	Type        string            `json:"type"`
	Transport   string            `json:"transport"`
	Command     jsontext.Value    `json:"command"` // a program, or in OpenCode a command line as a list
	Cmd         string            `json:"cmd"`
	Environment map[string]string `json:"environment"`
	Envs        map[string]string `json:"envs"`
	ServerURL   string            `json:"serverUrl"`
	HTTPURL     string            `json:"httpUrl"`
	HTTPHeaders map[string]string `json:"http_headers"`
	EnvHeaders  map[string]string `json:"env_http_headers"`
	Disabled    bool              `json:"disabled"`
	Enabled     *bool             `json:"enabled"`
	StartMS     float64           `json:"startup_timeout_ms"`
	Timeout     float64           `json:"timeout"` // of start and call, in seconds or milliseconds
}

// decodeMCPConfig reads the servers in the configuration of common hosts. It does not start them.
//
//	mcpServers       Claude Desktop, Claude Code (also per project), Cursor, Windsurf, Gemini, …
//	servers          VS Code (mcp.json; under mcp in settings.json)
//	context_servers  Zed
//	mcp_servers      Codex (TOML)
//	extensions       Goose (YAML)
func decodeMCPConfig(in *input, emit func(Item) bool) error {
	return in.eachFile("mcp-config", func(name string) (more bool, err error) {
		text, err := in.readAll(name)
		if err != nil {
			return false, err
		}
		return true, launches(name, text, func(server string, l Launch, err error) {
			it := Item{File: name, Kind: kindServer, ID: server, Server: &l.Server}
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
	root, err := parse(text, "TOML", func(text []byte, into any) error {
		err := toml.Unmarshal(text, into)
		if err != nil && yaml.Unmarshal(text, into) == nil {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	mcp := "mcp.servers"
	if root.at(mcp) == nil {
		mcp = "mcp"
	}
	var tables []*document
	for _, key := range []string{"mcpServers", "servers", "mcp_servers", "context_servers", "extensions", mcp} {
		tables = append(tables, root.at(key))
	}
	projects := root.at("projects").object()
	for _, p := range slices.Sorted(maps.Keys(projects)) {
		tables = append(tables, projects[p].at("mcpServers"))
	}
	seen := map[string]bool{}
	for _, t := range tables {
		for _, name := range slices.Sorted(maps.Keys(t.object())) {
			if !seen[name] {
				l, err := launch(name, t.object()[name])
				visit(name, l, err)
			}
			seen[name] = true
		}
	}
	return nil
}

// parse reads a document in JSON as editors write it, or in another notation.
func parse(text []byte, notation string, decode func([]byte, any) error) (*document, error) {
	plain := stripComments(text)
	if !bytes.HasPrefix(bytes.TrimSpace(plain), []byte("{")) {
		var root map[string]any
		if err := decode(text, &root); err != nil {
			return nil, fmt.Errorf("not %s: %w", notation, err)
		}
		var err error
		if plain, err = jsonv2.Marshal(root, jsonv2.Deterministic(true)); err != nil { // TOML has nan and inf
			return nil, err
		}
	}
	return newDocument(line{data: plain})
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

// launch reads one server.
func launch(name string, d *document) (Launch, error) {
	name, err := catalog.Identifier("name", name, catalog.MaxName)
	if err != nil {
		return Launch{}, fmt.Errorf("server: %w", err)
	}
	var e entry
	var list []string
	err = errors.New("is not an object")
	if d != nil && d.raw[0] == '{' {
		err = codec.UnmarshalForeign(d.raw, &e)
	}
	if e.Command.Kind() == '[' {
		err = cmp.Or(err, codec.UnmarshalForeign(e.Command, &list))
	} else if len(e.Command) > 0 {
		err = cmp.Or(err, codec.UnmarshalForeign(e.Command, &e.Program))
	}
	if len(list) > 0 {
		e.Program, e.Args = list[0], append(list[1:], e.Args...)
	}
	if program, rest, ok := strings.Cut(e.Program, " -"); ok { // arguments in the same string as the command
		e.Program, e.Args = program, append(strings.Fields("-"+rest), e.Args...)
	}
	e.Program = cmp.Or(e.Program, e.Cmd)
	for _, env := range []map[string]string{e.Environment, e.Envs} {
		if e.Env == nil {
			e.Env = env
		}
	}
	if e.Headers == nil {
		e.Headers = e.HTTPHeaders
	}
	for header, variable := range e.EnvHeaders {
		if e.Headers == nil {
			e.Headers = map[string]string{}
		}
		e.Headers[header] = "${" + variable + "}"
	}
	if e.Timeout >= 1000 { // milliseconds
		e.Timeout /= 1000
	}
	l := e.Launch
	l.StartTimeout, l.CallTimeout = max(e.StartTimeout, e.StartMS/1000), cmp.Or(e.CallTimeout, e.Timeout)
	if e.Timeout > 240 && l.StartTimeout == 0 { // longer than the default start timeout
		l.StartTimeout = e.Timeout
	}
	l.Address = cmp.Or(e.Address, e.ServerURL, e.HTTPURL)
	l.Server = Server{Name: name, Command: catalog.Cut(l.Program, catalog.MaxID), URL: address(l.Address),
		Disabled: e.Disabled || e.Enabled != nil && !*e.Enabled}
	kind := strings.ToLower(cmp.Or(e.Type, e.Transport))
	switch {
	case err != nil:
	case !slices.Contains(transportTypes, kind):
		err = fmt.Errorf("has the unknown type %q", catalog.Cut(kind, 64))
	case l.Command != "" && l.URL == "":
		l.Transport = "stdio"
	case kind == "sse" || strings.HasSuffix(l.Address, "/sse") && kind == "":
		l.Transport = "sse"
	case l.URL != "":
		l.Transport = "http"
	default:
		err = errors.New("has neither command nor url")
	}
	if err != nil {
		err = fmt.Errorf("server %q %w", name, err)
	}
	return l, err
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
