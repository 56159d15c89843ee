package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waymark/storage"
)

// setting is one line of the settings that doctor shows.
type setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Origin string `json:"origin"` // flag, environment, file or default
	From   string `json:"from,omitempty"`
}

// secretVariables are read by the process and never shown.
var secretVariables = []string{"WAYMARK_JUDGE_KEY", "WAYMARK_EMBEDDINGS_KEY"}

// shownSettings are the settings that a flag, a WAYMARK_* variable or the settings file may give, and that file.
type shownSettings struct {
	File     string    `json:"file"`
	Exists   bool      `json:"exists"`
	Settings []setting `json:"settings"`
}

func (a *app) settingsOf(cmd *cobra.Command) (answer shownSettings, err error) {
	given, path, err := a.readSettings(cmd.Flags())
	if err != nil {
		return answer, usageError{err}
	}
	answer.File, answer.Exists = path, isFile(path)
	for _, name := range slices.Sorted(slices.Values(settings)) {
		value, isGiven := given[name]
		s := setting{Name: name, Value: findFlag(cmd.Root(), name).DefValue, Origin: "default"}
		switch own := cmd.Flags().Lookup(name); {
		case own != nil && own.Changed && a.origins[name] == "":
			s.Value, s.Origin, s.From = own.Value.String(), "flag", "--"+name
		case isGiven:
			s.Value, s.Origin, s.From = fmt.Sprint(value), "file", path
			if variable := variableOf(name); os.Getenv(variable) != "" {
				s.Origin, s.From = "environment", variable
			}
		}
		s.Value = storage.Name(s.Value) // an address may have a password
		answer.Settings = append(answer.Settings, s)
	}
	for _, variable := range secretVariables {
		s := setting{Name: strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, "WAYMARK_"), "_", "-")), Value: "not set", Origin: "default"}
		if os.Getenv(variable) != "" {
			s.Value, s.Origin, s.From = "set", "environment", variable
		}
		answer.Settings = append(answer.Settings, s)
	}
	return answer, nil
}

// findFlag is the first flag of a name in the tree of commands.
func findFlag(cmd *cobra.Command, name string) *pflag.Flag {
	if f := cmd.LocalFlags().Lookup(name); f != nil && (name != "split" || cmd.Name() != "import") { // the --split of import is another
		return f
	}
	for _, sub := range cmd.Commands() {
		if f := findFlag(sub, name); f != nil {
			return f
		}
	}
	return nil
}
