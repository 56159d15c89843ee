package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"waymark/internal/bounded"
	"waymark/storage"
)

func (a *app) backupCommand() *cobra.Command {
	return a.of(operation{
		id: "backup", use: "backup FILE", short: "Write all workspaces, keys and settings to a file",
		long: `Writes every workspace and key, as they are at one moment, to a file. The file appears complete and checked, or not at
all. An existing file is replaced only on agreement, or with --yes.`,
		more: func(cmd *cobra.Command) {
			cmd.Flags().BoolVar(&a.yes, "yes", false, "replace an existing file without asking")
		},
		prepare: func(args []string, q *asked) error {
			q.input = args[0]
			if err := a.exists(); err != nil || !isFile(args[0]) {
				return err
			}
			return a.confirm(fmt.Sprintf("Replace the existing file %s?", args[0]))
		},
		around: func(ctx context.Context, c *client, q *asked, _ func() error) error {
			var summary storage.BackupSummary
			if err := q.download(ctx, c, q.input, func(n int64, trailer http.Header) error {
				if err := json.Unmarshal([]byte(trailer.Get("Waymark-Backup-Summary")), &summary); err != nil {
					return errors.New("the backup came without its summary and may be cut short")
				}
				if n != summary.Bytes {
					return fmt.Errorf("the backup arrived damaged: %d bytes instead of %d", n, summary.Bytes)
				}
				return nil
			}); err != nil {
				return err
			}
			return a.show(summary, "")
		},
	})
}

func (a *app) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a data directory from a backup",
		Long: `Makes the data directory --data, which must be new or empty, from a file written by backup. With --store it fills the
database of PostgreSQL at that URL instead, which must be empty. A backup of either can be restored into either.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := a.openInput(args[0], bounded.Transfer)
			if err != nil {
				return err
			}
			defer in.Close()
			summary, err := storage.Restore(cmd.Context(), in, cmp.Or(a.store, a.data), storage.Options{Logger: a.logger()})
			if err != nil {
				return fmt.Errorf("%s: %w", named(args[0]), err)
			}
			return a.show(summary, "")
		},
	}
}
