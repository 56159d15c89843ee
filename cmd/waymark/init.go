package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/tailscale/hujson"

	"waymark/gateway"
	"waymark/ingest/report"
)

// hostKind is a program that init writes configuration for: where it belongs, and its form. Files are named from the home
// directory, and from the directory of a project; "" is none.
type hostKind struct {
	name          string
	servers       string // the member that holds servers
	user, project string
	hooks         string   // file of hooks, of a user and of a project
	events        []string // that are hooked
	flat          bool     // a hook is no group of hooks
}

var hosts = []hostKind{
	{"claude-code", "mcpServers", ".claude.json", ".mcp.json", ".claude/settings.json",
		[]string{"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionStart", "SessionEnd"}, false},
	{"claude-desktop", "mcpServers", "EDITORS/Claude/claude_desktop_config.json", "", "", nil, false},
	{"cursor", "mcpServers", ".cursor/mcp.json", ".cursor/mcp.json", ".cursor/hooks.json",
		[]string{"sessionStart", "beforeSubmitPrompt", "postToolUse", "postToolUseFailure", "sessionEnd"}, true},
	{"vscode", "servers", "EDITORS/Code/User/mcp.json", ".vscode/mcp.json", "", nil, false},
	{"codex", "mcp_servers", ".codex/config.toml", "", ".codex/hooks.json", []string{"PreToolUse", "PostToolUse", "UserPromptSubmit"}, false},
}

// toml reports whether the servers of a host are in TOML.
func (h hostKind) toml() bool { return strings.HasSuffix(h.user, ".toml") }

// initOptions say what is written, and where.
type initOptions struct {
	host, url           string
	hook, whisper       bool
	print, project, yes bool
	replace             bool // a server of this name that somebody else wrote
}

func (a *app) initCommand() *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write the configuration by which a host finds Waymark",
		Long: `Adds Waymark to the MCP servers in a host's configuration, or with --url a server that runs. The difference is shown
first, and nothing else in the file is touched; --print only shows it. With --hook also the hooks
that let Waymark learn from every call the host makes; with --whisper these may also tell the model one line where the
history gives reason to (docs/feeds.md). Where servers were added to the gateway (waymark gateway add)
Waymark connects them. A server named waymark that init did not write is only replaced with --replace. waymark uninit
takes everything out again.`,
		Example: `  waymark init --host claude-code --hook
  waymark init --host codex --whisper
  waymark init --host cursor --project --yes
  waymark init --host vscode --url http://127.0.0.1:7070/mcp --print`,
		RunE: func(*cobra.Command, []string) error {
			o.hook = o.hook || o.whisper
			h, files, err := a.hostFiles(o, o.hook)
			if err != nil {
				return err
			}
			server, err := a.hostServer(h, o)
			if err != nil {
				return err
			}
			files[0].change = func(text []byte) ([]byte, error) { return h.withServer(text, server, o) }
			if o.hook {
				files[1].change = func(text []byte) ([]byte, error) { return h.withHooks(text, a.hostHooks(h, o.whisper)) }
			}
			return a.writeHost(files, o, false)
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.url, "url", "", "MCP `address` of a server that runs, instead of one that the host starts")
	f.BoolVar(&o.hook, "hook", false, "also add hooks")
	f.BoolVar(&o.whisper, "whisper", false, "also add hooks, which may tell the model one line")
	f.BoolVar(&o.replace, "replace", false, "also replace a server named waymark that init did not write")
	f.BoolVar(&o.print, "print", false, "only show what would change")
	return cmd
}

func (a *app) uninitCommand() *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "uninit",
		Short: "Take Waymark out of the configuration of a host",
		Long: `Undoes waymark init: takes the server waymark and Waymark's hooks out of the host's configuration, after showing the
difference. What is empty then goes as well; nothing else in the files is touched.`,
		Example: `  waymark uninit --host claude-code`,
		RunE: func(*cobra.Command, []string) error {
			h, files, err := a.hostFiles(o, false)
			if err != nil {
				return err
			}
			files[0].change = func(text []byte) ([]byte, error) { return h.withServer(text, nil, o) }
			if len(files) > 1 {
				files[1].change = func(text []byte) ([]byte, error) { return h.withHooks(text, nil) }
			}
			return a.writeHost(files, o, true)
		},
	}
	o.flags(cmd)
	cmd.Flags().StringVar(&o.url, "url", "", "`address` of a server elsewhere that is Waymark")
	return cmd
}

