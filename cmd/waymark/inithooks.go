package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"waymark/cmd/waymark/internal/hostfile"
)

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
		for i, group := range there[event] {
			switch all, some := ownHooks(group); {
			case all:
				found = append(found, group)
			case some:
				if text, err = hostfile.Drop(text, ownHook, "hooks", event, strconv.Itoa(i), "hooks"); err != nil {
					return nil, err
				}
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

var ownCommand = regexp.MustCompile(`(^|[/\\'"])waymark-hook(\.exe)?['"]? --host `)

// ownHook reports whether a hook, or a group of hooks, runs Waymark and nothing else.
func ownHook(group json.RawMessage) bool {
	all, _ := ownHooks(group)
	return all
}

// ownHooks reports whether all, or some, of the commands of a hook or a group of hooks run Waymark.
func ownHooks(group json.RawMessage) (all, some bool) {
	type command struct {
		Command string `json:"command"`
	}
	var g struct {
		command
		Hooks []command `json:"hooks"`
	}
	if json.Unmarshal(group, &g) != nil {
		return false, false
	}
	if g.Hooks == nil {
		g.Hooks = []command{g.command}
	}
	own := func(c command) bool { return ownCommand.MatchString(c.Command) }
	some = slices.ContainsFunc(g.Hooks, own)
	return some && !slices.ContainsFunc(g.Hooks, func(c command) bool { return !own(c) }), some
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

// hookLine is the command of a hook: waymark-hook, beside this program or in PATH.
func (a *app) hookLine(program, host, dir string) string {
	hook := filepath.Join(filepath.Dir(program), "waymark-hook")
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
	words := []string{hook, "--host", host, "--data", dir}
	if a.workspace != "default" {
		words = append(words, "--workspace", a.workspace)
	}
	for i, w := range words {
		words[i] = shellWord(w)
	}
	return strings.Join(words, " ")
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
