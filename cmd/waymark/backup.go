package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"waymark/cmd/waymark/internal/client"
	"waymark/internal/plural"
	"waymark/storage"
	"waymark/storage/eventlog"
)

// backupTrailer is the length of the last frame of a backup: a frame header, three counts, and the
// SHA-256 of all bytes before the frame (see package storage).
const backupTrailer = 9 + 3*8 + sha256.Size

func (a *app) backupCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write all workspaces, keys and settings to a file",
		Long: `Writes every workspace and key, as they are at one moment, to a file. It may run beside a server, which
goes on taking writes. The file appears complete and checked, or not at all. An existing file is replaced
only on agreement, or with --yes.`,
		Args: exactly(1, "a file to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if isFile(args[0]) {
				if err := a.confirm(yes, fmt.Sprintf("Replace the existing file %s?", args[0])); err != nil {
					return err
				}
			}
			return a.with(cmd.Context(), func(c *client.Client) error {
				resp, err := c.Do(cmd.Context(), client.Request{Method: http.MethodGet, Path: "/v1/backup"})
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				var summary storage.BackupSummary
				err = replaceFile(args[0], func(w io.Writer) error {
					var sum tailless
					n, err := io.Copy(io.MultiWriter(w, &sum), resp.Body)
					if err != nil {
						return err
					}
					if err := json.Unmarshal([]byte(resp.Trailer.Get("Waymark-Backup-Summary")), &summary); err != nil {
						return errors.New("the backup came without its summary and may be cut short")
					}
					if n != summary.Bytes || sum.hex() != summary.SHA256 {
						return fmt.Errorf("the backup arrived damaged: %d bytes with SHA-256 %s instead of %d with %s", n, sum.hex(), summary.Bytes, summary.SHA256)
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
	cmd.Flags().BoolVar(&yes, "yes", false, "replace an existing file without asking")
	return cmd
}

// restoreLog copies a backup into a log that has nothing, or the beginning of it after a call that was interrupted.
func (a *app) restoreLog(ctx context.Context, in io.Reader, name, address string, opts eventlog.Options) (err error) {
	remote, err := eventlog.Open(ctx, address, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remote.Close()) }()
	there, err := remote.Workspaces(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(there, eventlog.ControlLog) { // written last
		return fmt.Errorf("restore %s: the log at %s is in use; name a new one", name, eventlog.Name(address))
	}
	dir, err := os.MkdirTemp("", "waymark-restore-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	data := filepath.Join(dir, "data")
	summary, err := storage.Restore(ctx, in, data, storage.Options{Logger: a.logger()})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	store, err := storage.Open(data, storage.Options{Logger: a.logger()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	source := eventlog.NewLocal(store)
	names, err := source.Workspaces(ctx)
	if err != nil {
		return err
	}
	for _, workspace := range names {
		if err := eventlog.Copy(ctx, source, remote, workspace); err != nil {
			return fmt.Errorf("restore %s: %w", name, err)
		}
	}
	if err := eventlog.PublishControl(ctx, store, remote); err != nil {
		return fmt.Errorf("restore %s: copy keys and other control data: %w", name, err)
	}
	return a.printSummary(summary, "restored to", eventlog.Name(address))
}

func (a *app) restoreCommand() *cobra.Command {
	var log string
	var opts eventlog.Options
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a data directory from a backup",
		Long: `Makes the data directory --data, which must be new or empty, from a file written by backup. With --log it fills the
log of PostgreSQL at that URL instead, which must be new.`,
		Args: exactly(1, "a backup file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, name, err := a.openInput(args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			if log != "" {
				return a.restoreLog(cmd.Context(), in, name, log, opts)
			}
			if entries, err := os.ReadDir(a.data); err == nil && len(entries) > 0 {
				return fmt.Errorf("restore %s: data directory %s is not empty; name a new one with --data", name, a.data)
			}
			summary, err := storage.Restore(cmd.Context(), in, a.data, storage.Options{Logger: a.logger()})
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return a.printSummary(summary, "restored to", a.data)
		},
	}
	cmd.Flags().StringVar(&log, "log", "", "restore into the log at this `URL` instead of a data directory")
	cmd.Flags().BoolVar(&opts.Unsafe, "log-unsafe", false, "accept servers whose settings can lose acknowledged events")
	return cmd
}

func (a *app) printSummary(s storage.BackupSummary, what, where string) error {
	if a.json {
		return a.printValue(s)
	}
	a.printf("%s %s: %s, %s, %s, %d bytes, SHA-256 %s\n", what, where, plural.Of(s.Workspaces, "workspace"), plural.Of(s.Events, "event"), plural.Of(s.Rows, "row"), s.Bytes, s.SHA256)
	return nil
}

// tailless is the SHA-256 of everything written but the trailer.
type tailless struct {
	tail []byte
	h    hash.Hash
}

func (t *tailless) Write(b []byte) (int, error) {
	if t.h == nil {
		t.h = sha256.New()
	}
	t.tail = append(t.tail, b...)
	if n := len(t.tail) - backupTrailer; n > 0 {
		t.h.Write(t.tail[:n])
		t.tail = append(t.tail[:0], t.tail[n:]...)
	}
	return len(b), nil
}

func (t *tailless) hex() string {
	if t.h == nil {
		return ""
	}
	return hex.EncodeToString(t.h.Sum(nil))
}
