package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/catalog"
	"waymark/cmd/waymark/internal/hostfile"
	"waymark/ingest"
	"waymark/internal/plural"
	"waymark/usage"
)

// permissionHosts are the hosts whose rules about MCP tools are known: the file of a user and of a project, the list
// in it, and a rule. A host without a list has TOML tables.
var permissionHosts = []struct {
	name, user, project string
	list                []string
	rule                func(server, tool string) string
}{
	{"claude-code", ".claude/settings.json", ".claude/settings.json", []string{"permissions", "allow"},
		func(server, tool string) string { return "mcp__" + hostWord(server) + "__" + hostWord(tool) }},
	{"codex", ".codex/config.toml", ".codex/config.toml", nil,
		func(server, tool string) string {
			return "mcp_servers." + tomlKey(server) + ".tools." + tomlKey(tool)
		}},
	{"cursor", ".cursor/permissions.json", "", []string{"mcpAllowlist"},
		func(server, tool string) string { return server + ":" + tool }},
}

var (
	plainName   = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`) // nothing that a rule reads as a pattern
	notHostWord = regexp.MustCompile(`[^A-Za-z0-9_-]`)
	bareKey     = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

func hostWord(s string) string { return notHostWord.ReplaceAllString(s, "_") }

func tomlKey(s string) string {
	if bareKey.MatchString(s) {
		return s
	}
	return `"` + s + `"`
}

func (a *app) permissionsCommand() *cobra.Command {
	return group("permissions", "Suggest which tools a host may call without asking", a.permissionsSuggest(), a.permissionsUndo())
}

// permissionOptions say for which host rules are made, from how much evidence, and what becomes of them.
type permissionOptions struct {
	host                          string
	limits                        usage.PermissionLimits
	share                         float64
	write, evaluate, project, yes bool
}

func (o *permissionOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.host, "host", "", "the `host`: claude-code, codex, cursor")
	f.BoolVar(&o.project, "project", false, "in the files of the project in this directory, instead of this user's")
	f.BoolVar(&o.yes, "yes", false, "write without asking")
}

func (a *app) permissionsSuggest() *cobra.Command {
	var o permissionOptions
	cmd := &cobra.Command{
		Use:   "suggest",
		Short: "Derive allow rules of a host from the history",
		Long: `Names the tools of MCP servers that a host may call without asking, as rules of that host. A tool is named only if the
history has at least --min-uses calls of it for at least --min-tasks distinct requests (of one that only reads
--min-reads calls, one more if it may read outside of its server's own data), no call of it was refused, its annotations say that it is harmless, and neither its name nor its description nor the reach of its effects says
otherwise. Tools whose definition is not known are never named. --write adds the rules to the host's file after
showing the difference; waymark permissions undo takes exactly these out again. --evaluate derives rules from the
earlier part of the history and counts the calls of the later part that they let pass.`,
		Example: `  waymark permissions suggest --host claude-code
  waymark permissions suggest --host codex --min-uses 10 --write
  waymark permissions suggest --evaluate`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.limits.Uses < 2 || o.limits.Reads < 1 || o.limits.Tasks < 1:
				return usagef("--min-uses must be at least 2, --min-reads and --min-tasks at least 1: a tool seen for the first time is never allowed")
			case o.evaluate && o.write:
				return usagef("--evaluate does not go with --write")
			case o.evaluate:
				return a.evaluatePermissions(cmd.Context(), o)
			}
			return a.suggestPermissions(cmd.Context(), o)
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.IntVar(&o.limits.Uses, "min-uses", 3, "fewest `calls` of a tool")
	f.IntVar(&o.limits.Tasks, "min-tasks", 2, "fewest distinct `requests` that it was called for")
	f.IntVar(&o.limits.Reads, "min-reads", 1, "fewest `calls` of a tool that only reads its server's own data, whatever it was called for")
	f.BoolVar(&o.write, "write", false, "add the rules to the host's file")
	f.BoolVar(&o.evaluate, "evaluate", false, "measure on the history how many prompts the rules save")
	f.Float64Var(&o.share, "share", 0.2, "`share` of the history that is replayed, with --evaluate")
	return cmd
}

func (a *app) evaluatePermissions(ctx context.Context, o permissionOptions) error {
	d, err := a.examples(ctx, evaluation{share: o.share})
	if err != nil {
		return err
	}
	r := usage.EvaluatePermissions(d, o.limits)
	if a.json {
		return a.printValue(r)
	}
	a.printf("%s allowed by the earlier history; %s replayed\n", plural.Of(r.Allowed, "tool"), plural.Of(r.Episodes, "later episode"))
	a.printf("prompts saved: %d of %d (%.1f %%; at most %.1f %% are for tools against which nothing speaks)\n", r.Saved, r.Prompts, 100*r.Share, 100*r.Reached)
	a.printf("allowed calls of destructive tools: %d\nallowed calls of tools not seen before: %d\n", r.Destructive, r.FirstSeen)
	return nil
}

// permissionRule is a rule of a host and the evidence for it.
type permissionRule struct {
	Rule string `json:"rule"`
	usage.Permission
}

type permissionAnswer struct {
	Host    string             `json:"host"`
	File    string             `json:"file"`
	Rules   []permissionRule   `json:"rules"`
	LeftOut []usage.Permission `json:"left_out"`
	Text    string             `json:"text"` // the rules as they stand in the file
}

func (a *app) suggestPermissions(ctx context.Context, o permissionOptions) error {
	h, err := permissionHost(o.host)
	if err != nil {
		return err
	}
	d, episodes, err := a.ownHistory(ctx)
	if err != nil {
		return err
	}
	p := rulesOf(h, usage.Permissions(d.Tools, episodes, o.limits), d.Tools)
	p.Text = permissionText(h, p.Rules)
	if o.project {
		if _, err := permissionFile(h, o); err != nil {
			return err
		}
		p.File = permissionHosts[h].project
	}
	if p.File, err = shownFile(p.File, o.project); err != nil {
		return err
	}
	if o.write {
		return a.writePermissions(h, o, p.Rules)
	}
	if a.json {
		return a.printValue(p)
	}
	if len(p.Rules) == 0 {
		a.printf("no tool may be allowed\n")
	} else {
		a.printf("%s\n\n%s\n", p.File, p.Text)
	}
	var rows [][]string
	for _, r := range p.Rules {
		rows = append(rows, []string{r.Tool, fmt.Sprint(r.Uses), fmt.Sprint(r.Tasks), "allowed"})
	}
	for _, l := range p.LeftOut {
		rows = append(rows, []string{l.Tool, fmt.Sprint(l.Uses), fmt.Sprint(l.Tasks), l.Reason})
	}
	a.section([]string{"tool", "uses", "tasks", ""}, rows)
	return nil
}

func permissionHost(name string) (int, error) {
	var names []string
	for i, h := range permissionHosts {
		if h.name == name {
			return i, nil
		}
		names = append(names, h.name)
	}
	if name == "" {
		return 0, usagef("permissions need --host: %s", strings.Join(names, ", "))
	}
	return 0, usagef("unknown --host %q: want one of %s", name, strings.Join(names, ", "))
}

// rulesOf writes permissions as rules. A rule that would mean another tool as well is left out.
func rulesOf(h int, all []usage.Permission, tools []catalog.Tool) permissionAnswer {
	host := permissionHosts[h]
	p := permissionAnswer{Host: host.name, File: host.user, Rules: []permissionRule{}, LeftOut: []usage.Permission{}}
	means := map[string]map[string]bool{} // by rule
	note := func(id string) string {
		server, name, ok := catalog.Split(id)
		if !ok {
			return ""
		}
		rule := host.rule(server, name)
		if means[rule] == nil {
			means[rule] = map[string]bool{}
		}
		means[rule][id] = true
		return rule
	}
	for _, t := range tools {
		note(t.ID)
	}
	for _, x := range all {
		note(x.Tool)
	}
	for _, x := range all {
		server, name, ok := catalog.Split(x.Tool)
		rule := note(x.Tool)
		switch {
		case x.Reason != "":
		case !ok || !plainName.MatchString(server) || !plainName.MatchString(name):
			x.Reason = "it cannot be named in a rule of " + host.name
		case len(means[rule]) > 1:
			x.Reason = "its rule would mean another tool as well"
		}
		if x.Reason == "" {
			p.Rules = append(p.Rules, permissionRule{rule, x})
		} else {
			p.LeftOut = append(p.LeftOut, x)
		}
	}
	slices.SortFunc(p.Rules, func(a, b permissionRule) int { return strings.Compare(a.Rule, b.Rule) })
	return p
}

func permissionText(h int, rules []permissionRule) string {
	var names, tables []string
	for _, r := range rules {
		names, tables = append(names, r.Rule), append(tables, approveTable(r.Rule))
	}
	if permissionHosts[h].list == nil {
		return strings.Join(tables, "\n\n")
	}
	var whole any = names
	for _, member := range slices.Backward(permissionHosts[h].list) {
		whole = map[string]any{member: whole}
	}
	return indented(whole)
}

func approveTable(rule string) string { return "[" + rule + "]\napproval_mode = \"approve\"" }

// grantedFile lists, by file of a host, the rules that permissions suggest --write added to it.
const grantedFile = "host-permissions.json"

// writePermissions adds rules to the file of a host. Those that are there already stay the user's own.
func (a *app) writePermissions(h int, o permissionOptions, rules []permissionRule) error {
	path, err := permissionFile(h, o)
	if err != nil {
		return err
	}
	file, err := readEdit(path)
	if err != nil {
		return err
	}
	var want []string
	for _, r := range rules {
		want = append(want, r.Rule)
	}
	after, added, err := addRules(h, file.before, want)
	if err != nil {
		return rejected{fmt.Errorf("%s cannot be changed: %w; without --write the rules are printed", path, err)}
	}
	if file.after = after; len(added) == 0 {
		return a.apply(nil, o.yes, false)
	}
	record, granted, err := a.grantedRules(path)
	if err != nil {
		return err
	}
	if record.after, err = hostfile.Set(record.before, slices.Compact(slices.Sorted(slices.Values(append(granted, added...)))), path); err != nil {
		return fmt.Errorf("%s: %w", record.path, err)
	}
	return a.apply([]edit{record, file}, o.yes, false) // the record first: what is added can always be taken out
}

func (a *app) permissionsUndo() *cobra.Command {
	var o permissionOptions
	cmd := &cobra.Command{
		Use:     "undo",
		Short:   "Take the rules that Waymark added out of a host's file",
		Long:    `Takes out the rules that waymark permissions suggest --write added, and no others, after showing the difference.`,
		Example: `  waymark permissions undo --host claude-code`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			h, err := permissionHost(o.host)
			if err != nil {
				return err
			}
			path, err := permissionFile(h, o)
			if err != nil {
				return err
			}
			record, granted, err := a.grantedRules(path)
			if err != nil {
				return err
			}
			file, err := readEdit(path)
			if err != nil {
				return err
			}
			if file.after, err = removeRules(h, file.before, granted); err != nil {
				return rejected{fmt.Errorf("%s cannot be changed: %w", path, err)}
			}
			if record.after, _, err = hostfile.Remove(record.before, path); err != nil {
				return fmt.Errorf("%s: %w", record.path, err)
			}
			edits := slices.DeleteFunc([]edit{file, record}, func(e edit) bool { return string(e.before) == string(e.after) })
			return a.apply(edits, o.yes, true)
		},
	}
	o.flags(cmd)
	return cmd
}

func permissionFile(h int, o permissionOptions) (string, error) {
	name := permissionHosts[h].user
	if o.project {
		name = permissionHosts[h].project
	}
	if name == "" {
		return "", usagef("%s keeps no such file in a project; leave out --project", permissionHosts[h].name)
	}
	path, err := hostPath(name, o.project)
	if real, err := filepath.EvalSymlinks(path); err == nil { // a link stays one
		path = real
	}
	return path, err
}

func (a *app) grantedRules(path string) (record edit, rules []string, err error) {
	dir, err := filepath.Abs(a.data)
	if err != nil {
		return record, nil, err
	}
	if record, err = readEdit(filepath.Join(dir, grantedFile)); err != nil {
		return record, nil, err
	}
	list, err := hostfile.Get(record.before, path)
	if err == nil && list != nil {
		err = json.Unmarshal(list, &rules)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", record.path, err)
	}
	return record, rules, err
}

// addRules returns the text with the rules, and those of them that it did not have.
func addRules(h int, text []byte, want []string) (after []byte, added []string, err error) {
	if permissionHosts[h].list == nil {
		return addTables(text, want)
	}
	there, err := listedRules(h, text)
	if err != nil {
		return nil, nil, err
	}
	for _, rule := range want {
		if !slices.Contains(there, rule) {
			added = append(added, rule)
		}
	}
	if len(added) == 0 {
		return text, nil, nil
	}
	path := permissionHosts[h].list
	if len(there) == 0 {
		after, err = hostfile.Set(text, added, path...)
		return after, added, err
	}
	for _, rule := range added {
		if text, err = hostfile.Append(text, rule, path...); err != nil {
			return nil, nil, err
		}
	}
	return text, added, nil
}

// addTables adds tables about tools of the servers that the text configures: a server that had nothing but a rule
// about one of its tools would not be a valid one.
func addTables(text []byte, want []string) (after []byte, added []string, err error) {
	launches, _, err := ingest.Launches("config.toml", text)
	if err != nil {
		return nil, nil, err
	}
	after = text
	for _, rule := range want {
		if !slices.ContainsFunc(launches, func(l ingest.Launch) bool {
			return strings.HasPrefix(rule, "mcp_servers."+tomlKey(l.Name)+".tools.")
		}) {
			continue
		}
		if _, there := hostfile.RemoveTable(text, rule); there { // somebody decided about it
			continue
		}
		after, added = hostfile.SetTable(after, rule, approveTable(rule)), append(added, rule)
	}
	if _, _, err = ingest.Launches("config.toml", after); err != nil {
		return nil, nil, errors.New("tools of its servers are written in another way")
	}
	return after, added, nil
}

func removeRules(h int, text []byte, rules []string) (after []byte, err error) {
	if len(rules) == 0 { // whatever the file holds
		return text, nil
	}
	if permissionHosts[h].list == nil {
		for _, rule := range rules {
			text, _ = hostfile.RemoveTable(text, rule)
		}
		return text, nil
	}
	there, err := listedRules(h, text)
	if err != nil || len(there) == 0 {
		return text, err
	}
	return hostfile.Drop(text, func(element json.RawMessage) bool {
		var rule string
		return json.Unmarshal(element, &rule) == nil && slices.Contains(rules, rule)
	}, permissionHosts[h].list...)
}

func listedRules(h int, text []byte) (rules []string, err error) {
	list, err := hostfile.Get(text, permissionHosts[h].list...)
	if err == nil && list != nil && json.Unmarshal(list, &rules) != nil {
		err = fmt.Errorf("%s is no list of texts", strings.Join(permissionHosts[h].list, "."))
	}
	return rules, err
}
