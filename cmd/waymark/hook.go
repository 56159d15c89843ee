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
results are not written. It exits with 0 whatever happens, within milliseconds:
a hook must never be in its host's way. With --whisper it may print one line for the model, in the form
that the host passes on; otherwise it prints nothing. ` + "`waymark init --host NAME --hook` or `--whisper`" + ` writes the configuration.

It reads WAYMARK_DATA and WAYMARK_WORKSPACE, and no settings file.`,
		Example: `  waymark hook --host claude-code < payload.json`,
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return hook.Main(nil, a.in, a.out, datadir.Default()) },
	}
	cmd.Flags().String("host", "claude-code", "whose payload it is: claude-code, codex or cursor")
	cmd.Flags().Bool("whisper", false, "print a line for the model where the history gives reason to")
	return cmd
}
