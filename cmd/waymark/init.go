package main

import (
	"cmp"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/gateway"
	"waymark/ingest/report"
)

// hosts are the programs that init writes configuration for: where it belongs, and its form. Files are named from the
// home directory, and from the directory of a project; "" is none.
var hosts = []struct {
	name            string
	servers         string // the member that holds servers; "" is TOML
	user, project   string
	userHooks       string // file of hooks; "" for hosts without
	projectHooks    string
	events          []string // that are hooked
	flat            bool     // a hook is no group of hooks
	program, folder string   // by which an installed host is known: a command, or a folder from the home directory
}{
	{"claude-code", "mcpServers", ".claude.json", ".mcp.json", ".claude/settings.json", ".claude/settings.json",
		[]string{"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionStart", "SessionEnd"}, false, "claude", ".claude"},
	{"claude-desktop", "mcpServers", "EDITORS/Claude/claude_desktop_config.json", "", "", "", nil, false, "", "EDITORS/Claude"},
	{"cursor", "mcpServers", ".cursor/mcp.json", ".cursor/mcp.json", ".cursor/hooks.json", ".cursor/hooks.json",
		[]string{"sessionStart", "beforeSubmitPrompt", "postToolUse", "postToolUseFailure", "sessionEnd"}, true, "cursor", ".cursor"},
	{"vscode", "servers", "EDITORS/Code/User/mcp.json", ".vscode/mcp.json", "", "", nil, false, "code", "EDITORS/Code"},
	{"codex", "", ".codex/config.toml", "", ".codex/hooks.json", "",
		[]string{"PreToolUse", "PostToolUse", "UserPromptSubmit"}, false, "codex", ".codex"},
}

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
first, and nothing else in the file is touched; --print only prints what would be added. With --hook also the hooks
that let Waymark learn from every call the host makes; with --whisper these may also tell the model one line where the
history gives reason to (docs/feeds.md). Where servers were added to the gateway (waymark gateway add)
Waymark connects them. A server named waymark that init did not write, or whose arguments were changed, is only replaced
with --replace. waymark uninit takes everything out again.`,
		Example: `  waymark init --host claude-code --hook
  waymark init --host codex --whisper
  waymark init --host cursor --project --yes
  waymark init --host vscode --url http://127.0.0.1:7070/mcp --print`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			i, err := a.hostNamed("init", o.host)
			if err != nil {
				return err
			}
			o.hook = o.hook || o.whisper
			p, server, hooks, err := a.hostConfig(i, o)
			if err != nil {
				return err
			}
			if o.print {
				return a.printInit(p)
			}
			return a.writeHost(i, o, false, func(text []byte) ([]byte, error) {
				if err := replaceable(i, text, o); err != nil {
					return nil, err
				}
				return withServer(i, text, server, o.url)
			},
				func(text []byte) ([]byte, error) { return withHooks(text, hooks, hosts[i].flat) })
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.url, "url", "", "MCP `address` of a server that runs, instead of one that the host starts")
	f.BoolVar(&o.hook, "hook", false, "also add hooks")
	f.BoolVar(&o.whisper, "whisper", false, "also add hooks, which may tell the model one line")
	f.BoolVar(&o.replace, "replace", false, "also replace a server named waymark that init did not write")
	f.BoolVar(&o.print, "print", false, "only print what would be added")
	return cmd
}

func (a *app) uninitCommand() *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "uninit",
		Short: "Take Waymark out of the configuration of a host",
		Long: `Undoes waymark init: takes the server waymark and Waymark's hooks out of the host's configuration, after showing the
difference. Nothing else in the files is touched.`,
		Example: `  waymark uninit --host claude-code`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			i, err := a.hostNamed("uninit", o.host)
			if err != nil {
				return err
			}
			o.hook = hosts[i].userHooks != ""
			return a.writeHost(i, o, true, func(text []byte) ([]byte, error) { return withoutServer(i, text, o.url) },
				func(text []byte) ([]byte, error) { return withHooks(text, nil, hosts[i].flat) })
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

// hostNamed finds a host. Where none is named, the error says which are installed.
func (a *app) hostNamed(command, name string) (int, error) {
	names := hostNames()
	if i := slices.Index(names, name); i >= 0 {
		return i, nil
	}
	if name != "" {
		return 0, usagef("unknown --host %q: want one of %s", name, strings.Join(names, ", "))
	}
	var installed []string
	for i, h := range hosts {
		_, err := exec.LookPath(h.program)
		if path, _ := hostPath(h.folder, false); err == nil && h.program != "" || isFolder(path) {
			installed = append(installed, names[i])
		}
	}
	return 0, usagef("%s needs --host: %s; installed here: %s", command, strings.Join(names, ", "), cmp.Or(strings.Join(installed, ", "), "none of these"))
}

