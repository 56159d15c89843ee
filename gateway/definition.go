package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"waymark/catalog"
	"waymark/internal/codec"
	"waymark/internal/endpoint"
	"waymark/internal/redact"
	"waymark/storage"
)

// Definition describes how a server is started or reached. Values are stored as somebody wrote them. Variables in them
// (see [expand]) are replaced when the server starts, so that secrets need not be stored.
type Definition struct {
	ID      string            `json:"id"`                // chosen by the operator; its tools have the ids id:name
	Command string            `json:"command,omitempty"` // an absolute path; empty: the server has a URL
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Inherit []string          `json:"inherit,omitempty"` // names of further environment variables that are passed on
	Dir     string            `json:"dir,omitempty"`     // working directory; empty: the user's home

	URL     string            `json:"url,omitempty"`
	SSE     bool              `json:"sse,omitempty"` // the URL uses the HTTP+SSE transport of 2024
	Headers map[string]string `json:"headers,omitempty"`

	StartTimeout float64 `json:"start_timeout,omitempty"` // seconds until the handshake; 0: the value of Options
	CallTimeout  float64 `json:"call_timeout,omitempty"`  // seconds of a call without progress; 0: the value of Options

	// Reserved allows addresses that are otherwise refused: those of link-local, shared and reserved networks, where
	// clouds serve credentials and some private networks have their machines.
	Reserved bool `json:"reserved,omitempty"`
}

// Alike reports whether the id of a server can be confused with one of others or with a reserved one.
func Alike(id string, others []string) bool {
	return slices.ContainsFunc(slices.Concat(reserved, others), func(other string) bool { return catalog.Skeleton(other) == catalog.Skeleton(id) })
}

// MaxServerID is the longest id of a server, in bytes.
const MaxServerID = 32

