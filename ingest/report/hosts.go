package report

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Place is a location where a host keeps its sessions on this platform.
type Place struct {
	Host   string `json:"host"`
	Format string `json:"-"` // a format of package ingest; "" cannot be read
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

// Machine holds the properties of a machine that determine the places.
type Machine struct {
	Home string
	OS   string // a value of runtime.GOOS
	Env  func(name string) string
}

const noFormat = NotRead + "a database whose format is not documented"

// places are the locations where the known hosts keep sessions, as names for [Machine.File].
var places = []Place{
	{Host: "claude-code", Format: "claude-code", Path: ".claude/projects", ending: ".jsonl"},
	{Host: "codex", Format: "codex", Path: ".codex/sessions", ending: ".jsonl"},
	{Host: "copilot-cli", Format: "copilot-cli", Path: ".copilot/session-state", ending: ".jsonl"},
	{Host: "copilot-cli", Status: NotRead + "sessions of versions before events.jsonl", Path: ".copilot/history-session-state"},
	{Host: "gemini-cli", Format: "gemini-cli", Path: ".gemini/tmp", ending: ".json"},
	{Host: "goose", Format: "goose", Path: "GOOSE/sessions", ending: ".jsonl"},
	{Host: "goose", Status: noFormat, Path: "GOOSE/sessions/sessions.db"},
	{Host: "opencode", Status: NotRead + "import the output of opencode export", Path: "SHARE/opencode/opencode.db"},
	{Host: "cline", Format: "cline", Path: "EDITORS/Code/User/globalStorage/saoudrizwan.claude-dev/tasks", ending: ".json"},
	{Host: "cline", Format: "cline", Path: ".cline/data/tasks", ending: ".json"},
	{Host: "cursor", Status: noFormat, Path: "EDITORS/Cursor/User/globalStorage/state.vscdb"},
}

// Places returns the locations where the known hosts keep sessions. It does not access the file system.
func (m Machine) Places() []Place {
	all := slices.Clone(places)
	for i := range all {
		all[i].Path = m.File(all[i].Path)
		all[i].Shown = m.Shown(all[i].Path)
	}
	return all
}

// File returns the path of a file or folder of a host. name is relative to the home directory, but a variable of the
// host may move the folder; for Claude Code the moved folder also contains .claude.json, which otherwise is beside it.
// EDITORS stands for the settings directory of editors, SHARE for the data directory, GOOSE for that of Goose.
func (m Machine) File(name string) string {
	in := func(variable, otherwise string) string {
		if dir := m.Env(variable); dir != "" {
			return dir
		}
		return filepath.Join(m.Home, filepath.FromSlash(otherwise))
	}
	share, editors := in("XDG_DATA_HOME", ".local/share"), in("XDG_CONFIG_HOME", ".config")
	goose := filepath.Join(share, "goose")
	switch m.OS {
	case "darwin":
		editors = filepath.Join(m.Home, "Library", "Application Support")
	case "windows":
		editors = in("APPDATA", "AppData/Roaming")
		goose = filepath.Join(editors, "Block", "goose", "data")
	}
	first, rest, _ := strings.Cut(name, "/")
	folder, moved := map[string]string{
		"EDITORS": editors, "SHARE": share, "GOOSE": goose, ".codex": in("CODEX_HOME", ".codex"),
		".claude": in("CLAUDE_CONFIG_DIR", ".claude"), ".claude.json": filepath.Join(in("CLAUDE_CONFIG_DIR", ""), ".claude.json"),
	}[first]
	if !moved {
		folder = filepath.Join(m.Home, first)
	}
	return filepath.Join(folder, filepath.FromSlash(rest))
}

// Shown returns a path with ~ for the home directory.
func (m Machine) Shown(path string) string {
	if rest, ok := strings.CutPrefix(path, m.Home+string(filepath.Separator)); ok {
		return filepath.Join("~", rest)
	}
	return path
}

// Look sets for each place whether it exists, and the number and size of its files.
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
			_ = filepath.WalkDir(p.Path, func(path string, d fs.DirEntry, err error) error { // skip folders that cannot be listed
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
