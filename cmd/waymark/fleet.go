package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"waymark/live"
	"waymark/storage"
	"waymark/storage/eventlog"
)

// sharedLogRow names the shared log that a data directory has a copy of.
const sharedLogRow = "shared-log"

// openPatience is how long a start waits for the log where the data directory has a copy of it.
var openPatience = 10 * time.Second

// joinLog opens the shared log at an address. A data directory that has a copy of a log is opened with that log alone:
// what a process without it appends would be in no other replica.
func (h *house) joinLog(who access) error {
	address := who.log
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	was, _, err := h.store.System().Get(ctx, sharedLogRow)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	if address == "" {
		if len(was) > 0 {
			return fmt.Errorf("the data directory %s is a copy of the log at %s: start waymark serve --log with it, or copy the log into a new directory (waymark migrate --from)", h.dir, was)
		}
		return nil
	}
	host, _ := os.Hostname() // empty if there is none: the name of the directory is enough, unless it was copied
	if h.holder, err = eventlog.Holder(ctx, h.store, host+":"+h.dir); err != nil {
		return err
	}
	who.logOptions.Holder = h.holder
	if string(was) == eventlog.Name(address) { // there is something to answer with while the log is down
		brief, cancel := context.WithTimeout(ctx, openPatience)
		defer cancel()
		h.log, err = eventlog.OpenLater(brief, address, who.logOptions)
	} else {
		h.log, err = eventlog.Open(ctx, address, who.logOptions)
	}
	if err != nil {
		return err
	}
	if _, err = h.store.System().Put(ctx, sharedLogRow, []byte(eventlog.Name(address))); err != nil {
		return err
	}
	h.control, err = eventlog.Share(ctx, h.store, h.log, live.Format)
	if err != nil {
		return err
	}
	h.store = h.control
	h.control.SetGrace(who.keyGrace)
	return nil
}

func (a *app) fleetCommand() *cobra.Command {
	var address string
	var opts eventlog.Options
	upgrade := &cobra.Command{
		Use:   "upgrade --log URL",
		Short: "Activate the event format of this version, once all replicas have it",
		Long: `Servers write the active event format of their log, and read those of earlier versions. After the last one runs
this version of the program, this command activates its format. It refuses while a live server reads none as high.
There is no way back: from then on servers of earlier versions refuse to start.`,
		Example: "  waymark fleet upgrade --log 'postgres://waymark@db.example.org/waymark?sslmode=verify-full'",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if address == "" {
				return usagef("fleet upgrade needs --log with the URL of the log")
			}
			return a.fleetUpgrade(cmd.Context(), address, opts)
		},
	}
	upgrade.Flags().StringVar(&address, "log", "", "the log that the servers share, by its `URL`")
	upgrade.Flags().BoolVar(&opts.Unsafe, "log-unsafe", false, "accept servers whose settings can lose acknowledged events")
	return group("fleet", "Upgrade servers that share a log", upgrade)
}

func (a *app) fleetUpgrade(ctx context.Context, address string, opts eventlog.Options) (err error) {
	log, err := eventlog.Open(ctx, address, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	was, err := eventlog.Raise(ctx, log, live.Format)
	if err != nil {
		return err
	}
	if a.json {
		return a.printValue(map[string]int{"before": was, "format": live.Format})
	}
	if was == live.Format {
		a.printf("event format %d, the one of this version, is active\n", was)
	} else {
		a.printf("event format %d is active; it was %d\n", live.Format, was)
	}
	return nil
}
