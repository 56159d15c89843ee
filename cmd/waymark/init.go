package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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

	"waymark/cmd/waymark/internal/hostfile"
	"waymark/gateway"
	"waymark/ingest"
	"waymark/usage"
)

// hosts are the programs that init writes configuration for: where it belongs, and its form. Files are named from the
// home directory, and from the directory of a project; "" is none.
var hosts = []struct {
	name            string
	file            string
	servers         string // the member that holds servers; "" is TOML
	user, project   string
	hooks           string // file of hooks; "" for hosts without
	userHooks       string
	projectHooks    string
	events          []string // that are hooked
	flat            bool     // a hook is no group of hooks
	program, folder string   // by which an installed host is known: a command, or a folder from the home directory
}{
	{"claude-code", ".mcp.json of a project, or: claude mcp add", "mcpServers", ".claude.json", ".mcp.json",
		".claude/settings.json of a project, or ~/.claude/settings.json", ".claude/settings.json", ".claude/settings.json",
		[]string{"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionStart", "SessionEnd"}, false, "claude", ".claude"},
	{"claude-desktop", "claude_desktop_config.json", "mcpServers", "EDITORS/Claude/claude_desktop_config.json", "", "", "", "", nil, false, "", "EDITORS/Claude"},
	{"cursor", ".cursor/mcp.json of a project, or ~/.cursor/mcp.json", "mcpServers", ".cursor/mcp.json", ".cursor/mcp.json",
		".cursor/hooks.json of a project, or ~/.cursor/hooks.json", ".cursor/hooks.json", ".cursor/hooks.json",
		[]string{"sessionStart", "beforeSubmitPrompt", "postToolUse", "postToolUseFailure", "sessionEnd"}, true, "cursor", ".cursor"},
	{"vscode", ".vscode/mcp.json", "servers", "EDITORS/Code/User/mcp.json", ".vscode/mcp.json", "", "", "", nil, false, "code", "EDITORS/Code"},
	{"codex", "~/.codex/config.toml", "", ".codex/config.toml", "", "~/.codex/hooks.json", ".codex/hooks.json", "",
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
history gives reason to (docs/whisper.md). Where servers were added to the gateway (waymark gateway add)
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
			if err != nil || o.print {
				return cmp.Or(err, a.printInit(p))
			}
			return a.writeHost(i, o, false, func(text []byte) ([]byte, error) {
				if err := replaceable(i, text, o.replace); err != nil {
					return nil, err
				}
				return withServer(i, text, server)
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
			o.hook = hosts[i].hooks != ""
			return a.writeHost(i, o, true, func(text []byte) ([]byte, error) { return withoutServer(i, text) },
				func(text []byte) ([]byte, error) { return withHooks(text, nil, hosts[i].flat) })
		},
	}
	o.flags(cmd)
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

func thisMachine() (m usage.Machine, err error) {
	m = usage.Machine{OS: runtime.GOOS, Env: os.Getenv}
	m.Home, err = os.UserHomeDir()
	return m, err
}

// whereHosts puts folders of hosts in a text where the hosts' variables say that they are.
func whereHosts(text string) string {
	m, err := thisMachine()
	for _, folder := range []string{".claude", ".codex"} {
		if err == nil {
			text = strings.ReplaceAll(text, "~/"+folder+"/", filepath.ToSlash(m.Shown(m.File(folder)))+"/")
		}
	}
	return text
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
	if o.hook && h.hooks == "" {
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
	p = printed{Host: h.name, File: whereHosts(h.file), Config: codexTOML(server)}
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
		p.HooksFile, p.Hooks = whereHosts(h.hooks), indented(whole)
	}
	return p, server, hooks, nil
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

// edit is a file of a host before and after; nil is none.
type edit struct {
	path          string
	before, after []byte
}

// madeFile lists, by file of a host, what was not there before Waymark wrote into it: "" for the file, else the path of
// a member. Of what becomes empty when Waymark is taken out again only that is removed.
const madeFile = "host-files.json"

// traced adds what an edit makes to the list, and where it is undone takes out what it leaves empty. record is the list.
func (a *app) traced(edits []edit, undo bool) (record edit, err error) {
	dir, err := filepath.Abs(a.data)
	if err != nil {
		return record, err
	}
	if record, err = readEdit(filepath.Join(dir, madeFile)); err != nil {
		return record, err
	}
	all := map[string][]string{}
	if len(record.before) > 0 {
		if err := json.Unmarshal(record.before, &all); err != nil {
			return record, fmt.Errorf("%s: %w", record.path, err)
		}
	}
	for i, e := range edits {
		if filepath.Dir(e.path) == dir { // a list like this one
			edits[i].after = withoutEmpty(e.after, []string{""})
			continue
		}
		made := append(all[e.path], madeBy(e)...)
		slices.Sort(made)
		made = slices.Compact(made)
		slices.Reverse(made) // inner before outer
		if undo {
			edits[i].after = withoutEmpty(e.after, made)
		}
		made = slices.DeleteFunc(made, func(path string) bool {
			v, err := hostfile.Get(edits[i].after, strings.Split(path, "/")...)
			return edits[i].after == nil || path != "" && (err != nil || v == nil)
		})
		if all[e.path] = made; len(made) == 0 {
			delete(all, e.path)
		}
	}
	if len(all) > 0 {
		record.after = append([]byte(indented(all)), '\n')
	}
	return record, nil
}

// madeBy lists what an edit makes, two levels deep.
func madeBy(e edit) (made []string) {
	if e.before == nil {
		made = append(made, "")
	}
	var was, is map[string]json.RawMessage
	_, _ = json.Unmarshal(e.before, &was), json.Unmarshal(e.after, &is) // TOML has no empty lists to leave
	for name, v := range is {
		if was[name] == nil {
			made = append(made, name)
		}
		var inWas, inIs map[string]json.RawMessage
		_, _ = json.Unmarshal(was[name], &inWas), json.Unmarshal(v, &inIs) // no object: no members
		for inner := range inIs {
			if inWas[inner] == nil {
				made = append(made, name+"/"+inner)
			}
		}
	}
	return made
}

// withoutEmpty takes out of a text what was made and is empty; nil where that is the file.
func withoutEmpty(text []byte, made []string) []byte {
	for _, name := range slices.Concat(made, made) { // again: a version goes when the hooks are gone
		path := strings.Split(name, "/")
		v, err := hostfile.Get(text, path...)
		switch {
		case name == "" && strings.Trim(string(text), "{} \t\r\n") == "":
			return nil
		case err == nil && (sameJSON(v, []byte("{}")) || sameJSON(v, []byte("[]")) || name == "version" && sameJSON(text, []byte(`{"version":1}`))):
			text, _, _ = hostfile.Remove(text, path...) // it was just read
		}
	}
	return text
}

// readEdit is a file as it is; one that is not there is empty.
func readEdit(path string) (e edit, err error) {
	e.path = path
	if e.before, err = os.ReadFile(path); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return e, err
}

// writeHost changes the files of a host, after showing how and asking.
func (a *app) writeHost(i int, o initOptions, undo bool, servers, hooks func([]byte) ([]byte, error)) error {
	h := hosts[i]
	files := []struct {
		name   string
		change func([]byte) ([]byte, error)
	}{{h.user, servers}, {h.userHooks, hooks}}
	if o.project {
		files[0].name, files[1].name = h.project, h.projectHooks
	}
	if !o.hook {
		files = files[:1]
	}
	edits := []edit{}
	for _, f := range files {
		if f.name == "" {
			return usagef("%s keeps no such file in a project; leave out --project", h.name)
		}
		path, err := hostPath(f.name, o.project)
		if err != nil {
			return err
		}
		if real, err := filepath.EvalSymlinks(path); err == nil { // a link stays one
			path = real
		}
		e, err := readEdit(path)
		if err != nil {
			return err
		}
		byHand := "waymark init --print prints what to add by hand"
		if undo {
			byHand = "take waymark out of it by hand"
			if !bytes.Contains(e.before, []byte("waymark")) { // nothing to take out, whatever the file holds
				continue
			}
		}
		if e.after, err = f.change(e.before); err != nil {
			return rejected{fmt.Errorf("%s cannot be changed: %w; %s", path, err, byHand)}
		}
		if !bytes.Equal(e.before, e.after) {
			edits = append(edits, e)
		}
	}
	return a.apply(edits, o.yes, undo)
}

// apply shows edits, asks, and writes them; undo takes out what is left empty.
func (a *app) apply(edits []edit, yes, undo bool) error {
	record, err := a.traced(edits, undo)
	if err != nil {
		return err
	}
	changed := []string{}
	for _, e := range edits {
		changed = append(changed, e.path)
		fmt.Fprintf(a.errs, "%s\n%s\n", e.path, hostfile.Diff(e.before, e.after))
	}
	if len(edits) > 0 {
		if err := a.confirm(yes, "Write this?"); err != nil {
			return err
		}
	}
	switch {
	case bytes.Equal(record.before, record.after):
	case undo:
		edits = append(edits, record)
	default:
		edits = append([]edit{record}, edits...) // first: what is made can always be taken out
	}
	for _, e := range edits {
		if err := e.write(); err != nil {
			return err
		}
	}
	if a.json {
		return a.printValue(map[string]any{"changed": changed})
	}
	if len(changed) == 0 {
		a.printf("nothing to change\n")
	}
	for _, path := range changed {
		a.printf("changed %s\n", clean(path))
	}
	return nil
}

func (e edit) write() error {
	if e.after == nil {
		return os.Remove(e.path)
	}
	folder := fs.FileMode(0o755)
	if filepath.Base(e.path) == madeFile { // the data directory
		folder = 0o700
	}
	if err := os.MkdirAll(filepath.Dir(e.path), folder); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(e.path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := replaceFile(e.path, func(w io.Writer) error { _, err := w.Write(e.after); return err }); err != nil {
		return err
	}
	return os.Chmod(e.path, mode)
}

// ownMembers are those of a server that init writes; the others of one that is there already stay.
var ownMembers = []string{"command", "args", "url", "type"}

// serverThere is the server waymark in a host's configuration.
type serverThere struct {
	Command string   `json:"command" toml:"command"`
	Args    []string `json:"args" toml:"args"`
	URL     string   `json:"url" toml:"url"`
}

func readServer(i int, text []byte) (there serverThere, err error) {
	if hosts[i].servers == "" {
		var all struct {
			Servers map[string]serverThere `toml:"mcp_servers"`
		}
		err := toml.Unmarshal(text, &all)
		return all.Servers["waymark"], err
	}
	entry, err := hostfile.Get(text, hosts[i].servers, "waymark")
	if entry != nil {
		err = json.Unmarshal(entry, &there)
	}
	return there, err
}

// runs reports whether the server is Waymark, if there is one.
func (s serverThere) runs() bool {
	if s.Command == "" {
		return s.URL == "" || strings.HasSuffix(s.URL, "/mcp")
	}
	name := strings.TrimSuffix(s.Command[strings.LastIndexAny(s.Command, `/\`)+1:], ".exe")
	return (name == "waymark" || s.Command == programPath()) && len(s.Args) > 0 && s.Args[0] == "mcp"
}

func (s serverThere) String() string {
	if s.Command == "" {
		return fmt.Sprintf("is at %q", s.URL)
	}
	return fmt.Sprintf("starts %q", s.Command)
}

// ownArguments are those that init writes, a line each.
var ownArguments = regexp.MustCompile(`^(mcp(\n--(data|workspace)\n.*|\n--connect)*)?$`)

// replaceable fails where a server of the name is not one that init wrote. Arguments of the user's own would be lost.
func replaceable(i int, text []byte, whatever bool) error {
	there, err := readServer(i, text)
	if err != nil || whatever {
		return err
	}
	with := ""
	if there.runs() {
		if ownArguments.MatchString(strings.Join(there.Args, "\n")) {
			return nil
		}
		with = " with arguments of its own"
	}
	return fmt.Errorf("its server %q %s%s, which waymark init did not write: rename it there, or replace it with --replace", "waymark", there, with)
}

func withServer(i int, text []byte, server map[string]any) (after []byte, err error) {
	if hosts[i].servers == "" {
		return withTable(text, server)
	}
	path := []string{hosts[i].servers, "waymark"}
	if was, err := hostfile.Get(text, path...); err != nil {
		return nil, err
	} else if was == nil {
		return hostfile.Set(text, server, path...)
	}
	for _, name := range ownMembers {
		was, err := hostfile.Get(text, append(path, name)...)
		if err != nil {
			return nil, err
		}
		is, _ := json.Marshal(server[name])
		switch {
		case server[name] == nil:
			text, _, err = hostfile.Remove(text, append(path, name)...)
		case was == nil || !sameJSON(was, is):
			text, err = hostfile.Set(text, server[name], append(path, name)...)
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// withTable is withServer for TOML.
func withTable(text []byte, server map[string]any) (after []byte, err error) {
	var before struct {
		Servers map[string]map[string]any `toml:"mcp_servers"`
	}
	if err := toml.Unmarshal(text, &before); err != nil {
		return nil, err
	}
	block, there := codexTOML(server), before.Servers["waymark"]
	for _, name := range ownMembers {
		delete(there, name)
	}
	if len(there) > 0 {
		maps.Copy(there, server)
		whole, err := toml.Marshal(map[string]any{"mcp_servers": map[string]any{"waymark": there}})
		if err != nil {
			return nil, err
		}
		block = strings.TrimSpace(strings.TrimPrefix(string(whole), "[mcp_servers]\n"))
	}
	after = hostfile.SetTable(text, "mcp_servers.waymark", block)
	if toml.Unmarshal(after, &before) != nil {
		err = errInline
	}
	return after, err
}

var errInline = errors.New("its servers are written as an inline table or with dotted keys, to which no table can be added")

func withoutServer(i int, text []byte) (after []byte, err error) {
	if there, err := readServer(i, text); err == nil && !there.runs() {
		return nil, fmt.Errorf("its server %q %s, not Waymark", "waymark", there)
	}
	if hosts[i].servers != "" {
		after, _, err = hostfile.Remove(text, hosts[i].servers, "waymark")
		return after, err
	}
	after, _ = hostfile.RemoveTable(text, "mcp_servers.waymark")
	left, _, _ := ingest.Launches("config.toml", after) // what cannot be read starts nothing
	if slices.ContainsFunc(left, func(l ingest.Launch) bool { return l.Name == "waymark" }) {
		err = errInline
	}
	return after, err
}

// withHooks puts hooks in the place of those of Waymark that are there; those of others stay.
func withHooks(text []byte, hooks map[string]any, flat bool) ([]byte, error) {
	all, err := hostfile.Get(text, "hooks")
	if err != nil {
		return nil, err
	}
	there := map[string][]json.RawMessage{}
	if all != nil {
		if err := json.Unmarshal(all, &there); err != nil {
			return nil, errors.New("its hooks are no lists by event")
		}
	}
	for event := range hooks {
		if _, ok := there[event]; !ok {
			there[event] = nil
		}
	}
	for _, event := range slices.Sorted(maps.Keys(there)) {
		var found []json.RawMessage
		for _, group := range there[event] {
			if ownHook(group) {
				found = append(found, group)
			}
		}
		want, _ := hooks[event].([]any)
		was, _ := json.Marshal(found)
		is, _ := json.Marshal(want)
		if sameJSON(was, is) {
			continue
		}
		if len(found) > 0 {
			text, err = hostfile.Drop(text, ownHook, "hooks", event)
		}
		for k, group := range want {
			switch {
			case err != nil:
			case k == 0 && len(there[event]) == 0: // also null
				text, err = hostfile.Set(text, []any{group}, "hooks", event)
			default:
				text, err = hostfile.Append(text, group, "hooks", event)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if version, err := hostfile.Get(text, "version"); err != nil || !flat || len(hooks) == 0 || version != nil {
		return text, err
	}
	return hostfile.Set(text, 1, "version")
}

var ownCommand = regexp.MustCompile(`(^|[/\\'"])waymark(-hook|-hook\.exe|\.exe)?['"]? (hook )?--host `)

// ownHook reports whether a group of hooks runs Waymark and nothing else.
func ownHook(group json.RawMessage) bool {
	type command struct {
		Command string `json:"command"`
	}
	var g struct {
		command
		Hooks []command `json:"hooks"`
	}
	if json.Unmarshal(group, &g) != nil {
		return false
	}
	if len(g.Hooks) == 1 {
		g.command = g.Hooks[0]
	}
	return len(g.Hooks) <= 1 && ownCommand.MatchString(g.Command)
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

func hookConfig(events []string, command string, flat bool) map[string]any {
	config := map[string]any{}
	for _, event := range events {
		if flat {
			config[event] = []any{map[string]any{"command": command, "timeout": 5}}
			continue
		}
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
	} else {
		fmt.Fprintf(a.errs, "waymark: %s is not there: hooks start the whole program, 17 ms a call instead of 3\n", quick)
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
