package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/waymark/internal/client"
	"waymark/evaluate"
	"waymark/internal/plural"
	"waymark/live"
)

func (a *app) rebuildCommand() *cobra.Command {
	var verify, force bool
	var style string
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Replay the log into a fresh model",
		Long: `Judges by held-out tasks which profile answers what from now on, replays the whole log into a fresh
model and waits until that is done. Where the same tasks say that the fresh model would lose more than
noise against the one in force, it is not published, and the command exits 1; --force publishes it
nevertheless. With --verify the fresh model is compared with the running one, byte for byte, nothing is
judged, and the command exits 1 on any difference. An interrupt cancels the rebuild; the model stays as
it is.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bar, err := a.progress(style, "rebuild", 1000)
			if err != nil {
				return err
			}
			return a.with(cmd.Context(), func(c *client.Client) error {
				return a.rebuild(cmd.Context(), c, map[string]bool{"verify": verify, "force": force}, bar)
			})
		},
	}
	cmd.Flags().BoolVar(&verify, "verify", false, "compare the replay with the running model; exit 1 if they differ")
	cmd.Flags().BoolVar(&force, "force", false, "publish the model even if it ranks worse than the active one")
	apart(cmd, "verify", "force")
	progressFlag(cmd, &style)
	return cmd
}

func (a *app) rebuild(ctx context.Context, c *client.Client, how map[string]bool, bar progress) error {
	job, body, err := a.follow(ctx, c, "/v1/rebuild", how, bar)
	if err != nil {
		return err
	}
	if a.json {
		if err := a.printBody(body); err != nil {
			return err
		}
	} else {
		a.showJob(job)
	}
	switch {
	case job.State == live.JobRefused:
		return errNegative
	case job.State != live.JobDone:
		return fmt.Errorf("rebuild %s: %s %s", job.ID, job.State, job.Error)
	case how["verify"] && (job.Verify == nil || !job.Verify.Equal):
		return errNegative
	}
	return nil
}

// follow starts a job and waits for its end.
func (a *app) follow(ctx context.Context, c *client.Client, path string, question any, bar progress) (job live.Job, body json.RawMessage, err error) {
	began := time.Now()
	if body, err = c.Call(ctx, http.MethodPost, path, question); err != nil {
		return job, nil, err
	}
	defer func() { a.abandon(ctx, c, job, began) }()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		if err := json.Unmarshal(body, &job); err != nil {
			return job, nil, fmt.Errorf("%s: the answer is not what this program expects: %w", path, err)
		}
		bar.at(int64(job.Progress*1000), job.Phase)
		if job.State != live.JobRunning {
			bar.done()
			return job, body, nil
		}
		select {
		case <-ctx.Done():
			return job, nil, ctx.Err()
		case <-time.After(wait):
		}
		if body, err = c.Call(ctx, http.MethodGet, "/v1/jobs/"+url.PathEscape(job.ID), nil); err != nil {
			return job, nil, err
		}
	}
}

// abandon cancels a job when the command is interrupted, unless somebody else started it.
func (a *app) abandon(ctx context.Context, c *client.Client, job live.Job, began time.Time) {
	if ctx.Err() == nil || job.ID == "" || job.State != live.JobRunning || job.StartedAt.Before(began) {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stop()
	if _, err := c.Call(ctx, http.MethodDelete, "/v1/jobs/"+url.PathEscape(job.ID), nil); err != nil {
		fmt.Fprintf(a.errs, "%s goes on: %v\n", job.ID, err)
	}
}

func (a *app) showJob(j live.Job) {
	if v := j.Verify; v != nil {
		equal := "equal"
		if !v.Equal {
			equal = "DIFFERENT"
		}
		a.printf("replayed %s: the running model and the replay are %s\n\n", plural.Of(v.Events, "event"), equal)
		columns(a.out, []string{"model", "hash"}, [][]string{{"running", v.RunningHash}, {"replay", v.ReplayHash}})
		if len(v.Differences) > 0 {
			a.printf("\ndifferent parts: %s\n", list(v.Differences))
		}
		return
	}
	took := j.FinishedAt.Sub(j.StartedAt).Round(time.Millisecond)
	switch j.State {
	case live.JobDone:
		a.printf("rebuilt in %s; model %s\n", took, shortVersion(j.Version))
		if j.Auto != nil {
			a.printf("profile auto: %v\n", j.Auto)
		}
	case live.JobRefused:
		a.printf("NOT published: %s\nthe active model stays (model %s); judged in %s\n"+
			"--force publishes the new one nevertheless\n", clean(j.Error), shortVersion(j.Version), took)
	}
	if j.Gate != nil {
		a.showGate(j.Gate)
	}
}

// showGate prints how a rebuild does beside the model in force.
func (a *app) showGate(g *evaluate.Gate) {
	var rows [][]string
	for _, k := range []struct {
		name string
		evaluate.Change
	}{{"after a context", g.Next}, {"with the intent", g.NextIntent}, {"for an intent", g.Intent}} {
		if k.Metric == "" {
			continue
		}
		verdict := "no worse"
		if k.Loses() {
			verdict = "WORSE"
		}
		rows = append(rows, []string{k.name, k.Metric, number(k.Published), number(k.New),
			fmt.Sprintf("%+.4f … %+.4f", k.Interval[0], k.Interval[1]), fmt.Sprint(k.Episodes), verdict})
	}
	a.section([]string{"held-out tasks", "metric", "active", "rebuilt", "gain, 95 %", "tasks", "verdict"}, rows)
}
