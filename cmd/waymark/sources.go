package main

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"waymark/suggest"
)

func (a *app) showSources(stats suggest.Stats) {
	var rows [][]string
	all, teaching := 0, 0
	for name, n := range stats.Sources {
		all, teaching = all+n, teaching+n-stats.Limited[name]
	}
	share := func(n, of int) string { return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(max(1, of))) }
	for _, name := range slices.Sorted(maps.Keys(stats.Sources)) {
		n, limited := stats.Sources[name], stats.Limited[name]
		rows = append(rows, []string{clean(name), strconv.Itoa(n), share(n, all), strconv.Itoa(limited), share(n-limited, teaching)})
	}
	if len(rows) == 0 {
		return
	}
	a.printf("\n")
	columns(a.out, []string{"source", "episodes", "share", "limited", "influence"}, rows)
}

func (a *app) auditCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "List the acts of administrators",
		Long: `Lists administrative acts over HTTP, the newest first: keys, approvals, forgotten history, rollbacks, workspaces.
They are appended to audit.jsonl in the data directory.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return get(cmd.Context(), a, "/v1/audit?"+url.Values{"limit": {strconv.Itoa(limit)}}.Encode(), (*app).showAudit)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "most acts wanted")
	return cmd
}

func (a *app) showAudit(log struct {
	Entries []struct {
		Time                          time.Time
		Act, Source, Workspace, About string
		Status                        int
	}
	Unreadable int
}) {
	if log.Unreadable > 0 {
		a.printf("lines of the log that cannot be read: %d\n", log.Unreadable)
	}
	if len(log.Entries) == 0 {
		a.printf("no acts\n")
		return
	}
	var rows [][]string
	for _, e := range log.Entries {
		rows = append(rows, []string{e.Time.Local().Format(time.DateTime), clean(e.Act), clean(e.Source), clean(e.Workspace), strconv.Itoa(e.Status), clean(e.About)})
	}
	columns(a.out, []string{"time", "act", "source", "workspace", "status", "about"}, rows)
}
