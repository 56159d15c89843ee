package scoring

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/live"
	"waymark/score"
	"waymark/server/internal/api"
)

// A scorer is a capability in the graph like any other: its runs are recorded as episodes, from which the model learns
// its reliability and the tools that it follows.
//
//	tools used so far (after) ─▶ scorer:hypothesis, success or failure
//
// The first run in a workspace puts the scorer into the catalog. A run that failed because of the request gives no
// evidence about the scorer and is not recorded; nor is a run by a credential that may not write.

// recorded runs a scorer and records the run.
func (c *Service) recorded(ctx context.Context, a api.Access, id string, after []string, f func() (any, error)) (any, error) {
	start := c.Now()
	out, err := f()
	outcome, kind, known := outcomeOf(out, err)
	if id == "" || !known || !c.Record || !a.May(api.ScopeWrite) {
		return out, err
	}
	if failure := c.recordRun(context.WithoutCancel(ctx), a, id, after, outcome, kind, c.Now().Sub(start), out); failure != nil {
		c.Logger.WarnContext(ctx, "a run of a scorer could not be recorded", "scorer", id, "error", failure)
	}
	return out, err
}

// outcomeOf returns the outcome of a run; known is false if the outcome depended on the caller alone.
func outcomeOf(out any, err error) (outcome episodic.Outcome, kind string, known bool) {
	judged, ok := out.(score.Judged)
	var ask *score.AskError
	switch {
	case errors.As(err, &ask) && callersFault(ask.Outcome):
		return "", "", false
	case errors.Is(err, score.ErrJudge):
		return episodic.Failure, "judge", true
	case err != nil:
		return "", "", false
	case !ok:
		return episodic.Success, "", true
	}
	switch o := judged.JudgeOutcome(); {
	case o == score.Answered:
		return episodic.Success, "", true
	case callersFault(o):
		return "", "", false
	default:
		return episodic.Failure, string(o), true
	}
}

// callersFault reports whether an outcome gives no evidence about the judge.
func callersFault(o score.Outcome) bool {
	return o == score.OverBudget || o == score.Cancelled
}

func (c *Service) recordRun(ctx context.Context, a api.Access, id string, after []string, outcome episodic.Outcome, kind string, took time.Duration, out any) error {
	engine, err := c.Workspaces.Open(ctx, a.Workspace)
	if err != nil {
		return err
	}
	_, known := engine.Model().Capability(id)
	if _, held := engine.Withheld(id); !known || held { // another caller may have put this id there
		if err := putScorers(ctx, engine, id); err != nil {
			return err
		}
	}
	e := episodic.Episode{Time: c.Now().UTC(), Outcome: outcome}
	for _, tool := range after {
		e.Steps = append(e.Steps, episodic.Step{Tool: tool})
	}
	e.Steps = append(e.Steps, episodic.Step{Tool: id, Outcome: outcome, ErrorKind: kind, DurationMS: took.Milliseconds()})
	e.ID = EpisodeID("run-", engine, fmt.Appendf(nil, "%s %q", id, after))
	r, err := engine.Record(ctx, a.Source, []episodic.Episode{e})
	if err == nil && len(r.Rejected) > 0 {
		err = errors.New(r.Rejected[0].Error)
	}
	return errors.Join(err, c.logScores(ctx, a, e.ID, id, e.Time, out))
}

// putScorers puts the given scorers into the catalog, or all scorers if none is given.
func putScorers(ctx context.Context, engine *live.Engine, ids ...string) error {
	all := score.Capabilities()
	if len(ids) > 0 {
		all = slices.DeleteFunc(all, func(c catalog.Capability) bool { return !slices.Contains(ids, c.ID) })
	}
	for _, c := range all {
		if _, taken := engine.Model().Tool(c.ID); taken { // the id is reserved for the scorer
			if _, err := engine.Remove(ctx, catalog.KindTool, c.ID, live.Approver); err != nil {
				return err
			}
		}
	}
	r, err := engine.PutCapabilities(ctx, all, live.Approver)
	if err == nil && len(r.Rejected) > 0 {
		err = errors.New(r.Rejected[0].Error)
	}
	return err
}

// unnamed counts the episodes of this process that were sent without an id.
var unnamed atomic.Uint64

// EpisodeID returns an id for an episode that was sent without one. Equal work done twice must count twice, and a
// replay must find the same id, so the id is made from the content and the position in the log.
func EpisodeID(prefix string, engine *live.Engine, content []byte) string {
	head := engine.Head()
	content = binary.BigEndian.AppendUint64(content, unnamed.Add(1)) // two concurrent calls see the same head
	sum := sha256.Sum256(append(head.Chain[:], content...))
	return prefix + hex.EncodeToString(sum[:12])
}
