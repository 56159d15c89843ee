package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
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
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
	"github.com/tailscale/hujson"

	"waymark/ingest/report"
	"waymark/live"
	"waymark/storage"
)

// hostKind describes a host that init writes configuration for: the places and the form of its files. Paths are
// relative to the home directory, or to the directory of a project; "" means that there is no such file.
type hostKind struct {
	name          string
	servers       string // the member that holds servers
	user, project string
	hooks         string   // file of hooks, of a user and of a project
	events        []string // that are hooked
	flat          bool     // hooks are not in groups
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

// initOptions are the flags of init and uninit.
type initOptions struct {
	host, url     string
	hook, whisper bool
	print         bool
	project       bool
}

func (a *app) initCommand() *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Add Waymark to the configuration of a host",
		Long: `Adds the server waymark to the MCP servers in a host's configuration, after showing the difference; the rest of the file
does not change. --hook adds hooks that record the calls of the host; --whisper lets these hooks also give the model one
line of advice. The server connects the servers of the gateway. waymark uninit reverts all of this.`,
		Example: `  waymark init --host claude-code --hook
  waymark init --host cursor --project --yes
  waymark init --host vscode --url http://127.0.0.1:7070/mcp --print`,
		RunE: func(*cobra.Command, []string) error { return a.writeHost(o, false) },
	}
	a.hostFlags(cmd, &o)
	f := cmd.Flags()
	f.StringVar(&o.url, "url", "", "MCP `address` of a running server, instead of one that the host starts")
	f.BoolVar(&o.hook, "hook", false, "also add hooks")
	f.BoolVar(&o.whisper, "whisper", false, "also add hooks that may give the model one line of advice")
	f.BoolVar(&o.print, "print", false, "only show the changes")
	return cmd
}

func (a *app) uninitCommand() *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:     "uninit",
		Short:   "Remove Waymark from the configuration of a host",
		Long:    `Removes the server waymark and Waymark's hooks from the host's configuration, after showing the difference.`,
		Example: `  waymark uninit --host claude-code`,
		RunE:    func(*cobra.Command, []string) error { return a.writeHost(o, true) },
	}
	a.hostFlags(cmd, &o)
	return cmd
}

func (a *app) hostFlags(cmd *cobra.Command, o *initOptions) {
	f := cmd.Flags()
	f.StringVar(&o.host, "host", "", "the `host`: "+strings.Join(hostNames(), ", "))
	f.BoolVar(&o.project, "project", false, "write the files of the project in this directory, not those of the user")
	f.BoolVar(&a.yes, "yes", false, "write without asking")
}

// hostFile is a file of a host and its change.
type hostFile struct {
	path   string
	change func(text []byte) ([]byte, error)
	after  []byte // nil: the file is removed
}

// hostFiles returns the files to change for a host: the file of its servers and, if hooks are added or removed, that of
// its hooks.
func (a *app) hostFiles(o initOptions, undo bool) (files []hostFile, err error) {
	i := slices.Index(hostNames(), o.host)
	if i < 0 {
		return nil, usagef("unknown --host %q: want one of %s", o.host, strings.Join(hostNames(), ", "))
	}
	h, hooked := hosts[i], o.hook || o.whisper
	servers := h.user
	if o.project {
		servers = h.project
	}
	switch {
	case hooked && h.hooks == "":
		return nil, usagef("%s has no hooks that Waymark can read", h.name)
	case servers == "":
		return nil, usagef("%s keeps no such file in a project; leave out --project", h.name)
	}
	var server, hooks map[string]any // nil to undo
	if !undo {
		server, err = a.hostServer(h, o)
	}
	if err == nil && hooked {
		hooks = a.hostHooks(h, o.whisper)
	}
	files = []hostFile{{path: servers, change: func(text []byte) ([]byte, error) { return h.withServer(text, server) }}}
	if hooked || undo && h.hooks != "" {
		files = append(files, hostFile{path: h.hooks, change: func(text []byte) ([]byte, error) { return h.withHooks(text, hooks) }})
	}
	m, wrong := thisMachine()
	for i := range files {
		f := &files[i]
		path := filepath.FromSlash(f.path)
		if !o.project {
			path = m.File(f.path)
		}
		path, failed := filepath.Abs(path) // the variables of a host may hold any path
		if f.path, err = path, cmp.Or(err, wrong, failed); err != nil {
			return nil, err
		}
		if real, err := filepath.EvalSymlinks(path); err == nil { // a link is kept
			f.path = real
		}
	}
	return files, nil
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

// hostServer returns the entry of the server waymark in the form of the host.
func (a *app) hostServer(h hostKind, o initOptions) (map[string]any, error) {
	if h.name == "claude-desktop" && o.url != "" {
		return nil, usagef("claude_desktop_config.json takes only servers that the host starts; add an address in its settings")
	}
	if u, err := url.Parse(o.url); o.url != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return nil, usagef("--url %q: want the address of an MCP server, such as http://127.0.0.1:7070/mcp", o.url)
	}
	program := programPath()
	if strings.Contains(filepath.ToSlash(program), "/_npx/") && (o.url == "" || o.hook || o.whisper) {
		return nil, usagef("npm empties its cache, so a host would not find %s there again: install waymark outside of it (make install, or a package), then run waymark init", program)
	}
	dir, defs, err := a.defined()
	if err != nil {
		return nil, err
	}
	arguments := []any{"mcp", "--data", dir}
	if a.workspace != "default" {
		arguments = append(arguments, "--workspace", a.workspace)
	}
	if len(defs) > 0 { // start them, too
		arguments = append(arguments, "--connect")
	}
	server, kind := map[string]any{"command": program, "args": arguments}, "stdio"
	if o.url != "" {
		server, kind = map[string]any{"url": o.url}, "http"
	}
	if h.name == "vscode" || h.name == "claude-code" && o.url != "" {
		server["type"] = kind
	}
	return server, nil
}

