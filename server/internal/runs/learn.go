package runs

import (
	"context"
	"errors"
	"net/url"

	"waymark/episodic"
	"waymark/run"
	"waymark/server/internal/api"
)

// What the model learns from runs. The component that carries out a tool call records it. A run of a capability, alone
// or within another one, becomes an episode with that one step, as runs of scorers do: the model derives the
// reliability and the place in the graph from these episodes.

// learn records an episode for each capability of a run that has ended.
func (r *Runs) learn(ctx context.Context, a api.Access, s run.Status, p *run.Plan) error {
	if s.State == run.Canceled {
		return nil // a cancelled run gives no evidence
	}
	var episodes []episodic.Episode
	for _, done := range p.CapabilityRuns(s) {
		outcome := episodic.Success
		if done.Outcome == run.NodeFailed {
			outcome = episodic.Failure
		}
		step := episodic.Step{Tool: done.ID, Outcome: outcome, ErrorKind: string(done.ErrorKind), DurationMS: done.DurationMS}
		e := episodic.Episode{ID: "capability-" + s.ID, Session: s.ID, Intent: s.Intent, Time: s.EndedAt, Outcome: outcome, Steps: []episodic.Step{step}}
		if done.Path != "" {
			e.ID += "-" + url.PathEscape(done.Path)
		}
		episodes = append(episodes, e)
	}
	if len(episodes) == 0 {
		return nil
	}
	engine, err := r.cfg.Workspaces.Get(ctx, a.Workspace)
	if err != nil {
		return err
	}
	result, err := engine.Record(ctx, a.Source, episodes)
	if err == nil && len(result.Rejected) > 0 {
		err = errors.New(result.Rejected[0].Error)
	}
	return err
}
