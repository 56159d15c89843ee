package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waymark/ingest"
	mcpserver "waymark/server/mcp"
	"waymark/suggest"
)

// flagValues are the values of flags that are no fields of a request; a name after a command is for that command alone.
var flagValues = map[string][]string{
	"import split":  {"all", "test", "train"},
	"import format": importFormats(),
	"export format": {"dot", "graphml", "json", "mermaid", "waymark"},
	"host":          hostNames(),
	"tool-mode":     {mcpserver.ModeAuto, mcpserver.ModeDeferred, mcpserver.ModeDirect, mcpserver.ModeHybrid},
	"log-level":     {"debug", "error", "info", "warn"},
	"progress":      {"auto", "json", "none", "plain"},
}

// fileArguments are the kinds of values, as the help of flags names them, that are completed as files.
var fileArguments = []string{"file", "folder", "directory", "path", "paths"}

// profiles are the ways to rank.
var profiles = []string{suggest.ProfileLearned, suggest.ProfileSeed}

func importFormats() []string {
	names := []string{"auto"}
	for _, f := range ingest.Formats() {
		names = append(names, f.Name)
	}
	return names
}

// complete gives the flags of every command below cmd their values, and offers files only where files belong.
func complete(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		complete(sub)
	}
	path := inWords(cmd)
	if !cmd.HasSubCommands() && !takesFiles(cmd.Use) {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	register := func(f *pflag.Flag) {
		kind, _ := pflag.UnquoteUsage(f)
		values := flagValues[path+" "+f.Name]
		if values == nil {
			values = flagValues[f.Name]
		}
		if values != nil || !slices.Contains(fileArguments, kind) && f.Value.Type() != "bool" {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, oneOf(values)) // an error says that the flag has its values
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(register)
	if !cmd.HasParent() {
		cmd.PersistentFlags().VisitAll(register)
	}
}

// oneOf offers the values that begin with what is written.
func oneOf(values []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, part string) (found []string, _ cobra.ShellCompDirective) {
		for _, v := range values {
			if strings.HasPrefix(v, part) {
				found = append(found, v)
			}
		}
		slices.Sort(found)
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// takesFiles reports whether the arguments of a command are files, by its line of usage.
func takesFiles(use string) bool {
	return slices.ContainsFunc([]string{"FILE", "PATH", "INPUT", "ARTIFACT", ".json", "A B"}, func(word string) bool { return strings.Contains(use, word) })
}
