package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waymark/catalog"
	"waymark/ingest/hook"
	"waymark/live"
)

// flagError returns the error of the flag parser, with similar flags if the flag is unknown.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		names := func(yield func(string, uint64) bool) {
			more := true
			cmd.Flags().VisitAll(func(f *pflag.Flag) { more = more && (f.Hidden || yield("--"+f.Name, 0)) })
		}
		if near := catalog.Near(unknown.GetSpecifiedName(), names); len(near) > 0 {
			return fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
		}
	}
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Errorf("--%s: %w", wrong.GetFlag().Name, badValue(wrong.Unwrap()))
	}
	return err
}

// badValue returns the error of a flag's value without the names of Go's functions.
func badValue(err error) error {
	if wrong, ok := errors.AsType[*strconv.NumError](err); ok {
		want := map[bool]string{true: "true or false", false: "a number"}[wrong.Func == "ParseBool"]
		return fmt.Errorf("want %s, got %q", want, wrong.Num)
	}
	return err
}

// elsewhere returns the flags, each after a space, that another command needs to use the same data directory and
// workspace.
func (a *app) elsewhere() (flags string) {
	if a.data != hook.DataDir() && a.data != os.Getenv("WAYMARK_DATA") { // the next command has the same environment
		flags += " --data " + live.ShellWord(a.data)
	}
	if a.workspace != live.DefaultWorkspace {
		flags += " --workspace " + a.workspace
	}
	return flags
}
