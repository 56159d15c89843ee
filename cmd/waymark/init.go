package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/gateway"
)

// hosts are the programs that init writes configuration for: where it belongs, and its form.
var hosts = []struct {
	name    string
	file    string
	snippet func(server map[string]any) any // nil: TOML
	hooks   string                          // file of hooks; "" for hosts without
	events  []string                        // that are hooked
}{
	{"claude-code", ".mcp.json of a project, or: claude mcp add", mcpServers, ".claude/settings.json of a project, or ~/.claude/settings.json",
		[]string{"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionEnd"}},
	{"claude-desktop", "claude_desktop_config.json", mcpServers, "", nil},
	{"cursor", ".cursor/mcp.json of a project, or ~/.cursor/mcp.json", mcpServers, "", nil},
	{"vscode", ".vscode/mcp.json", func(s map[string]any) any { return map[string]any{"servers": map[string]any{"waymark": s}} }, "", nil},
	{"codex", "~/.codex/config.toml", nil, "~/.codex/hooks.json", []string{"PreToolUse", "PostToolUse", "UserPromptSubmit"}},
}

func mcpServers(s map[string]any) any {
	return map[string]any{"mcpServers": map[string]any{"waymark": s}}
}

func (a *app) initCommand() *cobra.Command {
	var host, url string
	var withHook bool
	names := hostNames()
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Print the configuration by which a host finds Waymark",
		Long: `Prints what a host's configuration needs to start Waymark, or with --url to reach a server that runs.
With --hook also the hooks that let Waymark learn from every call the host makes. Where servers were added to
the gateway (waymark gateway add) Waymark connects them. Nothing is written.`,
		Example: `  waymark init --host claude-code --hook
  waymark init --host vscode --url http://127.0.0.1:7070/mcp`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			i := slices.Index(names, host)
			if host == "" {
				return usagef("init needs --host: %s", strings.Join(names, ", "))
			}
			if i < 0 {
				return usagef("unknown --host %q: want one of %s", host, strings.Join(names, ", "))
			}
			return a.printInit(i, url, withHook)
		},
	}
	f := cmd.Flags()
	f.StringVar(&host, "host", "", "the `host`: "+strings.Join(names, ", "))
	f.StringVar(&url, "url", "", "MCP `address` of a server that runs, instead of one that the host starts")
	f.BoolVar(&withHook, "hook", false, "also print hooks")
	return cmd
}

// printed is what init prints as JSON.
type printed struct {
	Host      string `json:"host"`
	File      string `json:"file"`
	Config    string `json:"config"`
	HooksFile string `json:"hooks_file,omitempty"`
	Hooks     string `json:"hooks,omitempty"`
}

func (a *app) printInit(i int, url string, withHook bool) error {
	h := hosts[i]
	if h.name == "claude-desktop" && url != "" {
		return usagef("claude_desktop_config.json takes only servers that the host starts; add an address in its settings")
	}
	if withHook && h.hooks == "" {
		return usagef("%s has no hooks that Waymark can read", h.name)
	}
	dir, err := filepath.Abs(a.data)
	if err != nil {
		return err
	}
	program := programPath()
	arguments := []string{"mcp", "--data", dir}
	if a.workspace != "default" {
		arguments = append(arguments, "--workspace", a.workspace)
	}
	if defs, err := gateway.ReadDefinitions(dir, a.workspace); err != nil {
		return err
	} else if len(defs) > 0 { // somebody wants them started
		arguments = append(arguments, "--connect")
	}
	server := map[string]any{"command": program, "args": arguments}
	kind := "stdio"
	if url != "" {
		server, kind = map[string]any{"url": url}, "http"
	}
	if h.name == "vscode" || h.name == "claude-code" && url != "" {
		server["type"] = kind
	}
	p := printed{Host: h.name, File: h.file}
	if h.snippet == nil {
		p.Config = codexTOML(server)
	} else {
		p.Config = indented(h.snippet(server))
	}
	if withHook {
		p.HooksFile, p.Hooks = h.hooks, indented(map[string]any{"hooks": hookConfig(h.events, a.hookLine(program, h.name, dir))})
	}
	if a.json {
		return a.printValue(p)
	}
	a.printf("%s\n\n%s\n", p.File, p.Config)
	if withHook {
		a.printf("\n%s\n\n%s\n", p.HooksFile, p.Hooks)
	}
	return nil
}

// programPath is how a host starts this program.
func programPath() string {
	if path, err := os.Executable(); err == nil {
		return path
	}
	return "waymark"
}

// codexTOML is a server as Codex writes it. JSON strings and lists of them are TOML too.
func codexTOML(server map[string]any) string {
	var b strings.Builder
	b.WriteString("[mcp_servers.waymark]\n")
	for _, key := range []string{"command", "args", "url"} {
		if v, ok := server[key]; ok {
			text, _ := json.Marshal(v) // strings always encode
			fmt.Fprintf(&b, "%s = %s\n", key, text)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func hookConfig(events []string, command string) map[string]any {
	config := map[string]any{}
	for _, event := range events {
		group := map[string]any{"hooks": []any{map[string]any{"type": "command", "command": command, "timeout": 5}}}
		if strings.Contains(event, "ToolUse") {
			group["matcher"] = "*"
		}
		config[event] = []any{group}
	}
	return config
}

// hookLine is the command of a hook: waymark-hook, which starts faster, where it stands beside this program.
func (a *app) hookLine(program, host, dir string) string {
	words := []string{program, "hook"}
	ending := ""
	if runtime.GOOS == "windows" {
		ending = ".exe"
	}
	if quick := filepath.Join(filepath.Dir(program), "waymark-hook"+ending); isFile(quick) {
		words = []string{quick}
	}
	words = append(words, "--host", host, "--data", dir)
	if a.workspace != "default" {
		words = append(words, "--workspace", a.workspace)
	}
	for i, w := range words {
		words[i] = shellWord(w)
	}
	return strings.Join(words, " ")
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
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

func indented(v any) string {
	text, _ := json.MarshalIndent(v, "", "  ") // maps of strings and lists always encode
	return string(text)
}
