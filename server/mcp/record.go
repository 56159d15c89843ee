package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/episodic"
	"waymark/internal/plural"
	"waymark/live"
	"waymark/server/internal/jsonio"
	"waymark/server/internal/limit"
	"waymark/server/internal/scoring"
)

// RecordAnswer is the answer of record_episode.
type RecordAnswer struct {
	Said
	live.RecordResult
	ID string `json:"id" doc:"The id under which the episode is kept."`
}

func recordEpisode(ctx context.Context, c *mcpCall, e episodic.Episode) (RecordAnswer, error) {
	e.Label, e.Source = cmp.Or(e.Label, e.Source), ""
	if e.Session == "" {
		// By no name that the next process, or the next owner of the data directory, has not: the same episode may come again.
		if e.Session = hostsName(c.req); e.Session == "" && c.access.Conversation == "" {
			e.Session = c.req.Session.ID()
		}
		e.Session = cmp.Or(e.Session, programOf(c.req))
	}
	if e.ID == "" {
		id, err := c.episodeID(e)
		if err != nil {
			return RecordAnswer{}, err
		}
		e.ID = id
	}
	r, err := c.engine.Record(ctx, c.access.Source, []episodic.Episode{e})
	if err != nil {
		return RecordAnswer{}, err
	}
	if len(r.Rejected) > 0 {
		return RecordAnswer{}, jsonio.Wrong("", r.Rejected[0].Error)
	}
	counted, cancel := context.WithTimeout(ctx, limit.WaitForSeq) // so that the next question of the conversation counts it
	defer cancel()
	if err := c.engine.Wait(counted, r.Seq); err != nil && !errors.Is(err, live.ErrNotYet) {
		return RecordAnswer{}, err
	}
	r.Rejected = []live.Rejection{}
	message := fmt.Sprintf("Recorded %s as %s.", plural.Of(len(e.Steps), "step"), shownID(e.ID))
	if r.Duplicates > 0 {
		message = fmt.Sprintf("%s was recorded before; nothing changed.", shownID(e.ID))
	}
	return RecordAnswer{Said{message}, r, e.ID}, nil
}

// episodeID names an episode that came without an id.
func (c *mcpCall) episodeID(e episodic.Episode) (string, error) {
	content, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("name an episode: %w", err)
	}
	return scoring.EpisodeID("mcp-", c.engine, content), nil
}

type rebuildArguments struct {
	Verify bool `json:"verify,omitempty" doc:"Compare with the running model, byte for byte, and change nothing"`
	Force  bool `json:"force,omitempty" doc:"Publish the model even if it ranks held-out tasks worse than the active one"`
}

// RebuildAnswer is the answer of rebuild.
type RebuildAnswer struct {
	Said
	live.Job
}

// rebuild starts the job, or joins the one that runs, and waits for it. A cancelled call cancels a job
// it started; a job that somebody else started goes on.
func rebuild(ctx context.Context, c *mcpCall, in rebuildArguments) (RebuildAnswer, error) {
	before := c.cfg.Now()
	job, err := c.engine.Rebuild(in.Verify, in.Force)
	if err != nil {
		return RebuildAnswer{}, err
	}
	ours := !job.StartedAt.Before(before)
	states, ok := c.engine.WatchJob(ctx, job.ID)
	if !ok {
		return RebuildAnswer{}, fmt.Errorf("job %s vanished", job.ID)
	}
	report := newProgress(ctx, c.req)
	for {
		select {
		case <-ctx.Done():
			if ours {
				c.engine.CancelJob(job.ID)
			}
			return RebuildAnswer{}, ctx.Err()
		case state, more := <-states:
			if more {
				job = state
				report(job)
				continue
			}
		}
		break
	}
	switch job.State {
	case live.JobFailed:
		return RebuildAnswer{}, fmt.Errorf("rebuild %s: %s", job.ID, job.Error)
	case live.JobCanceled:
		return RebuildAnswer{}, context.Canceled
	}
	return RebuildAnswer{Said{rebuildMessage(job)}, job}, nil
}

func rebuildMessage(job live.Job) string {
	switch v := job.Verify; {
	case job.State == live.JobRefused:
		return fmt.Sprintf("NOT published: the new model ranks held-out tasks worse than the active one: %v. The active model stays; force publishes the new one.", job.Gate)
	case v == nil && job.Gate != nil:
		return fmt.Sprintf("The model was rebuilt from the whole history. Beside the one before, by held-out tasks: %v.", job.Gate)
	case v == nil:
		return "The model was rebuilt from the whole history."
	case v.Equal:
		return fmt.Sprintf("Verified: %s replayed, the running model is equal byte for byte.", plural.Of(v.Events, "event"))
	default:
		return fmt.Sprintf("NOT equal: after %s the replay differs from the running model in %s.", plural.Of(v.Events, "event"), shownIDs(v.Differences))
	}
}

// newProgress reports to a client that asked for it. Progress never falls, and small steps are left
// out: a hundred notifications are as good as a million.
func newProgress(ctx context.Context, req *mcp.CallToolRequest) func(live.Job) {
	notify := progressTo(ctx, req)
	if notify == nil {
		return func(live.Job) {}
	}
	last, lastPhase := -1.0, ""
	return func(j live.Job) {
		if j.Progress <= last || j.Progress < last+.01 && j.Phase == lastPhase && j.Progress < 1 {
			return
		}
		last, lastPhase = j.Progress, j.Phase
		message := j.Phase
		if left := (time.Duration(j.ETAMillis) * time.Millisecond).Round(time.Second); left > 0 {
			message += fmt.Sprintf(", about %s left", left)
		}
		notify(j.Progress, 1, message)
	}
}
