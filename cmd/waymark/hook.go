package main

import (
	"github.com/spf13/cobra"

	"waymark/ingest/hook"
	"waymark/internal/datadir"
)

// hookCommand is here for its help: run carries it out before anything else is set up.
func (a *app) hookCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "Record the tool calls that a host reports to its hooks",
		Long: `Reads the payload of a host's hook from standard input and leaves what a history needs of it in the
data directory, where a running server, or the next command, takes it in. Values of arguments and
results are not written. It prints nothing and exits with 0 whatever happens, within milliseconds:
a hook must never be in its host's way. ` + "`waymark init --host NAME --hook`" + ` writes the configuration.

It reads WAYMARK_DATA and WAYMARK_WORKSPACE, and no settings file.`,
		Example: `  waymark hook --host claude-code < payload.json`,
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return hook.Main(nil, a.in, datadir.Default()) },
	}
	cmd.Flags().String("host", "claude-code", "whose payload it is: claude-code or codex")
	return cmd
}
