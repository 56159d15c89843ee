package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"waymark/cmd/waymark/internal/hostfile"
	"waymark/gateway"
	"waymark/ingest"
)

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

// runs reports whether the server is Waymark, as far as can be seen, or none: the command of Waymark, an address of this
// machine, or the one named.
func (s serverThere) runs(address string) bool {
	if s.Command == "" {
		u, err := url.Parse(s.URL)
		return s.URL == "" || s.URL == address || err == nil && strings.HasSuffix(u.Path, "/mcp") && gateway.IsLoopback(u.Hostname())
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
func replaceable(i int, text []byte, o initOptions) error {
	there, err := readServer(i, text)
	if err != nil || o.replace {
		return err
	}
	with := ""
	if there.runs(o.url) {
		if ownArguments.MatchString(strings.Join(there.Args, "\n")) {
			return nil
		}
		with = " with arguments of its own"
	}
	return fmt.Errorf("its server %q %s%s, which waymark init did not write: rename it there, or replace it with --replace", "waymark", there, with)
}

// withServer keeps what a user added to a server that is Waymark; of one that is not, nothing stays.
func withServer(i int, text []byte, server map[string]any, address string) (after []byte, err error) {
	there, err := readServer(i, text)
	own := err == nil && there.runs(address)
	if hosts[i].servers == "" {
		return withTable(text, server, own)
	}
	path := []string{hosts[i].servers, "waymark"}
	if was, err := hostfile.Get(text, path...); err != nil {
		return nil, err
	} else if was == nil || !own {
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
func withTable(text []byte, server map[string]any, own bool) (after []byte, err error) {
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
	if own && len(there) > 0 {
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

var errInline = errors.New("its servers are written in a form that is not changed here, such as an inline table, dotted or quoted keys")

func withoutServer(i int, text []byte, address string) (after []byte, err error) {
	there, err := readServer(i, text)
	switch {
	case err != nil:
		return nil, err
	case !there.runs(address) && there.Command == "":
		return nil, fmt.Errorf("its server %q %s, which may not be Waymark (if it is: uninit --url %s)", "waymark", there, there.URL)
	case !there.runs(address):
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
