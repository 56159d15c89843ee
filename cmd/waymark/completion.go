package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waymark/cmd/waymark/internal/client"
	"waymark/ingest"
	mcpserver "waymark/server/mcp"
	"waymark/suggest"
)

// Completion offers values instead of file names. Names that the store knows come from the server that has the data
// directory or, if nobody has it, from the directory; where that takes longer than this there are none.
const completionTimeout = 2 * time.Second

// mostCompleted bounds the graphs whose ids are completed: they are read as a whole.
const mostCompleted = 5000

// values lists what a flag or an argument may be.
type values func(a *app, ctx context.Context) []string

func fixed(all ...string) values { return func(*app, context.Context) []string { return all } }

// flagValues are the values of flags, by name; a name after a command is for that command alone.
var flagValues = map[string]values{
	"profile":       fixed(profiles...),
	"import split":  fixed("train", "test", "all"),
	"import format": func(*app, context.Context) []string { return importFormats() },
	"export format": fixed(append(slices.Clone(graphFormats), "waymark")...),
	"host":          func(*app, context.Context) []string { return hostNames() },
	"tool-mode":     fixed(mcpserver.ModeAuto, mcpserver.ModeDirect, mcpserver.ModeHybrid, mcpserver.ModeDeferred),
	"kinds":         fixed("tool", "capability"),
	"scopes":        fixed("read", "write", "admin"),
	"log-level":     fixed("debug", "info", "warn", "error"),
	"progress":      fixed("auto", "plain", "json", "none"),
	"workspace":     workspaceNames,
	"after":         toolIDs, "context": toolIDs, "around": toolIDs,
	"source": sourceNames,
}

// argumentValues are the values of the first argument, by command; of all, where there may be several. Other commands with arguments of their own kind
// take texts or files.
var argumentValues = map[string]values{
	"explain":            toolIDs,
	"next":               toolIDs,
	"capability export":  capabilityIDs,
	"workspace delete":   workspaceNames,
	"keys revoke":        field("/v1/keys", "keys", "id"),
	"gateway remove":     field("/v1/servers", "servers", "id"),
	"gateway grant":      toolIDs,
	"gateway revoke":     field("/v1/servers", "grants", ""),
	"approve":            field("/v1/quarantine", "tools", "id"),
	"rule ban":           toolIDs,
	"rule pin":           toolIDs,
	"rule undo":          field("/v1/rules", "rules", "id"),
	"capability approve": proposalIDs, "capability reject": proposalIDs,
	"runs show": runIDs, "runs approve": runIDs, "runs cancel": runIDs,
	"score": fixed("hypothesis", "council", "contribution", "session"),
}

var (
	profiles       = []string{suggest.ProfileLearned, suggest.ProfileSeed}
	capabilityIDs  = field("/v1/capabilities?limit=500", "capabilities", "id")
	proposalIDs    = field("/v1/proposals?state=proposed&limit=500", "proposals", "id")
	runIDs         = field("/v1/runs", "runs", "id")
	workspaceNames = field("/v1/workspaces", "workspaces", "")
)

// fileArguments are the kinds of values, as the help of flags names them, that are completed as files.
var fileArguments = []string{"file", "folder", "directory", "path", "paths"}

func importFormats() []string {
	names := []string{"auto"}
	for _, f := range ingest.Formats() {
		names = append(names, f.Name)
	}
	return names
}

func hostNames() []string {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.name
	}
	return names
}

// complete gives every command and flag below cmd its values.
func (a *app) complete(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		a.complete(sub)
	}
	path := inWords(cmd)
	if v := argumentValues[path]; v != nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, part string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 && !strings.HasSuffix(cmd.Use, "...]") {
				return nil, cobra.ShellCompDirectiveDefault
			}
			found, directive := a.offer(cmd, v, part)
			if strings.Contains(cmd.Use, "FILE") {
				directive = cobra.ShellCompDirectiveDefault
			}
			return found, directive
		}
	} else if !cmd.HasSubCommands() && !takesFiles(cmd.Use) {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	register := func(f *pflag.Flag) {
		v := flagValues[path+" "+f.Name]
		if v == nil {
			v = flagValues[f.Name]
		}
		kind, _ := pflag.UnquoteUsage(f)
		var complete cobra.CompletionFunc
		switch {
		case v != nil:
			complete = func(cmd *cobra.Command, _ []string, part string) ([]string, cobra.ShellCompDirective) {
				return a.offer(cmd, v, part)
			}
		case slices.Contains(fileArguments, kind) || f.Value.Type() == "bool":
			return
		default:
			complete = cobra.NoFileCompletions
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err) // the same flag twice: a mistake of this file
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(register)
	if !cmd.HasParent() {
		cmd.PersistentFlags().VisitAll(register)
	}
}

// takesFiles reports whether the arguments of a command are files, by its line of usage.
func takesFiles(use string) bool {
	return slices.ContainsFunc([]string{"FILE", "PATH", "INPUT", "ARTIFACT", ".json", "A B"}, func(word string) bool { return strings.Contains(use, word) })
}

// offer lists the values that begin with part, or with what follows its last comma.
func (a *app) offer(cmd *cobra.Command, v values, part string) ([]string, cobra.ShellCompDirective) {
	if a.prepare(cmd) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	before := part[:strings.LastIndexByte(part, ',')+1]
	var found []string
	for _, value := range v(a, ctx) {
		if value = before + value; strings.HasPrefix(value, part) && clean(value) == value {
			found = append(found, value)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp
}

// field lists a field of the entries of a list that a route answers with; "" are the entries themselves.
func field(path, list, name string) values {
	return func(a *app, ctx context.Context) (found []string) {
		a.consult(ctx, func(c *client.Client) error {
			var answer map[string]json.RawMessage
			if err := read(ctx, c, path, &answer); err != nil {
				return err
			}
			if name == "" {
				return json.Unmarshal(answer[list], &found)
			}
			var entries []map[string]any
			if err := json.Unmarshal(answer[list], &entries); err != nil {
				return err
			}
			for _, e := range entries {
				if id, ok := e[name].(string); ok {
					found = append(found, id)
				}
			}
			return nil
		})
		return found
	}
}

func sourceNames(a *app, ctx context.Context) (found []string) {
	a.consult(ctx, func(c *client.Client) error {
		var stats suggest.Stats
		err := read(ctx, c, "/v1/stats", &stats)
		for name := range stats.Sources {
			found = append(found, name)
		}
		return err
	})
	return found
}

// toolIDs are the ids of the graph: of the catalog, and of tools that were only seen in episodes.
func toolIDs(a *app, ctx context.Context) (found []string) {
	a.consult(ctx, func(c *client.Client) error {
		var stats suggest.Stats
		if err := read(ctx, c, "/v1/stats", &stats); err != nil || stats.Model.Nodes > mostCompleted {
			return err
		}
		var g suggest.Export
		err := read(ctx, c, "/v1/graph?format=json", &g)
		for _, n := range g.Nodes {
			found = append(found, n.ID)
		}
		return err
	})
	return found
}

// consult runs f with a client of the data directory if there is one and it can be had at once. Nothing is said of
// failures: a completion has no place to say it.
func (a *app) consult(ctx context.Context, f func(*client.Client) error) {
	if _, err := os.Stat(a.data); err != nil {
		return // opening it would make it
	}
	if c, _ := a.remote(ctx); c != nil {
		_ = f(c)
		return
	}
	h, err := a.open(slog.New(slog.NewTextHandler(io.Discard, nil)), access{timeout: completionTimeout})
	if err != nil {
		return
	}
	_ = f(h.client(a.workspace))
	_ = h.close()
}
