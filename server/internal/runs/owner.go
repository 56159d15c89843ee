package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"waymark/internal/pause"
	"waymark/live"
	"waymark/run"
	"waymark/server/internal/api"
	"waymark/storage"
)

// A run has one owner among the servers that share a store, and is the same rows for all of them:
//
//	a server ─▶ lease "server/ID", renewed as long as it lives
//	a run    ─▶ its owner, in runs-open/ID: without a lease of the owner, any other server takes the run over
//	decision ─▶ stored with the owner by the server that was asked ─▶ carried out by the owner
const (
	leaseFor    = 10 * time.Second
	renewEvery  = 3 * time.Second
	statusEvery = 100 * time.Millisecond // at most, of a run
)

// going is a run that this server carries out.
type going struct {
	*run.Run
	workspace string
	journal   live.Runs
	leave     context.CancelFunc // the run to another server

	mu   sync.Mutex // held while last is brought up to date
	last []byte     // status that the journal has
}

// join takes the lease of this server and renews it until the end. r.mu is held.
func (r *Runs) join(ctx context.Context) error {
	if r.joined {
		return nil
	}
	if _, err := r.cfg.Store.System().Lease(ctx, lease(r.server), leaseFor); err != nil {
		return err
	}
	r.joined = true
	r.all.Go(func() {
		for pause.For(r.ctx, renewEvery) {
			if _, err := r.cfg.Store.System().Lease(r.ctx, lease(r.server), leaseFor); err != nil && r.ctx.Err() == nil {
				r.cfg.Logger.Warn("another server may go on with the runs of this one", "error", err)
			}
		}
	})
	return nil
}

func lease(server string) string { return "server/" + server }

// carried reports whether any server carries out a run.
func (r *Runs) carried(ctx context.Context, workspace, id string, o live.RunOwner) (bool, error) {
	if here := r.find(workspace, id) != nil; here || o.Server == r.server {
		return here, nil
	}
	return r.cfg.Store.System().Leased(ctx, lease(o.Server))
}

// tend carries out decisions about a run and stores its status, until it has ended or was left.
func (r *Runs) tend(g *going) {
	states := g.Watch(context.WithoutCancel(r.ctx))
	var changed <-chan struct{}
	var again <-chan time.Time
	for open := true; open; {
		select {
		case _, open = <-states:
		case <-changed:
		case <-again:
		}
		select {
		case <-time.After(statusEvery):
		case <-g.Over():
		}
		again = nil
		_, changed = r.cfg.Store.Changes(g.workspace)
		if err := r.attend(g); err != nil && r.ctx.Err() == nil {
			again = time.After(renewEvery)
			r.cfg.Logger.Warn("a run cannot be kept in step with other servers", "run", g.ID(), "error", err)
		}
	}
	<-g.Over()
}

// attend carries out the decisions about a run, and stores how it stands.
func (r *Runs) attend(g *going) error {
	ctx := context.WithoutCancel(r.ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	o, err := g.journal.Owner(ctx, g.ID())
	switch {
	case errors.Is(err, storage.ErrNotFound): // it has ended
		return nil
	case err == nil && o.Server != r.server: // this server was thought to have ended
		g.leave()
		return nil
	}
	var done []live.RunDecision
	for _, d := range o.Decisions {
		s := g.Status()
		switch n := decided(&s, d); {
		case d.Node == "":
			g.Cancel()
			continue // the decision is erased with the owner
		case n != nil && slices.Contains(s.Waiting, n.ID):
			_ = g.Decide([]string{n.ID}, !d.Deny) // an error says that it has ended meanwhile
		case n != nil && n.State == run.NodeWaiting: // taken over, and not yet that far
			continue
		}
		done = append(done, d)
	}
	s := g.Status()
	now, wrong := json.Marshal(s.Brief())
	if err = errors.Join(err, wrong); len(done) == 0 && bytes.Equal(now, g.last) {
		return err
	}
	wrong = g.journal.Stands(ctx, s, done)
	if errors.Is(wrong, storage.ErrNotFound) { // it ended meanwhile
		wrong = nil
	}
	if wrong == nil {
		g.last = now
	}
	return errors.Join(err, wrong)
}

// decided returns the node that a decision is about; nil if the decision answered an earlier question.
func decided(s *run.Status, d live.RunDecision) *run.Node {
	i := slices.IndexFunc(s.Nodes, func(n run.Node) bool { return live.NodeName(n.ID) == d.Node && n.Attempts == d.Attempts })
	if i < 0 {
		return nil
	}
	return &s.Nodes[i]
}

const notCarried = "the process that carried it out has ended; it goes on when a server starts that can call its tools"

// Status returns a run of a workspace as it stands, with the decisions that its owner has not carried out yet.
func (r *Runs) Status(ctx context.Context, workspace, id string) (run.Status, error) {
	o, err := r.journal(workspace).Owner(ctx, id) // first: a run without one has ended, and its status says so
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return run.Status{}, err
	}
	s, err := r.stands(ctx, workspace, id, o)
	if err != nil {
		return s, err
	}
	return with(s, o.Decisions), nil
}