// serverID matches the ids that an operator may give a server. The id is a prefix of the name of each tool, also in the
// names that hosts display.
var serverID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`)

// reserved are the ids that would make the tools of a server look like those of Waymark or of a host.
var reserved = slices.Concat(catalog.Reserved, []string{"mcp", "local"})

// Check returns the first error in a definition.
func (d *Definition) Check() error {
	if !serverID.MatchString(d.ID) {
		return fmt.Errorf("server id %q is not 1 to 32 of A-Z a-z 0-9 . _ -, letters or digits first", d.ID)
	}
	if Alike(d.ID, nil) {
		return fmt.Errorf("server id %q is reserved", d.ID)
	}
	for _, t := range []float64{d.StartTimeout, d.CallTimeout} {
		if !(t >= 0 && t <= longestCall.Seconds()) {
			return fmt.Errorf("server %q: the timeout %v is not 0 to %v seconds", d.ID, t, longestCall.Seconds())
		}
	}
	switch {
	case d.Command == "" && d.URL == "":
		return fmt.Errorf("server %q has neither a command nor a URL", d.ID)
	case d.Command != "" && d.URL != "":
		return fmt.Errorf("server %q has both a command and a URL", d.ID)
	case d.URL != "":
		return d.checkURL()
	}
	if !filepath.IsAbs(d.Command) {
		return fmt.Errorf("server %q: the command %q is not an absolute path", d.ID, d.Command)
	}
	for _, name := range d.variables() {
		if !variableName.MatchString(name) {
			return fmt.Errorf("server %q: %q is not a name of a variable", d.ID, name)
		}
		if loads(name) {
			return fmt.Errorf("server %q: the variable %s makes programs load other code, so it is not passed on", d.ID, name)
		}
	}
	for _, text := range append([]string{d.Command, d.Dir}, d.Args...) {
		if strings.ContainsRune(text, 0) {
			return fmt.Errorf("server %q: the command line holds a zero byte", d.ID)
		}
	}
	return nil
}

// checkURL checks the URL and the headers. It rejects those that would send a credential unencrypted over a network.
func (d *Definition) checkURL() error {
	u, err := url.Parse(d.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("server %q: its URL is not http(s)://host/…", d.ID)
	}
	if err := endpoint.CheckHost(u.Hostname(), true); err != nil && (!d.Reserved || !errors.Is(err, endpoint.ErrAddress)) {
		return fmt.Errorf("server %q: %w", d.ID, err)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(d.Headers[name]) {
			return fmt.Errorf("server %q: the header %q has a name or value that HTTP does not allow", d.ID, name)
		}
		if slices.Contains(framing, http.CanonicalHeaderKey(name)) {
			return fmt.Errorf("server %q: the header %s belongs to the connection and cannot be set", d.ID, name)
		}
	}
	if u.User != nil {
		return fmt.Errorf("server %q: its URL holds a password; use a header with ${VARIABLE}", d.ID)
	}
	if u.Scheme == "http" && len(d.Headers) > 0 && !IsLoopback(u.Hostname()) {
		return fmt.Errorf("server %q: headers are not sent over unencrypted http to %s", d.ID, u.Hostname())
	}
	return nil
}

// framing are the headers that control the destination and the end of a request.
var framing = []string{"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// IsLoopback reports whether a host is this machine.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// variables returns the names of all variables that the definition sets or passes on, sorted.
func (d *Definition) variables() []string {
	names := append(slices.Collect(maps.Keys(d.Env)), d.Inherit...)
	slices.Sort(names)
	return slices.Compact(names)
}

// Digest identifies the definition to which somebody agreed: the command, its arguments, its directory and the names of
// its variables, or the URL and the names of its headers. Values of variables and headers are excluded, because they
// change with every new password.
func (d *Definition) Digest() string {
	agreed, _ := json.Marshal(struct { // strings only: cannot fail
		ID, Command string
		Args        []string
		Dir         string
		Variables   []string
		URL         string
		SSE         bool
		Headers     []string
		Reserved    bool `json:",omitempty"`
	}{d.ID, d.Command, d.Args, d.Dir, d.variables(), d.URL, d.SSE, slices.Sorted(maps.Keys(d.Headers)), d.Reserved})
	sum := sha256.Sum256(agreed)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Shown returns the content of the digest for a person to read before agreeing: the exact command line, with quotes
// around each argument that could be misread, or the URL.
func (d *Definition) Shown() string {
	var b strings.Builder
	if d.URL != "" {
		fmt.Fprintf(&b, "connect to %s", visible(d.URL))
		if names := slices.Sorted(maps.Keys(d.Headers)); len(names) > 0 {
			fmt.Fprintf(&b, "\n  with headers %s", visible(strings.Join(names, ", ")))
		}
		if d.Reserved {
			b.WriteString("\n  RESERVED ADDRESSES ALLOWED: clouds keep credentials there")
		}
		if strings.HasPrefix(d.URL, "http:") {
			if u, err := url.Parse(d.URL); err == nil && !IsLoopback(u.Hostname()) {
				b.WriteString("\n  NOT ENCRYPTED: others on the network can read and change what is sent")
			}
		}
		return b.String()
	}
	b.WriteString("run " + quoted(d.Command))
	for _, a := range d.Args {
		b.WriteString(" " + quoted(a))
	}
	if d.Dir != "" {
		fmt.Fprintf(&b, "\n  in %s", visible(d.Dir))
	}
	if names := d.variables(); len(names) > 0 {
		fmt.Fprintf(&b, "\n  with the variables %s", visible(strings.Join(names, ", ")))
	}
	if isShell(d.Command) {
		b.WriteString("\n  THIS IS A SHELL: it runs whatever its arguments say")
	}
	return b.String()
}

// Listed is Shown with suspected secrets masked. It is for lists, which users paste elsewhere.
func (d *Definition) Listed() string {
	masked := *d
	masked.Args = slices.Clone(d.Args)
	for i, a := range masked.Args {
		name, _, assigned := strings.Cut(a, "=")
		switch {
		case i > 0 && redact.Names(masked.Args[i-1]) && !strings.HasPrefix(a, "-") && !reference.MatchString(a):
			masked.Args[i] = redact.Mark
		case assigned && redact.Names(name) && !reference.MatchString(a):
			masked.Args[i] = name + "=" + redact.Mark
		default:
			masked.Args[i] = redact.Text(a)
		}
	}
	masked.Command, masked.Dir, masked.URL = redact.Text(d.Command), redact.Text(d.Dir), redact.URL(d.URL)
	return masked.Shown()
}

func isShell(command string) bool {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(command)), ".exe")
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "fish", "ksh", "cmd", "powershell", "pwsh"}, name)
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9@%+=:,./_${}-]+$`)

