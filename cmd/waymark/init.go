package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"waymark/gateway"
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

// hostOptions are the flags of init and uninit.
type hostOptions struct {
	host, url                           string
	hook, whisper, print, project, undo bool
}

func (a *app) initCommand() *cobra.Command {
	return a.hostCommand(&cobra.Command{
		Use:   "init",
		Short: "Add Waymark to the configuration of a host",
		Long: `Adds the server waymark to the MCP servers in a host's configuration, after showing the difference; the rest of the file
does not change. --hook adds hooks that record the calls of the host; --whisper lets these hooks also give the model one
line of advice. The server connects the servers of the gateway. waymark uninit reverts all of this.`,
		Example: `  waymark init --host claude-code --hook
  waymark init --host vscode --url http://127.0.0.1:7070/mcp --print`,
	}, false)
}

func (a *app) uninitCommand() *cobra.Command {
	return a.hostCommand(&cobra.Command{
		Use:     "uninit",
		Short:   "Remove Waymark from the configuration of a host",
		Long:    `Removes the server waymark and Waymark's hooks from the host's configuration, after showing the difference.`,
		Example: `  waymark uninit --host claude-code`,
	}, true)
}

func (a *app) hostCommand(cmd *cobra.Command, undo bool) *cobra.Command {
	o, f := hostOptions{undo: undo}, cmd.Flags()
	f.StringVar(&o.host, "host", "", "the `host`: "+hostNames())
	f.BoolVar(&o.project, "project", false, "write the files of the project in this directory, not those of the user")
	f.BoolVar(&a.yes, "yes", false, "write without asking")
	if !undo {
		f.StringVar(&o.url, "url", "", "MCP `address` of a running server, instead of one that the host starts")
		f.BoolVar(&o.hook, "hook", false, "also add hooks")
		f.BoolVar(&o.whisper, "whisper", false, "also add hooks that may give the model one line of advice")
		f.BoolVar(&o.print, "print", false, "only show what would change")
	}
	cmd.RunE = func(*cobra.Command, []string) error { return a.changeHost(o) }
	return cmd
}

func hostNames() string {
	var names []string
	for _, h := range hosts {
		names = append(names, h.name)
	}
	return strings.Join(names, ", ")
}

// changeHost shows the changes of a host's files, asks, and writes them: the file of its servers and, if hooks are added or
// removed, that of its hooks. If one file cannot be changed, the other is only changed to undo.
func (a *app) changeHost(o hostOptions) (failed error) {
	i := slices.IndexFunc(hosts, func(h hostKind) bool { return h.name == o.host })
	if i < 0 {
		return usagef("unknown --host %q: want one of %s", o.host, hostNames())
	}
	h, hooked := hosts[i], o.hook || o.whisper
	path := map[bool]string{false: h.user, true: h.project}[o.project]
	switch {
	case hooked && h.hooks == "":
		return usagef("%s has no hooks that Waymark can read", h.name)
	case path == "":
		return usagef("%s keeps no such file in a project; leave out --project", h.name)
	}
	var server, hooks map[string]any // nil to undo
	if !o.undo {
		var err error
		if server, err = a.hostServer(h, o); err != nil {
			return err
		}
	}
	if hooked {
		hooks = a.hostHooks(h, o.whisper)
	}
	files := []hostFile{{path: path, change: func(text []byte) ([]byte, error) { return h.withServer(text, server) }}}
	if hooked || o.undo && h.hooks != "" {
		files = append(files, hostFile{path: h.hooks, change: func(text []byte) ([]byte, error) { return h.withHooks(text, hooks) }})
	}
	to, changed, paths := a.errs, []hostFile{}, []string{}
	if o.print && !a.json {
		to = a.out
	}
	for _, f := range files {
		var err error
		if f.path, err = hostPath(f.path, o.project); err != nil {
			return err
		}
		before, err := a.readFile(f.path)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		case o.undo && !bytes.Contains(before, []byte("waymark")): // nothing to take out, whatever the file holds
			continue
		}
		if f.after, err = f.change(before); err != nil {
			failed = errors.Join(failed, rejected{fmt.Errorf("%s cannot be changed: %w; do it by hand", f.path, err)})
		} else if !bytes.Equal(before, f.after) {
			changed, paths = append(changed, f), append(paths, clean(f.path))
			fmt.Fprintf(to, "%s\n", diff.Diff(f.path, before, f.path, f.after))
		}
	}
	if failed != nil && !o.undo {
		return failed
	}
	if len(changed) > 0 && !o.print {
		if err := a.confirm("Write this?"); err != nil {
			return err
		}
		for _, f := range changed {
			if err := f.write(); err != nil {
				return err
			}
		}
	}
	switch {
	case a.json:
		return cmp.Or(failed, a.printValue(map[string]any{"changed": paths}))
	case len(changed) == 0 && failed == nil:
		a.printf("nothing to change\n")
	case !o.print:
		for _, path := range paths {
			a.printf("changed %s\n", path)
		}
	}
	return failed
}