// hostPath is a file of a host: of this user or, with project, below the current directory.
func hostPath(name string, project bool) (string, error) {
	if project {
		return filepath.Abs(filepath.FromSlash(name))
	}
	m, err := thisMachine()
	if err != nil {
		return "", err
	}
	return filepath.Abs(m.File(name)) // the variables of a host may hold any path
}

func thisMachine() (m report.Machine, err error) {
	m = report.Machine{OS: runtime.GOOS, Env: os.Getenv}
	m.Home, err = os.UserHomeDir()
	return m, err
}

// shownFile is a file of a host as people write it: from the directory of the project, or with ~ for the home directory.
func shownFile(name string, project bool) (string, error) {
	if project {
		return name, nil
	}
	m, err := thisMachine()
	if err != nil {
		return "", err
	}
	return filepath.ToSlash(m.Shown(m.File(name))), nil
}

// filesOf names the files of a host that hold its servers and hooks, as in hosts.
func (o *initOptions) filesOf(i int) (servers, hooks string, err error) {
	h := hosts[i]
	servers, hooks = h.user, h.userHooks
	if o.project {
		servers, hooks = h.project, h.projectHooks
	}
	if servers == "" || o.hook && hooks == "" {
		err = usagef("%s keeps no such file in a project; leave out --project", h.name)
	}
	return servers, hooks, err
}

// printed is what init prints as JSON.
type printed struct {
	Host      string `json:"host"`
	File      string `json:"file"`
	Config    string `json:"config"`
	HooksFile string `json:"hooks_file,omitempty"`
	Hooks     string `json:"hooks,omitempty"`
}

// hostConfig is what a host's files need: as text, and the values.
func (a *app) hostConfig(i int, o initOptions) (p printed, server, hooks map[string]any, err error) {
	h := hosts[i]
	if h.name == "claude-desktop" && o.url != "" {
		return p, nil, nil, usagef("claude_desktop_config.json takes only servers that the host starts; add an address in its settings")
	}
	if u, err := url.Parse(o.url); o.url != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return p, nil, nil, usagef("--url %q: want the address of an MCP server, such as http://127.0.0.1:7070/mcp", o.url)
	}
	if o.hook && h.userHooks == "" {
		return p, nil, nil, usagef("%s has no hooks that Waymark can read", h.name)
	}
	dir, err := filepath.Abs(a.data)
	if err != nil {
		return p, nil, nil, err
	}
	program := programPath()
	arguments := []string{"mcp", "--data", dir}
	if a.workspace != "default" {
		arguments = append(arguments, "--workspace", a.workspace)
	}
	if defs, err := gateway.ReadDefinitions(dir, a.workspace); err != nil {
		return p, nil, nil, err
	} else if len(defs) > 0 { // somebody wants them started
		arguments = append(arguments, "--connect")
	}
	server = map[string]any{"command": program, "args": arguments}
	kind := "stdio"
	if o.url != "" {
		server, kind = map[string]any{"url": o.url}, "http"
	}
	if h.name == "vscode" || h.name == "claude-code" && o.url != "" {
		server["type"] = kind
	}
	serversFile, hooksFile, err := o.filesOf(i)
	if err != nil {
		return p, nil, nil, err
	}
	p = printed{Host: h.name, Config: codexTOML(server)}
	if p.File, err = shownFile(serversFile, o.project); err != nil {
		return p, nil, nil, err
	}
	if h.servers != "" {
		p.Config = indented(map[string]any{h.servers: map[string]any{"waymark": server}})
	}
	if o.hook {
		line := a.hookLine(program, h.name, dir)
		if o.whisper {
			line += " --whisper"
		}
		hooks = hookConfig(h.events, line, h.flat)
		whole := map[string]any{"hooks": hooks}
		if h.flat {
			whole["version"] = 1
		}
		p.Hooks = indented(whole)
		p.HooksFile, err = shownFile(hooksFile, o.project)
	}
	return p, server, hooks, err
}

func (a *app) printInit(p printed) error {
	if a.json {
		return a.printValue(p)
	}
	a.printf("%s\n\n%s\n", p.File, p.Config)
	if p.Hooks != "" {
		a.printf("\n%s\n\n%s\n", p.HooksFile, p.Hooks)
	}
	return nil
}

// sameJSON compares values, whatever their spaces and the order of their members.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
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

func indented(v any) string {
	text, _ := json.MarshalIndent(v, "", "  ") // maps of strings and lists always encode
	return string(text)
}
