package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"waymark/storage"
)

// settings are the flags that may also come from the settings file and from WAYMARK_* variables; defaults < file <
// environment < flags. Flags that grant something once (--yes) are left out on purpose, so that no file grants it
// forever.
var settings = append([]string{
	"data", "store", "workspace", "json", "log-level",
	"addr", "allow-host", "allow-origin", "proxy", "tls-cert", "tls-key",
	"profile", "limit", "progress",
}, processSettings...)

// processSettings configure the process that has the data directory. If a server is already running, they have no
// effect.
var processSettings = []string{
	"thesaurus", "embeddings-url", "embeddings-model", "judge-url", "judge-model", "judge-timeout", "record-scores",
	"drop-intents", "drop-digests", "keep-secrets", "mine", "unload-after", "keep-for",
	"connect", "tool-mode", "expose", "preload", "suggest-after", "strict-results", "idle-stop", "result-limit",
}

// setting is one line of the settings that doctor shows.
type setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Origin string `json:"origin"` // flag, environment, file or default
	From   string `json:"from,omitempty"`
}

// shownSettings are the settings that a flag, a WAYMARK_* variable or the settings file may give, and that file.
type shownSettings struct {
	File     string    `json:"file"`
	Settings []setting `json:"settings"`
}

// loadSettings sets every flag of cmd that was not set on the command line from the environment or the settings file,
// and notes where each setting comes from.
func (a *app) loadSettings(cmd *cobra.Command) error {
	file, path, err := a.settingsFile(cmd.Flags())
	if err != nil {
		return usagef("settings file %s: %w", path, err)
	}
	a.settings = shownSettings{File: path}
	for _, name := range settings {
		f, value := cmd.Flags().Lookup(name), file[name]
		s, variable := setting{Name: name, Value: defaultOf(cmd.Root(), name), Origin: "default"}, "WAYMARK_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		switch given := os.Getenv(variable); {
		case f != nil && f.Changed:
			s = setting{name, f.Value.String(), "flag", "--" + name}
		case given != "": // empty is unset, as with XDG_* and most others
			s, value = setting{name, given, "environment", variable}, given
		case value != nil:
			s = setting{name, fmt.Sprint(value), "file", path}
		}
		s.Value = storage.Name(s.Value) // an address may have a password
		a.settings.Settings = append(a.settings.Settings, s)
		if f == nil || s.From == "" || s.Origin == "flag" {
			continue
		}
		if err := setFlag(f, value); err != nil {
			return usagef("%s: %w", a.flagName(name), badValue(err))
		}
		f.Changed = true
	}
	for name, variable := range map[string]string{"embeddings-key": "WAYMARK_EMBEDDINGS_KEY", "judge-key": "WAYMARK_JUDGE_KEY"} { // never shown
		s := setting{Name: name, Value: "not set", Origin: "default"}
		if os.Getenv(variable) != "" {
			s = setting{name, "set", "environment", variable}
		}
		a.settings.Settings = append(a.settings.Settings, s)
	}
	slices.SortFunc(a.settings.Settings, func(x, y setting) int { return cmp.Compare(x.Name, y.Name) })
	if a.store != "" && !strings.HasPrefix(a.store, "postgres://") && !strings.HasPrefix(a.store, "postgresql://") {
		return usagef("%s is the address of a PostgreSQL database: postgres://…", a.flagName("store"))
	}
	if a.data == "" {
		return usagef("--data names no directory, and this user has no data directory to fall back on")
	}
	return nil
}

// setting returns a setting by its name.
func (a *app) setting(name string) (s setting) {
	if i := slices.IndexFunc(a.settings.Settings, func(s setting) bool { return s.Name == name }); i >= 0 {
		s = a.settings.Settings[i]
	}
	return s
}

// flagName returns what set a flag, for errors: the flag itself, an environment variable or a line of a file.
func (a *app) flagName(name string) string {
	s := a.setting(name)
	return map[string]string{"environment": s.From, "file": "settings file " + s.From + ": " + name, "flag": s.From, "default": "--" + name}[s.Origin]
}

// defaultOf returns the default of a setting, a flag of the program or of one of its commands.
func defaultOf(root *cobra.Command, name string) string {
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		if f := cmd.LocalFlags().Lookup(name); f != nil {
			return f.DefValue
		}
	}
	return ""
}

// settingsFile reads the settings file: --config, else WAYMARK_CONFIG, else the default one if present. path is that file,
// whether it exists or not.
func (a *app) settingsFile(flags *pflag.FlagSet) (given map[string]any, path string, err error) {
	path, _ = flags.GetString("config")
	path = cmp.Or(path, os.Getenv("WAYMARK_CONFIG"))
	asked := path != ""
	path = cmp.Or(path, defaultConfigFile())
	text, err := a.readFile(path)
	if !asked && errors.Is(err, fs.ErrNotExist) {
		return nil, path, nil
	}
	if err == nil {
		err = yaml.Unmarshal(text, &given)
	}
	for name := range given {
		if !slices.Contains(settings, name) {
			err = cmp.Or(err, fmt.Errorf("unknown setting %q; known are %s", name, strings.Join(settings, ", ")))
		}
	}
	return given, path, err
}

func setFlag(f *pflag.Flag, value any) error {
	list, many := value.([]any)
	if _, takes := f.Value.(pflag.SliceValue); many && !takes {
		return errors.New("takes one value, got a list")
	}
	if !many {
		list = []any{value}
	}
	for _, v := range list { // the first one replaces the default
		if err := f.Value.Set(fmt.Sprint(v)); err != nil {
			return err
		}
	}
	return nil
}

// defaultConfigFile returns the settings file where the platform keeps those of applications, or "" if this user has no
// such place. It never looks in the current directory: whoever can write there would choose the data directory.
func defaultConfigFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "waymark", "config.yaml")
}