func (o *initOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.host, "host", "", "the `host`: "+strings.Join(hostNames(), ", "))
	f.BoolVar(&o.project, "project", false, "in the files of the project in this directory, instead of this user's")
	f.BoolVar(&o.yes, "yes", false, "write without asking")
}

// hostFile is a file of a host and how it changes.
type hostFile struct {
	path   string
	change func(text []byte) ([]byte, error)
}

// hostFiles are the files of the host that is named: of its servers and, where it has some or they are needed, of its hooks.
func (a *app) hostFiles(o initOptions, hooks bool) (h hostKind, files []hostFile, err error) {
	i := slices.Index(hostNames(), o.host)
	if i < 0 {
		return h, nil, usagef("unknown --host %q: want one of %s", o.host, strings.Join(hostNames(), ", "))
	}
	h = hosts[i]
	if hooks && h.hooks == "" {
		return h, nil, usagef("%s has no hooks that Waymark can read", h.name)
	}
	names := []string{h.user, h.hooks}
	if o.project {
		if names[0] = h.project; h.project == "" {
			return h, nil, usagef("%s keeps no such file in a project; leave out --project", h.name)
		}
	}
	m, err := thisMachine()
	if err != nil {
		return h, nil, err
	}
	for _, name := range names {
		f := hostFile{path: filepath.FromSlash(name)}
		if !o.project {
			f.path = m.File(name)
		}
		if f.path, err = filepath.Abs(f.path); err != nil { // the variables of a host may hold any path
			return h, nil, err
		}
		if real, err := filepath.EvalSymlinks(f.path); err == nil { // a link stays one
			f.path = real
		}
		if name != "" {
			files = append(files, f)
		}
	}
	return h, files, nil
}

func hostNames() []string {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.name
	}
	return names
}

func thisMachine() (m report.Machine, err error) {
	m = report.Machine{OS: runtime.GOOS, Env: os.Getenv}
	m.Home, err = os.UserHomeDir()
	return m, err
}

// hostServer is the server waymark as the host has to write it.
func (a *app) hostServer(h hostKind, o initOptions) (map[string]any, error) {
	if h.name == "claude-desktop" && o.url != "" {
		return nil, usagef("claude_desktop_config.json takes only servers that the host starts; add an address in its settings")
	}
	if u, err := url.Parse(o.url); o.url != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return nil, usagef("--url %q: want the address of an MCP server, such as http://127.0.0.1:7070/mcp", o.url)
	}
	dir, defs, err := a.defined()
	if err != nil {
		return nil, err
	}
	arguments := []any{"mcp", "--data", dir}
	if a.workspace != "default" {
		arguments = append(arguments, "--workspace", a.workspace)
	}
	if len(defs) > 0 { // somebody wants them started
		arguments = append(arguments, "--connect")
	}
	server, kind := map[string]any{"command": programPath(), "args": arguments}, "stdio"
	if o.url != "" {
		server, kind = map[string]any{"url": o.url}, "http"
	}
	if h.name == "vscode" || h.name == "claude-code" && o.url != "" {
		server["type"] = kind
	}
	return server, nil
}

