package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/waymark/internal/client"
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
	if who.logOptions.Holder, err = eventlog.Holder(ctx, h.store, host+":"+h.dir); err != nil {
		return err
	}
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
	if who.fleetOwners > 0 {
		h.fleet, err = h.control.Join(ctx, who.fleetAddress, who.fleetOwners)
	}
	return err
}

func (a *app) fleetCommand() *cobra.Command {
	status := &cobra.Command{
		Use:   "status [URL …]",
		Short: "Compare position, lag and model hash of replicas",
		Long: `Asks each server for the position, the lag and the hash of its model: by default the one that has the data directory. The
key for servers named by a URL comes from WAYMARK_KEY. Exits 1 if one does not answer or refuses to serve, cannot reach the log,
or has another model than another replica at the same position and build.`,
		Example: "  waymark fleet status http://a:7070 http://b:7070",
		RunE:    func(cmd *cobra.Command, urls []string) error { return a.fleetStatus(cmd.Context(), urls) },
	}
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
	return group("fleet", "Look at servers that share a log, and upgrade them", status, upgrade)
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

// replicaSeen is what a server says about itself, and what is wrong with it.
type replicaSeen struct {
	Server string `json:"server"`
	live.Replica
	Fleet *struct {
		Owners  []string `json:"owners"`
		Held    bool     `json:"held"`
		Live    []string `json:"live"`
		Open    int      `json:"workspaces_open"`
		Started int      `json:"workspaces_started"`
		Problem string   `json:"problem"`
	} `json:"fleet,omitempty"`
	Problem string `json:"problem,omitempty"`
}

func (a *app) fleetStatus(ctx context.Context, urls []string) error {
	var clients []*client.Client
	for _, url := range urls {
		clients = append(clients, &client.Client{
			HTTP: &http.Client{Timeout: 10 * time.Second, CheckRedirect: noRedirect}, Base: strings.TrimSuffix(url, "/"), Token: os.Getenv("WAYMARK_KEY"),
		})
	}
	if len(clients) == 0 {
		c, _ := a.remote(ctx)
		if c == nil {
			return fmt.Errorf("no server has the data directory %s; name servers by their URLs", a.data)
		}
		clients = append(clients, c)
	}
	seen := make([]replicaSeen, len(clients))
	for i, c := range clients {
		seen[i].Server = c.Base
		body, err := c.Call(ctx, http.MethodGet, "/v1/replica", nil)
		if err == nil {
			err = json.Unmarshal(body, &seen[i])
		}
		switch seen[i].Problem = seen[i].Error; {
		case err != nil:
			seen[i].Problem = err.Error()
		case seen[i].Fleet != nil && seen[i].Fleet.Problem != "":
			seen[i].Problem = seen[i].Fleet.Problem
		}
	}
	return a.printFleet(compared(seen))
}

// compared notes which replicas have different models of one version: events and build are the same, so the hash must be.
func compared(seen []replicaSeen) []replicaSeen {
	for i := range seen {
		for _, other := range seen { // one that does not have the workspace has no version
			if seen[i].Problem == "" && other.Version == seen[i].Version && other.Workspace == seen[i].Workspace && other.Hash != seen[i].Hash {
				seen[i].Problem = "its model differs from that of " + other.Server
			}
		}
	}
	return seen
}

func (a *app) printFleet(seen []replicaSeen) error {
	var failed error
	var rows, loads [][]string
	var owners []string
	for _, r := range seen {
		state := "ok"
		switch {
		case r.Problem != "":
			state, failed = r.Problem, errNegative
		case r.Lag > 0:
			state = "catching up"
		case r.Fleet != nil && !r.Fleet.Held:
			state = "has another part of the workspaces"
		}
		hash := strings.TrimPrefix(r.Hash, "sha256:")
		rows = append(rows, []string{r.Server, fmt.Sprint(r.Position), fmt.Sprint(r.Lag), formats(r.Replica), hash[:min(12, len(hash))], map[bool]string{true: "yes", false: "no"}[r.Builds], state})
		if r.Fleet != nil {
			owners = r.Fleet.Owners
			loads = append(loads, []string{r.Server, strings.Join(r.Fleet.Live, " "), fmt.Sprint(r.Fleet.Open), fmt.Sprint(r.Fleet.Started)})
		}
	}
	if a.json {
		if err := a.printValue(map[string]any{"replicas": seen}); err != nil {
			return err
		}
	} else {
		columns(a.out, []string{"server", "position", "lag", "format", "model", "builds", "state"}, rows)
		if len(loads) > 0 {
			a.printf("\nowners of the workspace, the first answers: %s\n\n", strings.Join(owners, " "))
			columns(a.out, []string{"server", "replicas that it asks", "workspaces", "up to date"}, loads)
		}
	}
	return failed
}

// formats are the active event format and, if it is a higher one, that which a replica reads.
func formats(r live.Replica) string {
	switch {
	case r.Format == 0: // it says why
		return "-"
	case r.Reads > r.Format:
		return fmt.Sprintf("%d, reads %d", r.Format, r.Reads)
	}
	return fmt.Sprint(r.Format)
}
