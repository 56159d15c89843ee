package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/catalog"
	"waymark/internal/bounded"
	"waymark/storage"
)

func (a *app) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write all workspaces, keys and settings to a file",
		Long: `Writes every workspace and key, as they are at one moment, to a file. The file appears complete and checked, or not at
all. An existing file is replaced only on agreement, or with --yes.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.exists(); err != nil {
				return err
			}
			if isFile(args[0]) {
				if err := a.confirm(fmt.Sprintf("Replace the existing file %s?", args[0])); err != nil {
					return err
				}
			}
			return a.with(cmd.Context(), func(c *client) error {
				resp, err := c.open(cmd.Context(), "backup", nil)
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				var summary storage.BackupSummary
				err = replaceFile(args[0], func(w io.Writer) error {
					n, err := io.Copy(w, resp.Body)
					if err != nil {
						return err
					}
					if err := json.Unmarshal([]byte(resp.Trailer.Get("Waymark-Backup-Summary")), &summary); err != nil {
						return errors.New("the backup came without its summary and may be cut short")
					}
					if n != summary.Bytes {
						return fmt.Errorf("the backup arrived damaged: %d bytes instead of %d", n, summary.Bytes)
					}
					return nil
				})
				if err != nil {
					return err
				}
				return a.printSummary(summary, "backup", args[0])
			})
		},
	}
	cmd.Flags().BoolVar(&a.yes, "yes", false, "replace an existing file without asking")
	return cmd
}

func (a *app) restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
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
			where := cmp.Or(a.store, a.data)
			summary, err := storage.Restore(cmd.Context(), in, where, storage.Options{Logger: a.logger()})
			if err != nil {
				return fmt.Errorf("%s: %w", named(args[0]), err)
			}
			return a.printSummary(summary, "restored to", storage.Name(where))
		},
	}
	cmd.Flags().StringVar(&a.store, "store", "", "restore into PostgreSQL at this `URL` instead of a data directory")
	return cmd
}

func (a *app) printSummary(s storage.BackupSummary, what, where string) error {
	if a.json {
		return a.printValue(s)
	}
	a.printf("%s %s: %s, %s, %s, %d bytes, SHA-256 %s\n", what, where, catalog.Plural(s.Workspaces, "workspace"), catalog.Plural(s.Events, "event"), catalog.Plural(s.Rows, "row"), s.Bytes, s.SHA256)
	return nil
}