// with is a run after decisions that its owner has not carried out yet.
func with(s run.Status, decisions []live.RunDecision) run.Status {
	for _, d := range decisions {
		if n := decided(&s, d); n != nil && slices.Contains(s.Waiting, n.ID) {
			n.State, n.Arguments, n.Reason = run.NodeWaiting, nil, ""
			s.Waiting = slices.DeleteFunc(s.Waiting, func(id string) bool { return id == n.ID })
			if !slices.Contains(s.Warnings, notCarried) {
				s.State = run.Running
			}
		}
	}
	return s
}

func (r *Runs) stands(ctx context.Context, workspace, id string, o live.RunOwner) (run.Status, error) {
	if g := r.find(workspace, id); g != nil {
		s := g.Status()
		if len(s.Waiting) == 0 {
			return s, nil
		}
		err := r.attend(g) // first: a person who sees that it waits may decide at any server
		return g.Status(), err
	}
	s, err := r.journal(workspace).Status(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return s, api.Problem(http.StatusNotFound, fmt.Sprintf("there is no run %q", id))
	}
	if err != nil || s.State.Over() {
		return s, err
	}
	why := "another server carries it out"
	carried, err := r.carried(ctx, workspace, id, o)
	if !carried {
		why, s.State = notCarried, run.Paused
	}
	s.Warnings = append([]string{why}, s.Warnings...)
	return s, err
}

// Watch yields a run as it is and after every change, briefly.
func (r *Runs) Watch(ctx context.Context, workspace, id string) <-chan run.Status {
	if one, ok := r.Find(workspace, id); ok {
		return one.Watch(ctx)
	}
	states := make(chan run.Status)
	go func() {
		defer close(states)
		for last := (run.Status{}); ; {
			s, err := r.Status(ctx, workspace, id)
			if err != nil {
				return
			}
			if s = s.Brief(); !reflect.DeepEqual(s, last) {
				select {
				case states <- s:
				case <-ctx.Done():
					return
				}
			}
			if last = s; s.State.Over() || r.ctx.Err() != nil || !pause.For(ctx, statusEvery) {
				return
			}
		}
	}()
	return states
}

// Cancel cancels a run.
func (r *Runs) Cancel(ctx context.Context, workspace, id string) (run.Status, error) {
	return r.decide(ctx, workspace, id, func(run.Status) ([]live.RunDecision, error) { return []live.RunDecision{{}}, nil })
}

// Approve lets nodes that wait go on, or fails them: all that wait if none is named.
func (r *Runs) Approve(ctx context.Context, workspace, id string, nodes []string, allow bool) (run.Status, error) {
	return r.decide(ctx, workspace, id, func(s run.Status) (all []live.RunDecision, err error) {
		named := nodes
		if len(named) == 0 {
			named = s.Waiting
		}
		for _, id := range named {
			if !slices.Contains(s.Waiting, id) {
				return nil, fmt.Errorf("node %q %w", id, run.ErrNotWaiting)
			}
			i := slices.IndexFunc(s.Nodes, func(n run.Node) bool { return n.ID == id })
			all = append(all, live.RunDecision{Node: live.NodeName(id), Attempts: s.Nodes[i].Attempts, Deny: !allow})
		}
		return all, nil
	})
}

// decide stores what is decided about a run as it stands, for its owner or for the server that takes it over.
func (r *Runs) decide(
	ctx context.Context, workspace, id string, decisions func(run.Status) ([]live.RunDecision, error),
) (run.Status, error) {
	j := r.journal(workspace)
	for {
		o, unowned := j.Owner(ctx, id)
		s, err := r.Status(ctx, workspace, id)
		switch {
		case err != nil:
			return s, err
		case s.State.Over() || errors.Is(unowned, storage.ErrNotFound):
			return s, fmt.Errorf("run %q has ended (%s) and %w", id, s.State, run.ErrNotWaiting)
		case unowned != nil:
			return s, unowned
		case r.ctx.Err() != nil:
			return s, api.Problem(http.StatusServiceUnavailable, notCarried)
		}
		all, err := decisions(s)
		if err != nil {
			return s, err
		}
		o.Decisions = append(o.Decisions, all...)
		if err = j.SetOwner(ctx, id, o); errors.Is(err, storage.ErrConflict) {
			continue // the run went on
		}
		if g := r.find(workspace, id); err == nil && g != nil {
			err = r.attend(g)
		}
		return with(s, all), err
	}
}