// quoted puts a word in quotes unless all its characters are plain, so that its start and end are visible.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return fmt.Sprintf("%q", word)
}

// visible escapes a text so that nothing in it moves the cursor or is hidden.
func visible(s string) string {
	q := fmt.Sprintf("%q", s)
	return q[1 : len(q)-1]
}

// reference matches the start of a variable in a text.
var reference = regexp.MustCompile(`\$\{(?:env:)?[A-Za-z_][A-Za-z0-9_]*|\{env:[A-Za-z_][A-Za-z0-9_]*\}`)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// opening matches the start of a placeholder. placeholder matches its content: a name, and a default for a variable
// that is not set.
var (
	opening     = regexp.MustCompile(`\$\{|\{env:`)
	placeholder = regexp.MustCompile(`(?s)^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:?-(.*))?$`)
)

// expand replaces the variables of a text by their values: ${NAME}, ${env:NAME}, {env:NAME}, and with a default
// ${NAME:-text}, which may contain variables, too. A variable with neither a value nor a default is an error, because
// an empty password would stay unnoticed for long. A placeholder that only a host can fill in, such as ${input:key}, is
// also an error.
func expand(text string, lookup func(string) (string, bool)) (string, error) {
	at := opening.FindStringIndex(text)
	if at == nil {
		return text, nil
	}
	open := at[0] + strings.IndexByte(text[at[0]:], '{')
	end, depth := open, 0
	for ; end < len(text); end++ {
		if text[end] == '{' {
			depth++
		} else if text[end] == '}' {
			depth--
		}
		if depth == 0 {
			break
		}
	}
	if end == len(text) {
		return "", fmt.Errorf("%s is not closed", catalog.Cut(text[at[0]:], 40))
	}
	value, err := valueOf(text[open+1:end], lookup)
	if err != nil {
		return "", err
	}
	rest, err := expand(text[end+1:], lookup)
	return text[:at[0]] + value + rest, err
}

func valueOf(inside string, lookup func(string) (string, bool)) (string, error) {
	m := placeholder.FindStringSubmatch(inside)
	switch {
	case inside == "userHome":
		return os.UserHomeDir()
	case m == nil, inside == "workspaceFolder":
		return "", fmt.Errorf("${%s} is filled in by a host: write its value, or ${NAME} for a variable", catalog.Cut(inside, 40))
	}
	value, ok := lookup(m[1])
	switch {
	case ok:
		return value, nil
	case m[2] != "":
		return expand(m[3], lookup)
	}
	return "", fmt.Errorf("the variable %s is not set", m[1])
}

// CheckPlaceholders returns an error if there is a placeholder that no variable can fill.
func (d *Definition) CheckPlaceholders() error {
	_, err := d.expanded(func(string) (string, bool) { return "1", true })
	if err != nil {
		return fmt.Errorf("server %q: %w", d.ID, err)
	}
	return nil
}

// expanded returns the definition with its variables replaced.
func (d Definition) expanded(lookup func(string) (string, bool)) (Definition, error) {
	var errs []error
	fill := func(what, text string) string {
		out, err := expand(text, lookup)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
		return out
	}
	table := func(what string, in map[string]string) map[string]string {
		out := make(map[string]string, len(in))
		for _, name := range slices.Sorted(maps.Keys(in)) {
			out[name] = fill(what+" "+name, in[name])
		}
		return out
	}
	args := make([]string, len(d.Args))
	for i, a := range d.Args {
		args[i] = fill(fmt.Sprintf("argument %d", i+1), a)
	}
	d.Args, d.Env, d.Headers = args, table("variable", d.Env), table("header", d.Headers)
	d.Dir, d.URL = fill("dir", d.Dir), fill("url", d.URL)
	if err := errors.Join(errs...); err != nil {
		return Definition{}, err
	}
	if d.Command != "" {
		return d, nil
	}
	return d, d.checkURL() // the host may have come from a variable
}

