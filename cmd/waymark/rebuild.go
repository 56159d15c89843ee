package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/waymark/internal/client"
	"waymark/internal/pause"
	"waymark/internal/plural"
	"waymark/live"
	"waymark/suggest/evaluate"
)

func (a *app) rebuildCommand() *cobra.Command {
	var all, verify, force, dry bool
	var style string
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Replay the log into a fresh model",
		Long: `Replays the whole log into a fresh model and waits until that is done. Other commands and hosts get answers, and
record, meanwhile. Held-out tasks compare the fresh model with the active one; where it would lose more than noise, it
is not published, and the command exits 1; --force publishes it nevertheless. --dry-run only compares, exits as the
rebuild would, and changes nothing. With --verify the fresh model is compared with the active one, byte for byte, and
the command exits 1 on any difference. An interrupt cancels the rebuild; the model stays as it is.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.exists(); err != nil {
				return err
			}
			bar, err := a.progress(style, "rebuild", 1000)
			if err != nil {
				return err
			}
			return a.rebuild(cmd.Context(), all, map[string]bool{"verify": verify, "force": force, "dry_run": dry}, bar)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "every workspace, one line each; exits with the worst code")
	f.BoolVar(&verify, "verify", false, "compare the replay with the running model; exit 1 if they differ")
	f.BoolVar(&force, "force", false, "publish the model even if it ranks worse than the active one")
	f.BoolVar(&dry, "dry-run", false, "say whether the model would be published, and change nothing")
	apart(cmd, "verify", "force")
	apart(cmd, "verify", "dry-run")
	apart(cmd, "force", "dry-run")
	apart(cmd, "all", "workspace")
	progressFlag(cmd, &style)
	a.engineFlags(cmd)
	return cmd
}

// rebuild asks the owner of the data directory to rebuild one workspace, or all. Without an owner this process becomes
// one, as a window does, so that others get answers meanwhile. Where the owner ends in between, the next one is asked
// for the rest. After a crash it is so once for each workspace: its rebuild may be the reason.
func (a *app) rebuild(ctx context.Context, all bool, how map[string]bool, bar progress) (worst error) {
	who, done, crashed := window, map[string]bool{}, map[string]bool{}
	who.serves, who.timeout = false, commandTimeout
	for again := true; again; {
		again = false
		if err := a.within(ctx, who, func(c *client.Client) (err error) {
			names := []string{a.workspace}
			if all {
				names, err = existingWorkspaces(ctx, c)
			}
			names = slices.DeleteFunc(names, func(name string) bool { return done[name] })
			for ; err == nil && !again && len(names) > 0; names = names[1:] {
				c.Workspace = names[0]
				job, body, failed := a.follow(ctx, c, "/v1/rebuild", how, bar)
				again = ownerGone(failed) && ctx.Err() == nil
				said, _ := errors.AsType[*client.Problem](failed)
				handedOver := said != nil && said.Status == http.StatusServiceUnavailable || errors.Is(failed, net.ErrClosed) // of this process
				if again && (handedOver || !crashed[c.Workspace]) {
					crashed[c.Workspace] = crashed[c.Workspace] || !handedOver
					return nil
				} else if failed != nil && (!all || ctx.Err() != nil) {
					return failed
				} else if failed != nil {
					job.State, job.Error = live.JobFailed, failed.Error()
				}
				done[c.Workspace] = true
				if no := rebuilt(job); worst == nil || no != nil && errors.Is(worst, errNegative) {
					worst = no
				}
				err = a.showRebuild(c.Workspace, all, job, body)
			}
			return err
		}); err != nil {
			return err
		}
	}
	return worst
}

// rebuilt is the error of a job, from which the exit code follows.
func rebuilt(job live.Job) error {
	switch {
	case job.State == live.JobRefused, job.Verify != nil && !job.Verify.Equal:
		return errNegative
	case job.State != live.JobDone:
		return fmt.Errorf("rebuild %s: %s", job.ID, outcome(job))
	}
	return nil
}

// showRebuild prints a job, of several workspaces as one line each.
func (a *app) showRebuild(workspace string, all bool, job live.Job, body json.RawMessage) error {
	if all && a.json {
		body, _ = json.Marshal(map[string]any{"workspace": workspace, "job": job}) // a job always encodes
	}
	switch {
	case a.json:
		return a.printBody(body)
	case !all && (job.State == live.JobDone || job.State == live.JobRefused):
		a.showJob(job)
	case !all: // the command ends with the error
	case job.Gate != nil:
		a.printf("%s: %s; %v\n", workspace, outcome(job), job.Gate)
	default:
		a.printf("%s: %s\n", workspace, outcome(job))
	}
	return nil
}

// outcome describes how a job ended.
func outcome(j live.Job) string {
	took := j.FinishedAt.Sub(j.StartedAt).Round(time.Millisecond)
	switch v := j.Verify; {
	case v != nil:
		are := map[bool]string{true: "equal", false: "DIFFERENT"}[v.Equal]
		return fmt.Sprintf("replayed %s: the running model and the replay are %s", plural.Of(v.Events, "event"), are)
	case j.State == live.JobDone && j.Kind == "judge":
		return fmt.Sprintf("would be published; judged in %s", took)
	case j.State == live.JobDone:
		return fmt.Sprintf("rebuilt in %s; model %s", took, shortVersion(j.Version))
	case j.State == live.JobRefused:
		return fmt.Sprintf("NOT published: %s; judged in %s", clean(j.Error), took)
	}
	return strings.TrimSuffix(string(j.State)+": "+clean(j.Error), ": ")
}

// follow starts a job and waits for its end.
func (a *app) follow(ctx context.Context, c *client.Client, path string, question any, bar progress) (job live.Job, body json.RawMessage, err error) {
	began := time.Now()
	if body, err = exchange(ctx, c, http.MethodPost, path, question, &job); err != nil {
		return job, nil, err
	}
	defer func() { bar.hide(); a.abandon(ctx, c, job, began) }()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		bar.at(int64(job.Progress*1000), job.Phase)
		if job.State != live.JobRunning {
			return job, body, nil
		}
		if !pause.For(ctx, wait) {
			return job, nil, ctx.Err()
		}
		if body, err = exchange(ctx, c, http.MethodGet, "/v1/jobs/"+url.PathEscape(job.ID), nil, &job); err != nil {
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
	a.printf("%s\n", outcome(j))
	if v := j.Verify; v != nil {
		a.printf("\n")
		columns(a.out, []string{"model", "hash"}, [][]string{{"running", v.RunningHash}, {"replay", v.ReplayHash}})
		if len(v.Differences) > 0 {
			a.printf("\ndifferent parts: %s\n", list(v.Differences))
		}
		return
	}
	if j.State == live.JobRefused {
		a.printf("the active model stays (model %s)\n--force publishes the new one nevertheless\n", shortVersion(j.Version))
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