// hostFile is a file of a host and its change.
type hostFile struct {
	path   string
	change func(text []byte) ([]byte, error)
	after  []byte // nil: the file is removed
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
	return cmp.Or(err, os.Chmod(f.path, mode))
}

// hostPath returns the absolute path of a file of a host. A link is kept: the path is that of its target.
func hostPath(name string, project bool) (string, error) {
	m, err := thisMachine()
	path := filepath.FromSlash(name)
	if !project {
		path = m.File(name)
	}
	path, wrong := filepath.Abs(path) // the variables of a host may hold any path
	if target, failed := filepath.EvalSymlinks(path); failed == nil {
		path = target
	}
	return path, cmp.Or(err, wrong)
}

func thisMachine() (m report.Machine, err error) {
	m = report.Machine{OS: runtime.GOOS, Env: os.Getenv}
	m.Home, err = os.UserHomeDir()
	return m, err
}

// hostServer returns the entry of the server waymark in the form of the host.
func (a *app) hostServer(h hostKind, o hostOptions) (map[string]any, error) {
	if h.name == "claude-desktop" && o.url != "" {
		return nil, usagef("claude_desktop_config.json takes only servers that the host starts; add an address in its settings")
	}
	if u, err := url.Parse(o.url); o.url != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return nil, usagef("--url %q: want the address of an MCP server, such as http://127.0.0.1:7070/mcp", o.url)
	}
	program, err := os.Executable()
	if inCache.MatchString(filepath.ToSlash(program)) && (o.url == "" || o.hook || o.whisper) {
		return nil, usagef("%s is in a cache that is emptied, so a host would not find it again: "+
			"install waymark (make install, or a package), then run waymark init --host %s", program, h.name)
	}
	dir, wrong := filepath.Abs(a.data)
	defined, unread := gateway.ReadDefinitions(a.data, a.workspace)
	if err = cmp.Or(err, wrong, unread); err != nil {
		return nil, err
	}
	arguments := []any{"mcp", "--data", dir}
	if a.workspace != "default" {
		arguments = append(arguments, "--workspace", a.workspace)
	}
	if len(defined.Servers) > 0 { // start them, too
		arguments = append(arguments, "--connect")
	}
	server, kind := map[string]any{"command": lasting(program), "args": arguments}, "stdio"
	if o.url != "" {
		server, kind = map[string]any{"url": o.url}, "http"
	}
	if h.name == "vscode" || h.name == "claude-code" && o.url != "" {
		server["type"] = kind
	}
	return server, nil
}

// hostHooks returns the hooks of a host by event.
func (a *app) hostHooks(h hostKind, whisper bool) map[string]any {
	line := a.hookLine(h.name)
	if whisper {
		line += " --whisper"
	}
	hooks := map[string]any{}
	for _, event := range h.events {
		hook := map[string]any{"command": line, "timeout": 5}
		if !h.flat {
			hook["type"] = "command"
			hook = map[string]any{"hooks": []any{hook}}
		}
		if !h.flat && strings.Contains(event, "ToolUse") {
			hook["matcher"] = "*"
		}
		hooks[event] = hook
	}
	return hooks
}

// hookLine returns the command of a hook: waymark-hook, beside this program or in PATH.
func (a *app) hookLine(host string) string {
	program, _ := os.Executable() // it was found before
	hook := filepath.Join(filepath.Dir(program), "waymark-hook")
	if runtime.GOOS == "windows" {
		hook += ".exe"
	}
	if hook = lasting(hook); !isFile(hook) {
		if found, err := exec.LookPath("waymark-hook"); err == nil {
			hook = found
		} else {
			fmt.Fprintf(a.errs, "waymark: %s is not there, nor is waymark-hook in PATH: hooks record nothing until it is (make build makes it)\n", hook)
		}
	}
	dir, _ := filepath.Abs(a.data)
	words := []string{hook, "--host", host, "--data", dir}
	if a.workspace != "default" {
		words = append(words, "--workspace", a.workspace)
	}
	for i, w := range words {
		words[i] = live.ShellWord(w)
	}
	return strings.Join(words, " ")
}

// inCache matches the programs that npx, pnpm dlx, yarn dlx, bunx, uvx and go run start.
var inCache = regexp.MustCompile(`/(_npx|dlx(-[^/]*)?|bunx-[^/]*|archive-v\d+|go-build[^/]*)/`)

// lasting returns the path of a program in PATH if it is the same file: a package manager such as Homebrew puts each
// version in its own folder, and PATH leads to the newest one.
func lasting(path string) string {
	found, err := exec.LookPath(filepath.Base(path))
	if err != nil {
		return path
	}
	there, err := os.Stat(found)
	if here, wrong := os.Stat(path); err != nil || wrong != nil || !os.SameFile(here, there) {
		return path
	}
	return found
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
