package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waymark/catalog"
	"waymark/internal/datadir"
	"waymark/live"
)

// flagError is what the parser of flags says, as a sentence about the flag.
func flagError(cmd *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("--%s %w", wrong.GetFlag().Name, mustBe(wrong.GetFlag(), wrong.GetValue()))
	case errors.As(err, &unknown):
		names := func(yield func(string, uint64) bool) {
			more := true
			cmd.Flags().VisitAll(func(f *pflag.Flag) { more = more && (f.Hidden || yield("--"+f.Name, 0)) })
		}
		if near := catalog.Near(unknown.GetSpecifiedName(), names); len(near) > 0 {
			return fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
		}
	}
	return err
}

// flagKinds are the types of flags as people call them.
var flagKinds = map[string]string{
	"int": "a whole number", "float64": "a number", "bool": "true or false", "stringSlice": "a list with commas between its elements",
	"duration": "a duration in h, m and s, as in 720h or 1m30s", "days": "a duration in w, d, h, m or s, as in 30d or 720h",
}

// mustBe says what kind of value a flag takes in place of the one it got.
func mustBe(f *pflag.Flag, got string) error {
	kind := cmp.Or(flagKinds[f.Value.Type()], "a "+f.Value.Type())
	if c, counts := f.Value.(*count); counts && c.least > 0 {
		kind += fmt.Sprintf(" of at least %d", c.least)
	}
	return fmt.Errorf("must be %s, got %q", kind, got)
}

// checkFile refuses the file that a flag names for writing, before anything is done for it, where it cannot be one.
func checkFile(flag, path string) error {
	if folder := filepath.Dir(path); !isFolder(folder) {
		return usagef("--%s %s: there is no folder %s", flag, path, folder)
	}
	if isFolder(path) {
		return usagef("--%s %s is a folder, and must be a file", flag, path)
	}
	return nil
}

// lasting is a duration that may also be a number of days or weeks, as in 30d.
type lasting time.Duration

func (l *lasting) Set(text string) error {
	d, err := time.ParseDuration(text)
	for ending, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(text, ending); ok {
			var n int64
			if n, err = strconv.ParseInt(number, 10, 16); err == nil { // more would be no duration
				d = time.Duration(n) * unit
			}
		}
	}
	*l = lasting(d)
	return err
}

func (l *lasting) String() string { return time.Duration(*l).String() }
func (*lasting) Type() string     { return "days" }

// elsewhere are the flags, each after a space, that a command needs which is to meet the same data.
func (a *app) elsewhere() (flags string) {
	if a.data != datadir.Default() {
		flags += " --data " + shellWord(a.data)
	}
	if a.workspace != live.DefaultWorkspace {
		flags += " --workspace " + a.workspace
	}
	return flags
}

// apart refuses a flag beside others that do not go with it.
func apart(cmd *cobra.Command, one string, others ...string) {
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if i := slices.IndexFunc(others, cmd.Flags().Changed); i >= 0 && cmd.Flags().Changed(one) {
			return usagef("--%s and --%s exclude each other; see `%s --help`", one, others[i], cmd.CommandPath())
		}
		if before != nil {
			return before(cmd, args)
		}
		return nil
	}
}

// count is a number whose absence has a meaning of its own, which 0 has not: as in the API, there may be a least one.
type count struct {
	least int
	given string
}

func (c *count) String() string { return c.given }

func (c *count) Type() string { return "int" }

// Set implements pflag.Value.
func (c *count) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < c.least {
		return strconv.ErrRange // mustBe says the rest
	}
	c.given = strconv.Itoa(n)
	return nil
}
