package report

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Place is where a host keeps its sessions on this platform.
type Place struct {
	Host   string `json:"host"`
	Format string `json:"-"` // of package ingest; "" cannot be read
	Path   string `json:"-"`
	Shown  string `json:"path"` // with ~ for the home directory
	Status string `json:"status"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`

	ending string
}

// The states of a place.
const (
	Absent  = "absent"
	Read    = "read"
	NotRead = "not read: "
)

// Config is a file in which a host keeps the servers that all its sessions have.
type Config struct {
	Host string
	Path string
}

// Machine is what the places depend on.
type Machine struct {
	Home string
	OS   string // as runtime.GOOS
	Env  func(name string) string
}

const noFormat = NotRead + "a database whose format is not documented"

// places are where the known hosts keep sessions, as names of [Machine.File].
var places = []Place{
	{Host: "claude-code", Format: "claude-code", Path: ".claude/projects", ending: ".jsonl"},
	{Host: "codex", Format: "codex", Path: ".codex/sessions", ending: ".jsonl"},
	{Host: "copilot-cli", Format: "copilot-cli", Path: ".copilot/session-state", ending: ".jsonl"},
	{Host: "copilot-cli", Status: NotRead + "sessions of versions before events.jsonl", Path: ".copilot/history-session-state"},
	{Host: "gemini-cli", Format: "gemini-cli", Path: ".gemini/tmp", ending: ".json"},
	{Host: "goose", Format: "goose", Path: "GOOSE/sessions", ending: ".jsonl"},
	{Host: "goose", Status: noFormat, Path: "GOOSE/sessions/sessions.db"},
	{Host: "opencode", Format: "opencode", Path: "SHARE/opencode/storage", ending: ".json"},
	{Host: "opencode", Status: noFormat, Path: "SHARE/opencode/opencode.db"},
	{Host: "cline", Format: "cline", Path: "EDITORS/Code/User/globalStorage/saoudrizwan.claude-dev/tasks", ending: ".json"},
	{Host: "cline", Format: "cline", Path: ".cline/data/tasks", ending: ".json"},
	{Host: "cursor", Status: noFormat, Path: "EDITORS/Cursor/User/globalStorage/state.vscdb"},
}

// Places lists where the known hosts keep sessions. Nothing is looked at yet.
func (m Machine) Places() []Place {
	all := slices.Clone(places)
	for i := range all {
		all[i].Path = m.File(all[i].Path)
		all[i].Shown = m.Shown(all[i].Path)
	}
	return all
}

// Configs lists the files in which hosts keep servers for all their sessions. Hosts whose sessions do not say to
// which server a tool belongs are left out: of their servers nobody can say that they are not used.
func (m Machine) Configs() []Config {
	return []Config{
		{"claude-code", m.File(".claude.json")},
		{"codex", m.File(".codex/config.toml")},
		{"copilot-cli", m.File(".copilot/mcp-config.json")},
		{"cline", m.File("EDITORS/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json")},
	}
}

// File is a file or folder of a host, named from the home directory: below the directory that the host's variable names,
// which for Claude Code also holds the .claude.json that otherwise is beside it. EDITORS stands for the directory of
// settings of editors, SHARE for that of data, GOOSE for that of Goose.
func (m Machine) File(name string) string {
	folder, rest, _ := strings.Cut(name, "/")
	in := func(variable string, otherwise ...string) string {
		if dir := m.Env(variable); dir != "" {
			return dir
		}
		return filepath.Join(append([]string{m.Home}, otherwise...)...)
	}
	share := func() string { return in("XDG_DATA_HOME", ".local", "share") }
	editors := func() string {
		switch m.OS {
		case "darwin":
			return filepath.Join(m.Home, "Library", "Application Support")
		case "windows":
			return in("APPDATA", "AppData", "Roaming")
		}
		return in("XDG_CONFIG_HOME", ".config")
	}
	switch folder {
	case "EDITORS":
		folder = editors()
	case "SHARE":
		folder = share()
	case "GOOSE":
		if folder = filepath.Join(share(), "goose"); m.OS == "windows" {
			folder = filepath.Join(editors(), "Block", "goose", "data")
		}
	case ".claude":
		folder = in("CLAUDE_CONFIG_DIR", folder)
	case ".claude.json":
		folder = filepath.Join(in("CLAUDE_CONFIG_DIR"), folder)
	case ".codex":
		folder = in("CODEX_HOME", folder)
	default:
		folder = filepath.Join(m.Home, folder)
	}
	return filepath.Join(folder, filepath.FromSlash(rest))
}

// Shown is a path with ~ for the home directory.
func (m Machine) Shown(path string) string {
	if rest, ok := strings.CutPrefix(path, m.Home+string(filepath.Separator)); ok {
		return filepath.Join("~", rest)
	}
	return path
}

// Look says of each place whether it is there and how much is in it.
func Look(places []Place) []Place {
	places = slices.Clone(places)
	for i := range places {
		p := &places[i]
		info, err := os.Stat(p.Path)
		switch {
		case err != nil:
			p.Status = Absent
		case p.Format == "":
			p.Files, p.Bytes = 1, info.Size()
		default:
			p.Status = Read
			_ = filepath.WalkDir(p.Path, func(path string, d fs.DirEntry, err error) error { // what cannot be listed is not read either
				if err != nil || d.IsDir() || filepath.Ext(path) != p.ending {
					return nil
				}
				if info, err := d.Info(); err == nil {
					p.Files, p.Bytes = p.Files+1, p.Bytes+info.Size()
				}
				return nil
			})
		}
	}
	return places
}
