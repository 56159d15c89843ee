package main

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"waymark/live"
)

func (a *app) jobsCommand() *cobra.Command {
	var state string
	var limit int
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "List builds, rebuilds and other work on the model",
		Long: `Lists the jobs of the server that has the data directory, the newest first: builds and judgements that start
by themselves, rebuilds, verifications and searches for proposals. A server keeps the last 100 and forgets them when
it ends; without a server there is nothing to list but what this command itself began.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"limit": {strconv.Itoa(limit)}}
			if state != "" {
				query.Set("state", state)
			}
			return get(cmd.Context(), a, "/v1/jobs?"+query.Encode(), (*app).showJobs)
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "only jobs in this `state`: running, done, failed, canceled or refused")
	cmd.Flags().IntVar(&limit, "limit", 50, "most jobs wanted, 1 to 500")
	return cmd
}

type jobList struct {
	Jobs []live.Job `json:"jobs"`
}

func (a *app) showJobs(page jobList) {
	if len(page.Jobs) == 0 {
		a.printf("no jobs\n")
		return
	}
	var rows [][]string
	for _, j := range page.Jobs {
		left := ""
		if j.State == live.JobRunning && j.ETAMillis > 0 {
			left = (time.Duration(j.ETAMillis) * time.Millisecond).Round(time.Second).String()
		}
		rows = append(rows, []string{j.ID, string(j.State), j.StartedAt.Local().Format(time.DateTime), fmt.Sprintf("%.0f%%", 100*j.Progress), j.Phase, left,
			j.Reason, short(j.Error)})
	}
	columns(a.out, []string{"job", "state", "started", "done", "phase", "left", "reason", "error"}, rows)
}
