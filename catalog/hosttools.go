package catalog

import (
	_ "embed"
	"strings"
)

// hostTools is a table of id, hosts, hints and description. The letters of hints are those of [HostTools].
//
//go:embed hosttools.tsv
var hostTools string

// HostTools returns the built-in tools of Claude Code, Codex, Cursor, Copilot and Gemini CLI, with the ids
// under which their sessions are imported. Only the host can call them, and no tools/list describes them.
// Hints: r only reads, d may destroy, o reaches beyond this machine or executes arbitrary instructions.
func HostTools() []Tool {
	var tools []Tool
	for line := range strings.Lines(hostTools) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		has := func(hint string) *bool { return new(strings.Contains(f[2], hint)) }
		tools = append(tools, Tool{ID: f[0], Name: f[0], Description: f[3],
			Annotations: &Annotations{ReadOnly: has("r"), Destructive: has("d"), OpenWorld: has("o")}})
	}
	return tools
}
