package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// settings are the flags that may also come from the settings file and from WAYMARK_* variables;
// defaults < file < environment < flags. Flags that grant something once (--yes)
// are left out on purpose: nobody should have them lying around in a file.
var settings = append([]string{
	"data", "store", "workspace", "json", "log-level",
	"addr", "allow-host", "allow-origin", "proxy", "tls-cert", "tls-key", "tls-client-ca",
	"profile", "limit", "progress",
}, processSettings...)

// processSettings configure the process that has the data directory. Beside a running server they have no effect.
var processSettings = []string{
	"thesaurus", "embeddings-url", "embeddings-model", "judge-url", "judge-model", "judge-timeout", "record-scores",
	"drop-intents", "drop-digests", "keep-secrets", "mine", "unload-after", "keep-for",
	"connect", "tool-mode", "expose", "suggest-after", "strict-results", "idle-stop", "result-limit",
}

// loadSettings gives every flag of cmd that was not set on the command line its value from the
// environment or the settings file.
func (a *app) loadSettings(cmd *cobra.Command) error {
	given, path, err := a.readSettings(cmd.Flags())
	if err != nil {
		return usageError{err}
	}
	a.origins = map[string]string{}
	for _, name := range settings {
		f := cmd.Flags().Lookup(name)
		value, ok := given[name]
		if f == nil || f.Changed || !ok {
			continue
		}
		a.origins[name] = origin(name, path)
		if err := setFlag(f, value); err != nil {
			return usagef("%s %w", a.origins[name], err)
		}
		f.Changed = true
	}
	for name, drop := range map[string]*bool{"drop-intents": &a.privacy.dropIntents, "drop-digests": &a.privacy.dropDigests} { // they hold for whoever writes
		value, ok := given[name]
		if cmd.Flags().Lookup(name) != nil || !ok {
			continue
		}
		var err error
		if *drop, err = strconv.ParseBool(fmt.Sprint(value)); err != nil {
			return usagef("setting %s must be true or false, got %q", name, fmt.Sprint(value))
		}
	}
	if cmd.Flags().Lookup("store") == nil && given["store"] != nil { // it is where every command finds its data
		a.store, a.origins["store"] = fmt.Sprint(given["store"]), origin("store", path)
	}
	if a.store != "" && !strings.HasPrefix(a.store, "postgres://") && !strings.HasPrefix(a.store, "postgresql://") {
		return usagef("%s is the address of a PostgreSQL database: postgres://…", a.flagName("store"))
	}
	if new(slog.Level).UnmarshalText([]byte(a.logLevel)) != nil {
		return usagef("unknown %s %q: want debug, info, warn or error", a.flagName("log-level"), a.logLevel)
	}
	if a.data == "" {
		return usagef("--data names no directory, and this user has no data directory to fall back on")
	}
	return nil
}

// readSettings returns the values of the settings file and the environment by the names of their flags. The environment
// overrides the file. path is the settings file, whether it exists or not.
func (a *app) readSettings(flags *pflag.FlagSet) (given map[string]any, path string, err error) {
	if given, path, err = a.readSettingsFile(flags); err != nil {
		return nil, path, fmt.Errorf("settings file %s: %w", path, err)
	}
	for _, name := range settings {
		if value := os.Getenv(variableOf(name)); value != "" { // empty is unset, as with XDG_* and most others
			given[name] = value
		}
	}
	return given, path, nil
}

// origin names the environment variable or the file that a setting comes from.
func origin(name, file string) string {
	if variable := variableOf(name); os.Getenv(variable) != "" {
		return variable
	}
	return "settings file " + file + ": " + name
}

func variableOf(name string) string {
	return "WAYMARK_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// flagName is what the user wrote to set a flag: the flag itself, an environment variable or a line of a file.
func (a *app) flagName(name string) string { return cmp.Or(a.origins[name], "--"+name) }

// readSettingsFile reads the settings file: --config, else WAYMARK_CONFIG, else the default one if present.
func (a *app) readSettingsFile(flags *pflag.FlagSet) (given map[string]any, path string, err error) {
	path, _ = flags.GetString("config")
	path = cmp.Or(path, os.Getenv("WAYMARK_CONFIG"))
	asked := path != ""
	path = cmp.Or(path, defaultConfigFile())
	given = map[string]any{}
	text, err := a.readFile(path)
	if err != nil {
		if !asked && errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return given, path, err
	}
	var file map[string]any
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, path, err
	}
	return given, path, flatten(given, "", file)
}

// flatten adds the settings of a part of the file, in the order of their names: {embeddings: {url: U}} is embeddings-url.
func flatten(given map[string]any, prefix string, part map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(part)) {
		if inner, ok := part[key].(map[string]any); ok {
			if err := flatten(given, prefix+key+".", inner); err != nil {
				return err
			}
			continue
		}
		name := settingName(prefix + key)
		if !slices.Contains(settings, name) {
			return fmt.Errorf("unknown setting %q; known are %s", prefix+key, strings.Join(settings, ", "))
		}
		given[name] = part[key]
	}
	return nil
}

// settingName turns ALLOW_HOST, allow_host and embeddings.url into the flag's name.
func settingName(key string) string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(key))
}

func setFlag(f *pflag.Flag, value any) error {
	if list, ok := value.([]any); ok {
		s, ok := f.Value.(pflag.SliceValue)
		if !ok {
			return errors.New("takes one value, got a list")
		}
		values := make([]string, len(list))
		for i, v := range list {
			values[i] = fmt.Sprint(v)
		}
		return s.Replace(values)
	}
	text := fmt.Sprint(value)
	if f.Value.Set(text) != nil {
		return mustBe(f, text)
	}
	return nil
}

// defaultConfigFile is where the platform keeps an application's settings; "" where this user has no such place. The
// current directory is none: whoever wrote a file there would choose the data directory.
func defaultConfigFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "waymark", "config.yaml")
}
