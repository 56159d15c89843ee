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

	endings []string
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

// Places lists where the known hosts keep sessions. Nothing is looked at yet.
func (m Machine) Places() []Place {
	env := func(name, otherwise string) string {
		if v := m.Env(name); v != "" {
			return v
		}
		return otherwise
	}
	home := func(parts ...string) string { return filepath.Join(append([]string{m.Home}, parts...)...) }
	share := env("XDG_DATA_HOME", home(".local", "share"))
	goose := filepath.Join(share, "goose", "sessions")
	if m.OS == "windows" {
		goose = filepath.Join(m.Editors(), "Block", "goose", "data", "sessions")
	}
	jsonl, json := []string{".jsonl"}, []string{".json"}
	all := []Place{
		{Host: "claude-code", Format: "claude-code", Path: m.File(".claude/projects"), endings: jsonl},
		{Host: "codex", Format: "codex", Path: m.File(".codex/sessions"), endings: jsonl},
		{Host: "copilot-cli", Format: "copilot-cli", Path: home(".copilot", "session-state"), endings: jsonl},
		{Host: "copilot-cli", Status: NotRead + "sessions of versions before events.jsonl", Path: home(".copilot", "history-session-state")},
		{Host: "gemini-cli", Format: "gemini-cli", Path: home(".gemini", "tmp"), endings: json},
		{Host: "goose", Format: "goose", Path: goose, endings: jsonl},
		{Host: "goose", Status: noFormat, Path: filepath.Join(goose, "sessions.db")},
		{Host: "opencode", Format: "opencode", Path: filepath.Join(share, "opencode", "storage"), endings: json},
		{Host: "opencode", Status: noFormat, Path: filepath.Join(share, "opencode", "opencode.db")},
		{Host: "cline", Format: "cline", Path: filepath.Join(m.Editors(), "Code", "User", "globalStorage", "saoudrizwan.claude-dev", "tasks"), endings: json},
		{Host: "cline", Format: "cline", Path: home(".cline", "data", "tasks"), endings: json},
		{Host: "cursor", Status: noFormat, Path: filepath.Join(m.Editors(), "Cursor", "User", "globalStorage", "state.vscdb")},
	}
	for i := range all {
		all[i].Shown = m.Shown(all[i].Path)
	}
	return all
}

// Configs lists the files in which hosts keep servers for all their sessions. Hosts whose sessions do not say to
// which server a tool belongs are left out: of their servers nobody can say that they are not used.
func (m Machine) Configs() []Config {
	home := func(parts ...string) string { return filepath.Join(append([]string{m.Home}, parts...)...) }
	return []Config{
		{"claude-code", m.File(".claude.json")},
		{"codex", m.File(".codex/config.toml")},
		{"copilot-cli", home(".copilot", "mcp-config.json")},
		{"cline", filepath.Join(m.Editors(), "Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json")},
	}
}

// File is a file or folder of a host, named from the home directory: below the directory that the host's variable names,
// which for Claude Code also holds the .claude.json that otherwise is beside it. EDITORS stands for Editors.
func (m Machine) File(name string) string {
	folder, rest, _ := strings.Cut(name, "/")
	claude, codex := m.Env("CLAUDE_CONFIG_DIR"), m.Env("CODEX_HOME")
	switch {
	case folder == "EDITORS":
		folder = m.Editors()
	case folder == ".claude" && claude != "":
		folder = claude
	case folder == ".claude.json" && claude != "":
		folder = filepath.Join(claude, folder)
	case folder == ".codex" && codex != "":
		folder = codex
	default:
		folder = filepath.Join(m.Home, folder)
	}
	return filepath.Join(folder, filepath.FromSlash(rest))
}

// Editors is the directory of settings of editors.
func (m Machine) Editors() string {
	switch m.OS {
	case "darwin":
		return filepath.Join(m.Home, "Library", "Application Support")
	case "windows":
		if dir := m.Env("APPDATA"); dir != "" {
			return dir
		}
		return filepath.Join(m.Home, "AppData", "Roaming")
	}
	if dir := m.Env("XDG_CONFIG_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(m.Home, ".config")
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
				if err != nil || d.IsDir() || !slices.Contains(p.endings, filepath.Ext(path)) {
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
