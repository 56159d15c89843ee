package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"waymark/live"
	mcpserver "waymark/server/mcp"
	"waymark/suggest"
)

func (a *app) rebuildCommand() *cobra.Command {
	var all bool
	return a.of(operation{
		id: "rebuild", use: "rebuild", flags: "verify force dry_run",
		short: "Rebuild the model from the log",
		long: `Replays the whole log into a new model and waits for the end. Questions and recordings continue meanwhile. If the new
model is significantly worse on held-out tasks, it is not published, and the command exits 1. --dry-run only compares;
--verify compares the new model with the active one, byte for byte. An interrupt cancels the rebuild.`,
		more: func(cmd *cobra.Command) {
			cmd.Flags().BoolVar(&all, "all", false, "rebuild every workspace, one line each; exits with the worst code")
			cmd.MarkFlagsMutuallyExclusive("verify", "force", "dry-run")
			a.progressFlag(cmd)
			a.engineFlags(cmd)
		},
		prepare: func(*cobra.Command, []string, *asked) error {
			if all && a.setting("workspace").Origin == "flag" {
				return usagef("--all is for every workspace, and --workspace for one")
			}
			return a.exists()
		},
		who: access{requireKey: true, window: true, timeout: commandTimeout, maxBody: window.maxBody},
		follow: func(ctx context.Context, c *client, q *asked) error {
			return a.rebuild(ctx, c, all, q.fields)
		},
	})
}

// rebuild asks the owner of the data directory to rebuild one workspace, or all. If there is no owner, this process
// opens the directory as a window, so that others get answers meanwhile.
func (a *app) rebuild(ctx context.Context, c *client, all bool, how map[string]any) (worst error) {
	var err error
	list, bar := struct{ Workspaces []string }{[]string{a.workspace}}, a.progress("rebuild", 1000)
	if all {
		_, err = c.ask(ctx, "list-workspaces", nil, &list)
	}
	for _, name := range list.Workspaces {
		if err != nil {
			break
		}
		c.workspace = name
		job, body, failed := a.follow(ctx, c, "rebuild", how, bar)
		if failed != nil && (!all || ctx.Err() != nil || ownerGone(failed)) {
			return failed
		} else if failed != nil {
			job.State, job.Error = live.JobFailed, failed.Error()
		}
		if no := rebuilt(job); worst == nil || no != nil && errors.Is(worst, errNegative) {
			worst = no
		}
		err = a.showRebuild(name, all, job, body)
	}
	return cmp.Or(err, worst)
}

// ownerGone reports whether the error of a call says that the process that was asked has ended, or is about to.
func ownerGone(err error) bool {
	if refused, ok := errors.AsType[*problem](err); ok {
		return mcpserver.OwnerGone(refused.Status, refused.Detail)
	}
	return errors.As(err, new(*url.Error)) || errors.Is(err, io.ErrUnexpectedEOF)
}

// rebuilt returns the error that determines the exit code of a job, or nil.
func rebuilt(job live.Job) error {
	switch {
	case job.State == live.JobRefused, job.Verify != nil && !job.Verify.Equal:
		return errNegative
	case job.State != live.JobDone:
		return fmt.Errorf("rebuild %s: %v", job.ID, job)
	}
	return nil
}

// showRebuild prints a job, with all as one line for each workspace.
func (a *app) showRebuild(workspace string, all bool, job live.Job, body json.RawMessage) (err error) {
	if a.json {
		if all {
			body, err = json.Marshal(map[string]any{"workspace": workspace, "job": job})
		}
		return errors.Join(err, a.printBody(body))
	}
	if all {
		a.printf("%s: ", workspace)
	} else if job.State != live.JobDone && job.State != live.JobRefused {
		return nil // the command ends with the error
	}
	a.printf("%s\n", clean(job.String()))
	switch {
	case all:
	case job.State == live.JobRefused:
		a.printf("the active model stays (model %s)\n--force publishes the new one nevertheless\n", suggest.ShortVersion(job.Version))
	case job.Verify != nil:
		return a.show(job.Verify, "", "")
	}
	return nil
}

// follow starts a job by an operation and waits for its end. An interrupt cancels it, unless somebody else started it.
func (a *app) follow(ctx context.Context, c *client, start string, fields map[string]any, bar *progress) (job live.Job, body json.RawMessage, err error) {
	began, cancel := time.Now(), ""
	if _, err = c.ask(ctx, start, fields, &job); err != nil {
		return job, nil, err
	}
	if !job.StartedAt.Before(began) {
		cancel = "cancel-job"
	}
	defer bar.hide()
	body, err = a.watch(ctx, c, "get-job", cancel, job.ID, func(body json.RawMessage) (bool, error) {
		job = live.Job{}
		err := json.Unmarshal(body, &job)
		bar.at(int64(job.Progress*1000), job.Phase)
		return job.State != live.JobRunning, err
	})
	return job, body, err
}
