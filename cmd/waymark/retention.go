package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"waymark/internal/plural"
	"waymark/live"
	"waymark/storage"
)

// keepFlags are the retention rules.
func (a *app) keepFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var((*lasting)(&a.keep.For), "keep-for", "forget episodes whose last step is older than this `duration`, as in 90d or 2160h; 0: no limit")
	f.IntVar(&a.keep.Episodes, "keep-episodes", 0, "keep the newest `N` episodes of each workspace and forget the others; 0: no limit")
}

// retentionState is the answer of GET /v1/retention.
type retentionState struct {
	live.RetentionReport
	Disk *struct {
		storage.Space
		DaysUntilFull *float64 `json:"days_until_full"`
		After         []struct {
			Days  int    `json:"days"`
			Bytes uint64 `json:"bytes"`
		} `json:"after"`
	} `json:"disk"`
}

func (a *app) retentionCommand() *cobra.Command {
	var apply, dryRun, yes bool
	cmd := &cobra.Command{
		Use:   "retention",
		Short: "Show what the retention rules would forget, and the growth of the log",
		Long: `Shows the episodes that --keep-for and --keep-episodes would forget now, the size of the log and its
snapshots, episodes a day, and how long the disk lasts at the present rate. Without these flags the rules are
those of the server. Nothing is changed unless --apply is given, which forgets these episodes as waymark forget
does. A server with rules applies them by itself, at its start and once a day.`,
		Example: `  waymark retention
  waymark retention --keep-for 90d
  waymark retention --keep-episodes 50000 --apply`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if apply && dryRun && cmd.Flags().Changed("dry-run") {
				return usagef("--apply and --dry-run exclude each other")
			}
			rules, query := map[string]any{}, url.Values{}
			if a.keep.For != 0 {
				rules["keep_for"] = a.keep.For.String()
				query.Set("keep_for", a.keep.For.String())
			}
			if a.keep.Episodes != 0 {
				rules["keep_episodes"] = a.keep.Episodes
				query.Set("keep_episodes", strconv.Itoa(a.keep.Episodes))
			}
			if !apply {
				return get(cmd.Context(), a, "/v1/retention?"+query.Encode(), (*app).showRetention)
			}
			if err := a.confirm(yes, fmt.Sprintf("Forget the episodes of workspace %q that the rules do not keep, for good?", a.workspace)); err != nil {
				return err
			}
			return call(cmd.Context(), a, http.MethodPost, "/v1/retention", rules, func(a *app, r struct {
				live.ForgetResult
				Episodes int `json:"episodes"`
			}) {
				a.printf("forgot %s, %s; the log is at %d\n", plural.Of(r.Episodes, "episode"), plural.Of(r.Erased, "event"), r.Seq)
			})
		},
	}
	a.keepFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&apply, "apply", false, "forget these episodes")
	f.BoolVar(&dryRun, "dry-run", true, "show them only")
	f.BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func (a *app) showRetention(r retentionState) {
	switch {
	case r.KeepForMillis == 0 && r.KeepEpisodes == 0:
		a.printf("rules      none: every episode is kept\n")
	default:
		a.printf("rules      keep-for %s, keep-episodes %d (0: no limit)\n", time.Duration(r.KeepForMillis)*time.Millisecond, r.KeepEpisodes)
		a.printf("due        %d of %s, %s, %s\n", r.Due.Episodes, plural.Of(r.Episodes, "episode"), plural.Of(r.Due.Events, "event"), mebibytes(float64(r.Due.Bytes)))
		if !r.Due.From.IsZero() {
			a.printf("           from %s to %s\n", r.Due.From.Format(time.RFC3339), r.Due.To.Format(time.RFC3339))
		}
	}
	a.printf("log        %s, %s of %.0f bytes each\n", mebibytes(float64(r.LogBytes)), plural.Of(r.Episodes, "episode"), r.BytesPerEpisode)
	a.printf("snapshots  %s\n", mebibytes(float64(r.SnapshotBytes)))
	a.printf("growth     %.1f episodes and %s a day, in the last 30 days\n", r.EpisodesPerDay, mebibytes(r.BytesPerDay))
	if r.Disk == nil {
		return
	}
	a.printf("disk       %s used, %s free, of which %s stay free\n", mebibytes(float64(r.Disk.Used)), mebibytes(float64(r.Disk.Free)), mebibytes(float64(r.Disk.Reserve)))
	for _, f := range r.Disk.After {
		a.printf("           %s after %s\n", mebibytes(float64(f.Bytes)), plural.Of(f.Days, "day"))
	}
	if r.Disk.DaysUntilFull != nil {
		a.printf("full       in %.0f days at this rate\n", *r.Disk.DaysUntilFull)
	}
}

func mebibytes(n float64) string { return fmt.Sprintf("%.1f MiB", n/(1<<20)) }