// environment returns the environment of a child: the variables that programs need in general, and those that the
// definition names. Keys of Waymark and settings of other programs are not passed on.
func (d *Definition) environment(lookup func(string) (string, bool)) []string {
	set := map[string]string{}
	for _, name := range append(slices.Clone(alwaysPassed), d.Inherit...) {
		if value, ok := lookup(name); ok && !loads(name) {
			set[name] = value
		}
	}
	maps.Copy(set, d.Env)
	env := make([]string, 0, len(set))
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	return env
}

var alwaysPassed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TERM", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR",
	"SystemRoot", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES", "PROGRAMDATA",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
}

// loads reports whether a variable can make a program load code other than its own.
func loads(name string) bool {
	n := strings.ToUpper(name)
	for _, prefix := range []string{"LD_", "DYLD_", "BASH_FUNC_", "GLIBC_", "MALLOC_"} {
		if strings.HasPrefix(n, prefix) {
			return true
		}
	}
	return slices.Contains([]string{
		"NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT",
		"PERL5LIB", "PERL5OPT", "PERL5DB", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH",
		"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "IFS", "PROMPT_COMMAND", "GCONV_PATH", "GIT_EXEC_PATH", "GIT_SSH", "GIT_SSH_COMMAND",
		"DOTNET_STARTUP_HOOKS", "COMPLUS_VERSION", "LUA_INIT", "PHPRC", "PHP_INI_SCAN_DIR", "GOFLAGS", "GOROOT", "R_PROFILE", "R_HOME",
	}, n)
}

// DefinitionsFile is the file of the definitions in the data directory. It is not in the database, because it can
// contain passwords, which must not be in a backup. Nothing that comes over a network writes it.
const DefinitionsFile = "gateway.json"

type definitions struct {
	Workspaces map[string]Workspace `json:"workspaces"`
}

// Workspace is the content of the file for one workspace.
type Workspace struct {
	Servers []Definition        `json:"servers"`
	Agents  map[string][]string `json:"agents,omitempty"` // tool sets: patterns of tool ids by agent
}

// ReadDefinitions reads the servers and the tool sets of a workspace from a data directory. It is no error if there are
// none.
func ReadDefinitions(dir, workspace string) (Workspace, error) {
	all, err := readDefinitions(dir)
	return all.Workspaces[workspace], err
}

func readDefinitions(dir string) (definitions, error) {
	all := definitions{Workspaces: map[string]Workspace{}}
	if err := readPrivate(dir, DefinitionsFile, &all); err != nil {
		return all, err
	}
	for workspace, w := range all.Workspaces {
		for i := range w.Servers {
			if err := w.Servers[i].Check(); err != nil {
				return all, fmt.Errorf("%s: workspace %q: %w", filepath.Join(dir, DefinitionsFile), workspace, err)
			}
		}
		for name, patterns := range w.Agents {
			if !serverID.MatchString(name) || len(patterns) == 0 || slices.Contains(patterns, "") {
				return all, fmt.Errorf("%s: workspace %q: agent %q needs a name of 1 to 32 of A-Z a-z 0-9 . _ - and patterns of tools such as github:*", filepath.Join(dir, DefinitionsFile), workspace, name)
			}
		}
	}
	return all, nil
}

// WriteDefinitions replaces the servers of a workspace. Only the owner of the directory can read the file.
func WriteDefinitions(dir, workspace string, defs []Definition) error {
	all, err := readDefinitions(dir)
	if err != nil {
		return err
	}
	defs = slices.Clone(defs)
	slices.SortFunc(defs, func(a, b Definition) int { return strings.Compare(a.ID, b.ID) })
	agents := all.Workspaces[workspace].Agents
	if len(defs) == 0 && len(agents) == 0 {
		delete(all.Workspaces, workspace)
	} else {
		all.Workspaces[workspace] = Workspace{defs, agents}
	}
	return writePrivate(dir, DefinitionsFile, all)
}

// readPrivate reads a file of the data directory. A missing file is no error, and leaves into unchanged.
func readPrivate(dir, name string, into any) error {
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = codec.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// writePrivate replaces a file of the data directory, readable by its owner alone.
func writePrivate(dir, name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return storage.ReplaceFile(filepath.Join(dir, name), append(text, '\n'))
}
