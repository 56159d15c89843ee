package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"waymark/storage"
	"waymark/storage/eventlog"
)

func (a *app) migrateCommand() *cobra.Command {
	var to, from string
	var opts eventlog.Options
	cmd := &cobra.Command{
		Use:   "migrate --to URL | --from URL",
		Short: "Copy the history to PostgreSQL, or back",
		Long: `Copies the history of every workspace between the data directory and a database of PostgreSQL
(postgres://…), and reads the copy back: each event has to
have the hash that the source has. A later call copies what is new; one that was interrupted goes on where it
stopped. No server may have the data directory meanwhile. Keys, quarantine and proposals are copied too: the
target has those of the source afterwards and no others. Runs, logged scores and consents of the gateway are not:
waymark backup has them.

Passwords belong into the environment (PGPASSWORD, PGPASSFILE) rather than into the URL. Settings of the servers that can lose acknowledged events are refused unless
--log-unsafe is given.`,
		Example: `  waymark migrate --to 'postgres://waymark@db.example.org/waymark?sslmode=verify-full'
  waymark migrate --from postgres://waymark@db.example.org/waymark --data /var/lib/waymark-new`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (to == "") == (from == "") {
				return usagef("migrate needs either --to or --from, with the URL of a log")
			}
			return a.migrate(cmd.Context(), to, from, opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&to, "to", "", "copy from the data directory to the log at this `URL`")
	f.StringVar(&from, "from", "", "copy into the data directory from the log at this `URL`")
	f.BoolVar(&opts.Unsafe, "log-unsafe", false, "accept servers whose settings can lose acknowledged events")
	return cmd
}

func (a *app) migrate(ctx context.Context, to, from string, opts eventlog.Options) error {
	dir, err := filepath.Abs(a.data)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); to != "" && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("migrate: there is no data directory %s", dir)
	}
	copies := []eventlog.Copied{}
	if err := a.copyHistory(ctx, dir, to, from, opts, func(c eventlog.Copied) {
		copies = append(copies, c)
		if !a.json {
			a.printf("workspace %s: %d events copied, %d were there; the copy ends at event %d with hash %x\n", c.Workspace, c.Copied, c.Before, c.Head.Seq, c.Head.Chain)
		}
	}, nil); err != nil {
		return err
	}
	if a.json {
		return a.printValue(copies)
	}
	if len(copies) == 0 {
		a.printf("there is no history to copy\n")
	}
	return nil
}

// copyHistory copies a data directory to a log, or a log to a data directory, and then lets use, if any, have the store.
func (a *app) copyHistory(ctx context.Context, dir, to, from string, opts eventlog.Options, copied func(eventlog.Copied), use func(storage.Store) error) (err error) {
	remote, err := eventlog.Open(ctx, to+from, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remote.Close()) }()
	store, err := storage.Open(dir, storage.Options{Logger: a.logger()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	renamed, err := eventlog.LogNames(ctx, remote)
	if err != nil {
		return err
	}
	source, target := eventlog.Log(eventlog.NewLocal(store)), eventlog.Log(eventlog.Renamed{Log: remote, Names: renamed})
	if from != "" {
		source, target = target, source
	}
	names, err := source.Workspaces(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == eventlog.ControlLog {
			continue
		}
		c, err := eventlog.Copy(ctx, source, target, name)
		if err != nil {
			return err
		}
		copied(c)
		if c.Kept > 0 {
			fmt.Fprintf(a.errs, "waymark: workspace %s: the copy still has the text of %d events that were forgotten since; remove the copy and migrate again\n", name, c.Kept)
		}
	}
	if to != "" {
		_, err = eventlog.PublishControl(ctx, store, remote)
	} else {
		_, err = eventlog.FetchControl(ctx, remote, store)
	}
	if err != nil {
		return fmt.Errorf("copy keys and other control data: %w", err)
	}
	if use != nil {
		return use(store)
	}
	return nil
}
