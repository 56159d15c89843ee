package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waymark/internal/strictjson"
	"waymark/storage"
)

// DefinitionsFile is where definitions are kept, in the data directory and not in its database: it can hold
// passwords, which belong into no backup, and nothing that comes over a network writes it.
const DefinitionsFile = "gateway.json"

type definitions struct {
	Workspaces map[string]Workspace `json:"workspaces"`
}

// Workspace is what the file says about one workspace.
type Workspace struct {
	Servers []Definition        `json:"servers"`
	Agents  map[string][]string `json:"agents,omitempty"` // tool sets: patterns of ids by name
}

// ReadDefinitions reads the servers and the tool sets of a workspace from a data directory. None are no error.
func ReadDefinitions(dir, workspace string) (Workspace, error) {
	all, err := readDefinitions(dir)
	return all.Workspaces[workspace], err
}

func readDefinitions(dir string) (definitions, error) {
	all := definitions{Workspaces: map[string]Workspace{}}
	text, err := os.ReadFile(filepath.Join(dir, DefinitionsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return all, err
	}
	if err := strictjson.Unmarshal(text, &all); err != nil {
		return all, fmt.Errorf("%s: %w", filepath.Join(dir, DefinitionsFile), err)
	}
	for workspace, w := range all.Workspaces {
		for i := range w.Servers {
			if err := w.Servers[i].Check(); err != nil {
				return all, fmt.Errorf("%s: workspace %q: %w", filepath.Join(dir, DefinitionsFile), workspace, err)
			}
		}
		for name, patterns := range w.Agents {
			if !serverID.MatchString(name) || len(patterns) == 0 || slices.Contains(patterns, "") {
				return all, fmt.Errorf("%s: workspace %q: agent %q needs a name of 1 to 32 of A-Z a-z 0-9 . _ - and patterns of tools such as github:*", filepath.Join(dir, DefinitionsFile), workspace, name)
			}
		}
	}
	return all, nil
}

// WriteDefinitions replaces the servers of a workspace. Only the owner of the directory can read the file.
func WriteDefinitions(dir, workspace string, defs []Definition) error {
	all, err := readDefinitions(dir)
	if err != nil {
		return err
	}
	defs = slices.Clone(defs)
	slices.SortFunc(defs, func(a, b Definition) int { return strings.Compare(a.ID, b.ID) })
	agents := all.Workspaces[workspace].Agents
	if len(defs) == 0 && len(agents) == 0 {
		delete(all.Workspaces, workspace)
	} else {
		all.Workspaces[workspace] = Workspace{defs, agents}
	}
	return writePrivate(dir, DefinitionsFile, all)
}

// writePrivate replaces a file of the data directory, readable by its owner alone.
func writePrivate(dir, name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return storage.ReplaceFile(filepath.Join(dir, name), append(text, '\n'))
}