// writeHost shows the changes of a host's files, asks, and writes them. If one file cannot be changed, the others are
// only changed with undo.
func (a *app) writeHost(o initOptions, undo bool) (failed error) {
	files, err := a.hostFiles(o, undo)
	if err != nil {
		return err
	}
	to, changed := a.errs, []string{}
	if o.print && !a.json {
		to = a.out
	}
	var changes []hostFile
	for _, f := range files {
		before, err := a.readFile(f.path)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		case undo && !bytes.Contains(before, []byte("waymark")): // nothing to take out, whatever the file holds
			continue
		}
		if f.after, err = f.change(before); err != nil {
			failed = errors.Join(failed, rejected{fmt.Errorf("%s cannot be changed: %w; do it by hand", f.path, err)})
		} else if !bytes.Equal(before, f.after) {
			changes, changed = append(changes, f), append(changed, f.path)
			fmt.Fprintf(to, "%s\n", diff.Diff(f.path, before, f.path, f.after))
		}
	}
	if failed != nil && !undo {
		return failed
	}
	if !o.print && len(changes) > 0 {
		if err := a.confirm("Write this?"); err != nil {
			return err
		}
		for _, f := range changes {
			if err := f.write(); err != nil {
				return err
			}
		}
	}
	switch {
	case a.json:
		return errors.Join(a.printValue(map[string]any{"changed": changed}), failed)
	case len(changed) == 0 && failed == nil:
		a.printf("nothing to change\n")
	case !o.print:
		for _, path := range changed {
			a.printf("changed %s\n", clean(path))
		}
	}
	return failed
}

func (f hostFile) write() error {
	if f.after == nil {
		return os.Remove(f.path)
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(f.path); err == nil {
		mode = info.Mode().Perm()
	}
	err := os.MkdirAll(filepath.Dir(f.path), 0o755)
	if err == nil {
		err = storage.ReplaceFile(f.path, f.after)
	}
	if err == nil {
		err = os.Chmod(f.path, mode)
	}
	return err
}

// serverIn returns the entry of the server waymark in a file, or nil if there is none.
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
	err := decode(text, &all)
	servers, _ := all[h.servers].(map[string]any)
	server, _ := servers["waymark"].(map[string]any)
	return server, err
}

// withServer replaces the entry of the server waymark, or removes it if server is nil. Other members that a user added
// to it, such as env, stay.
func (h hostKind) withServer(text []byte, server map[string]any) (after []byte, err error) {
	there, err := h.serverIn(text)
	if err != nil {
		return nil, err
	}
	if server = maps.Clone(server); server != nil {
		for name, value := range there {
			if !slices.Contains([]string{"command", "args", "url", "type"}, name) {
				server[name] = value
			}
		}
	}
	switch {
	case reflect.DeepEqual(there, server):
		return text, nil
	case h.toml():
		after, err = setTable(text, h.servers, "waymark", server)
	default:
		after, err = editJSON(text, func(root *hujson.Value, unit string) error {
			if server == nil {
				return drop(root, h.servers, "waymark")
			}
			return put(root, server, 0, unit, h.servers, "waymark")
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

// withHooks replaces the hooks of Waymark, or removes them if hooks is nil; those of others stay.
func (h hostKind) withHooks(text []byte, hooks map[string]any) ([]byte, error) {
	return editJSON(text, func(root *hujson.Value, unit string) error {
		there := root.Find("/hooks")
		if there == nil {
			there = &hujson.Value{}
		}
		dropped := false
		for _, m := range membersOf(there.Value) {
			groups, ok := m.value.(*hujson.Array)
			if !ok {
				return errors.New("its hooks are not lists by event")
			}
			if withoutOwn(groups) {
				dropped = true
				if err := drop(there, m.name); err != nil {
					return err
				}
			}
		}
		if dropped && hooks == nil && len(membersOf(there.Value)) == 0 {
			if err := drop(root, "hooks"); err != nil {
				return err
			}
		}
		for _, event := range slices.Sorted(maps.Keys(hooks)) {
			if groups := root.Find("/hooks/" + event); groups != nil {
				appendTo(groups.Value.(*hujson.Array), hooks[event], 3, unit)
			} else if err := put(root, []any{hooks[event]}, 0, unit, "hooks", event); err != nil {
				return err
			}
		}
		switch {
		case h.flat && hooks != nil && root.Find("/version") == nil:
			return put(root, 1, 0, unit, "version")
		case h.flat && hooks == nil && len(membersOf(root.Value)) == 1:
			return drop(root, "version")
		}
		return nil
	})
}

// withoutOwn removes the hooks of Waymark from a list of hooks, or of groups of them, and reports whether that emptied
// the list.
func withoutOwn(list *hujson.Array) bool {
	was := len(list.Elements)
	list.Elements = slices.DeleteFunc(list.Elements, func(hook hujson.ArrayElement) bool {
		if inner := hook.Find("/hooks"); inner != nil {
			group, ok := inner.Value.(*hujson.Array)
			return ok && withoutOwn(group)
		}
		command := hook.Find("/command")
		return command != nil && ownCommand.MatchString(text(command.Value, math.MaxInt))
	})
	return was > 0 && len(list.Elements) == 0
}

// hostHooks returns the hooks of a host by event.
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

// hookLine returns the command of a hook: waymark-hook, beside this program or in PATH.
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
		words[i] = live.ShellWord(w)
	}
	return strings.Join(words, " ")
}

// programPath returns the path by which a host starts this program.
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
