package main

import (
	"fmt"
	"time"

	"waymark/live"
)

type jobList struct {
	Jobs []live.Job `json:"jobs"`
}

func (a *app) showJobs(page jobList) {
	if len(page.Jobs) == 0 {
		return
	}
	a.printf("\n")
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
