package live

import (
	"context"
	"strconv"
	"strings"
	"time"

	"waymark/episodic"
)

// A transcript is imported while its session goes on, and again later. What it holds of today may be longer by
// then, so the newest episode of each of its sessions is stored as one that grows, and what is told of it later
// is added.

// stillOpen is how old an episode may be that a transcript imported later may tell more of.
const stillOpen = 24 * time.Hour

// openOf lists the episodes that may go on: of each session of a transcript the last, if it is new.
func openOf(source string, episodes []*episodic.Episode, now time.Time) map[*episodic.Episode]bool {
	if !strings.HasPrefix(source, "import:") {
		return nil
	}
	last := map[string]*episodic.Episode{}
	for _, ep := range episodes {
		if ep.Session != "" {
			last[ep.Session] = ep
		}
	}
	open := map[*episodic.Episode]bool{}
	for _, ep := range last {
		if !ep.Time.IsZero() && now.Sub(ep.Time) < stillOpen && unnamed(ep) {
			open[ep] = true
		}
	}
	return open
}

// unnamed reports whether the steps of an episode have no ids but their numbers: only their order is known.
func unnamed(ep *episodic.Episode) bool {
	for i := range ep.Steps {
		if ep.Steps[i].ID != strconv.Itoa(i+1) || ep.Steps[i].DependsOn != nil {
			return false
		}
	}
	return true
}

// beginning is an episode as it is before its first step.
func beginning(ep *episodic.Episode) *begun {
	head := *ep
	head.Steps, head.Outcome = nil, ""
	return &begun{head}
}

// begins reports whether what is recorded of an episode is how a telling of it begins.
func begins(was, told *episodic.Episode) bool {
	for i := range was.Steps {
		if i == len(told.Steps) || was.Steps[i].Tool != told.Steps[i].Tool {
			return false
		}
	}
	return true
}

// tellOn adds the steps of an episode from one on, and what became of it.
func (e *Engine) tellOn(ctx context.Context, source string, ep *episodic.Episode, from int) error {
	p := Performed{Place: episodic.Place{Episode: ep.ID, Session: ep.Session, Intent: ep.Intent, Time: ep.Time}}
	for i := from; i < len(ep.Steps); i++ {
		p.Step, p.Number, p.Group = ep.Steps[i], i+1, ep.Steps[i].Group
		if _, err := e.Perform(ctx, source, p); err != nil {
			return err
		}
	}
	if !ep.Outcome.Known() {
		return nil
	}
	p.Step, p.Outcome = episodic.Step{}, ep.Outcome
	_, err := e.Perform(ctx, source, p)
	return err
}