// writeHost shows how the files of a host change, asks, and changes them. With undo, a file that cannot be changed does not
// keep the others from it.
func (a *app) writeHost(files []hostFile, o initOptions, undo bool) (left error) {
	changed, after, shown, to := []string{}, map[string][]byte{}, map[string]string{}, a.errs
	if o.print && !a.json {
		to = a.out
	}
	for _, f := range files {
		before, err := a.readFile(f.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if f.change == nil || undo && !bytes.Contains(before, []byte("waymark")) { // nothing to take out, whatever the file holds
			continue
		}
		text, err := f.change(before)
		switch {
		case err != nil && undo:
			left = errors.Join(left, rejected{fmt.Errorf("%s cannot be changed: %w; take waymark out of it by hand", f.path, err)})
		case err != nil:
			return rejected{fmt.Errorf("%s cannot be changed: %w", f.path, err)}
		case !bytes.Equal(before, text):
			changed, after[f.path] = append(changed, f.path), text
			shown[f.path] = difference(before, text)
			fmt.Fprintf(to, "%s\n%s\n", f.path, shown[f.path])
		}
	}
	switch {
	case o.print && a.json:
		return a.printValue(shown)
	case o.print && len(changed) > 0:
		return nil
	case len(changed) > 0:
		if err := a.confirm(o.yes, "Write this?"); err != nil {
			return err
		}
	}
	for _, path := range changed {
		if err := writeEdit(path, after[path]); err != nil {
			return err
		}
	}
	switch {
	case a.json:
		return errors.Join(a.printValue(map[string]any{"changed": changed}), left)
	case len(changed) == 0 && left == nil:
		a.printf("nothing to change\n")
	}
	for _, path := range changed {
		a.printf("changed %s\n", clean(path))
	}
	return left
}

func writeEdit(path string, text []byte) error {
	if text == nil {
		return os.Remove(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := replaceFile(path, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

// ownMembers are those of a server that init writes; the others of one that is there already stay.
var ownMembers = []string{"command", "args", "url", "type"}

// serverIn is the server waymark in a file, nil where there is none.
func (h hostKind) serverIn(text []byte) (map[string]any, error) {
	var all map[string]any
	decode := toml.Unmarshal
	if !h.toml() {
		decode = json.Unmarshal
		if text = bytes.TrimPrefix(text, []byte(byteOrderMark)); len(bytes.TrimSpace(text)) == 0 {
			return nil, nil
		}
		var err error
		if text, err = hujson.Standardize(bytes.Clone(text)); err != nil {
			return nil, err
		}
	}
	if err := decode(text, &all); err != nil {
		return nil, err
	}
	servers, ok := all[h.servers].(map[string]any)
	if !ok && all[h.servers] != nil {
		return nil, fmt.Errorf("its %q is no object", h.servers)
	}
	server, ok := servers["waymark"].(map[string]any)
	if !ok && servers["waymark"] != nil {
		return nil, errors.New("its server \"waymark\" is no object")
	}
	return server, nil
}

// runsWaymark reports whether a server is Waymark, as far as can be seen, or none: the command of Waymark, an address of
// this machine, or the one named.
func runsWaymark(server map[string]any, address string) bool {
	command, _ := server["command"].(string)
	there, _ := server["url"].(string)
	if command == "" {
		u, err := url.Parse(there)
		return len(server) == 0 || there != "" && there == address || err == nil && strings.HasSuffix(u.Path, "/mcp") && gateway.IsLoopback(u.Hostname())
	}
	args, _ := server["args"].([]any)
	name := strings.TrimSuffix(command[strings.LastIndexAny(command, `/\`)+1:], ".exe")
	return (name == "waymark" || command == programPath()) && len(args) > 0 && args[0] == "mcp"
}

// withServer puts a server in the place of the server waymark, or takes that out: one that is Waymark, or any that is to
// be replaced. What a user added to one that is Waymark stays.
func (h hostKind) withServer(text []byte, server map[string]any, o initOptions) (after []byte, err error) {
	there, err := h.serverIn(text)
	own := runsWaymark(there, o.url)
	shown, _ := json.Marshal(there) // it was decoded
	switch {
	case err != nil:
		return nil, err
	case !own && server == nil:
		return nil, fmt.Errorf("its server \"waymark\" is not known as Waymark: %s (if it is: uninit --url ADDRESS)", shown)
	case !own && !o.replace:
		return nil, fmt.Errorf("waymark init did not write its server \"waymark\": %s; rename it there, or replace it with --replace", shown)
	}
	if server != nil && own && there != nil {
		now := maps.Clone(there)
		maps.DeleteFunc(now, func(name string, _ any) bool { return slices.Contains(ownMembers, name) })
		maps.Copy(now, server)
		server = now
	}
	switch {
	case reflect.DeepEqual(there, server):
		return text, nil
	case h.toml():
		after, err = setTable(text, h.servers+".waymark", server)
	default:
		after, err = editJSON(text, func(root *hujson.Object, unit string) error {
			servers, err := objectIn(root, h.servers, unit, server != nil)
			switch {
			case err != nil:
			case server != nil:
				setMember(servers, "waymark", server, 2, unit)
			default:
				if removeMember(servers, "waymark"); len(servers.Members) == 0 {
					removeMember(root, h.servers)
				}
			}
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	if now, err := h.serverIn(after); err != nil || !reflect.DeepEqual(now, server) {
		return nil, errors.New("its servers are written in a form that is not changed here, such as an inline table, dotted or quoted keys")
	}
	return after, nil
}

var ownCommand = regexp.MustCompile(`(^|[/\\'"])waymark-hook(\.exe)?['"]? --host `)

// withHooks puts hooks in the place of those of Waymark that are there; those of others stay.
func (h hostKind) withHooks(text []byte, hooks map[string]any) ([]byte, error) {
	return editJSON(text, func(root *hujson.Object, unit string) error {
		there, err := objectIn(root, "hooks", unit, hooks != nil)
		if err != nil {
			return err
		}
		written := map[string]bool{} // events whose hooks are there as they should be
		for _, m := range slices.Clone(there.Members) {
			event := m.Name.Value.(hujson.Literal).String()
			groups, ok := m.Value.Value.(*hujson.Array)
			if !ok {
				return errors.New("its hooks are no lists by event")
			}
			was := len(groups.Elements)
			groups.Elements = slices.DeleteFunc(groups.Elements, func(g hujson.Value) bool {
				if hooks[event] != nil && !written[event] && sameValue(g, hooks[event]) {
					written[event] = true
					return false
				}
				return withoutOwn(g)
			})
			if was > 0 && len(groups.Elements) == 0 {
				removeMember(there, event)
			}
		}
		for _, event := range slices.Sorted(maps.Keys(hooks)) {
			groups := memberOf(there, event)
			switch {
			case written[event]:
			case groups != nil:
				appendTo(groups.Value.(*hujson.Array), hooks[event], 3, unit)
			default:
				setMember(there, event, []any{hooks[event]}, 2, unit)
			}
		}
		switch {
		case h.flat && hooks != nil && memberOf(root, "version") == nil:
			setMember(root, "version", 1, 1, unit)
		case hooks == nil && len(there.Members) == 0:
			if removeMember(root, "hooks"); h.flat && len(root.Members) == 1 {
				removeMember(root, "version")
			}
		}
		return nil
	})
}

// withoutOwn takes the hooks of Waymark out of a group, and reports whether nothing is left of it, or it is such a hook.
func withoutOwn(group hujson.Value) bool {
	object, ok := group.Value.(*hujson.Object)
	if !ok {
		return false
	}
	if inner := memberOf(object, "hooks"); inner != nil {
		list, ok := inner.Value.(*hujson.Array)
		if !ok || len(list.Elements) == 0 {
			return false
		}
		list.Elements = slices.DeleteFunc(list.Elements, withoutOwn)
		return len(list.Elements) == 0
	}
	command := memberOf(object, "command")
	if command == nil {
		return false
	}
	text, ok := command.Value.(hujson.Literal)
	return ok && ownCommand.MatchString(text.String())
}

// sameValue compares a value of a file with one that would be written.
func sameValue(there hujson.Value, value any) bool {
	there = there.Clone()
	there.Standardize()
	var x, y any
	text, err := json.Marshal(value)
	return err == nil && json.Unmarshal(there.Pack(), &x) == nil && json.Unmarshal(text, &y) == nil && reflect.DeepEqual(x, y)
}

// hostHooks are the hooks of a host by event.
func (a *app) hostHooks(h hostKind, whisper bool) map[string]any {
	line := a.hookLine(h.name)
	if whisper {
		line += " --whisper"
	}
	hooks := map[string]any{}
	for _, event := range h.events {
		if h.flat {
			hooks[event] = map[string]any{"command": line, "timeout": 5}
			continue
		}
		group := map[string]any{"hooks": []any{map[string]any{"type": "command", "command": line, "timeout": 5}}}
		if strings.Contains(event, "ToolUse") {
			group["matcher"] = "*"
		}
		hooks[event] = group
	}
	return hooks
}

// hookLine is the command of a hook: waymark-hook, beside this program or in PATH.
func (a *app) hookLine(host string) string {
	hook := filepath.Join(filepath.Dir(programPath()), "waymark-hook")
	if runtime.GOOS == "windows" {
		hook += ".exe"
	}
	if !isFile(hook) {
		if found, err := exec.LookPath("waymark-hook"); err == nil {
			hook = found
		} else {
			fmt.Fprintf(a.errs, "waymark: %s is not there, nor is waymark-hook in PATH: hooks record nothing until it is (make build makes it)\n", hook)
		}
	}
	dir, _ := filepath.Abs(a.data) // it was found before
	words := []string{hook, "--host", host, "--data", dir}
	if a.workspace != "default" {
		words = append(words, "--workspace", a.workspace)
	}
	for i, w := range words {
		words[i] = shellWord(w)
	}
	return strings.Join(words, " ")
}

// shellWord quotes a word where a shell would read it as anything but itself.
func shellWord(w string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:=+@%", r)
	}
	if w != "" && !strings.ContainsFunc(w, func(r rune) bool { return !plain(r) }) {
		return w
	}
	if runtime.GOOS == "windows" {
		return `"` + w + `"` // no path holds a quote there
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// programPath is how a host starts this program.
func programPath() string {
	if path, err := os.Executable(); err == nil {
		return path
	}
	return "waymark"
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
