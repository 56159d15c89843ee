package runs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"time"

	"waymark/internal/bounded"
	"waymark/run"
	"waymark/server/internal/api"
	"waymark/storage"
)

// A run is carried out by one server, or waits in its rows for a person:
//
//	a server ─▶ lease "server/ID", renewed as long as the server lives
//	a run    ─▶ runs-open/ID names its server: without a lease of that server, any other one takes the run over
//	         ─▶ runs-open/ID names none: the server that receives an approval or a cancellation continues the run
const (
	leaseFor    = 10 * time.Second
	renewEvery  = 3 * time.Second
	statusEvery = time.Second // interval of checks for a run that waits, or that another server carries out
)

// going is a run that this server carries out.
type going struct {
	*run.Run
	workspace string
	leave     context.CancelFunc // leaves the run to another server
	gone      chan struct{}      // closed when it is no longer active
}

// join takes the lease of this server and renews it until r.ctx ends. The caller holds r.mu.
func (r *Runs) join(ctx context.Context) error {
	if r.joined {
		return nil
	}
	if _, err := r.cfg.Store.System().Lease(ctx, lease(r.server), leaseFor); err != nil {
		return err
	}
	r.joined = true
	r.all.Go(func() {
		for bounded.Wait(r.ctx, renewEvery) {
			if _, err := r.cfg.Store.System().Lease(r.ctx, lease(r.server), leaseFor); err != nil && r.ctx.Err() == nil {
				r.cfg.Logger.Warn("another server may go on with the runs of this one", "error", err)
			}
			for _, g := range r.here() {
				if o, err := r.journal(g.workspace).Owner(r.ctx, g.ID()); err == nil && o.Server != r.server { // another server took the run over
					g.leave()
				}
			}
		}
	})
	return nil
}

func lease(server string) string { return "server/" + server }

// carried reports whether any live server carries out a run.
func (r *Runs) carried(ctx context.Context, workspace, id string, o Owner) (bool, error) {
	if here := r.find(workspace, id) != nil; here || o.Server == r.server || o.Server == "" {
		return here, nil
	}
	return r.cfg.Store.System().Leased(ctx, lease(o.Server))
}

const notCarried = "the process that carried it out has ended; it goes on when a server starts that can call its tools"

// Status returns the current status of a run of a workspace.
func (r *Runs) Status(ctx context.Context, workspace, id string) (run.Status, error) {
	if g := r.find(workspace, id); g != nil {
		return g.Status(), nil
	}
	o, unowned := r.journal(workspace).Owner(ctx, id) // read first: a run without an owner has ended, so its status is final
	s, err := r.journal(workspace).Status(ctx, id)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return s, api.Problem(http.StatusNotFound, fmt.Sprintf("there is no run %q", id))
	case err != nil || s.State.Over() || unowned == nil && o.Server == "":
		return s, err
	case unowned != nil:
		return s, unowned
	}
	why := "another server carries it out"
	carried, err := r.carried(ctx, workspace, id, o)
	if s.State, s.Waiting = run.Running, []string{}; !carried { // known only after it is resumed
		why, s.State = notCarried, run.Paused
	}
	s.Warnings = append([]string{why}, s.Warnings...)
	return s, err
}

// Watch yields the brief status of a run, now and after every change, until the run has ended.
func (r *Runs) Watch(ctx context.Context, workspace, id string) iter.Seq[run.Status] {
	return func(yield func(run.Status) bool) {
		waits := uint64(0) // version of the owner row of a run that waits
		for last := (run.Status{}); ctx.Err() == nil; {
			var changed <-chan struct{} // nil, and so no notification, for a run that is not carried out here
			g := r.find(workspace, id)
			if g != nil {
				changed = g.Changed()
			}
			o, _ := r.journal(workspace).Owner(ctx, id)
			s, err := last, error(nil)
			if g != nil || o.Version == 0 || o.Version != waits { // otherwise it still waits, as it did
				s, err = r.Status(ctx, workspace, id)
			}
			if waits = 0; o.Server == "" {
				waits = o.Version
			}
			if s = s.Brief(); err != nil || !reflect.DeepEqual(s, last) && !yield(s) {
				return
			}
			if last = s; s.State.Over() || r.ctx.Err() != nil {
				return
			}
			select {
			case <-changed:
			case <-time.After(statusEvery):
			case <-r.ctx.Done():
			case <-ctx.Done():
			}
		}
	}
}

// discard cancels a run that cannot continue here, because its tools have changed or cannot be called.
func (r *Runs) discard(ctx context.Context, workspace, id string, o Owner) (s run.Status, err error) {
	j := r.journal(workspace)
	j.By.Source, o.Server = o.Source, r.server
	if err = j.SetOwner(ctx, id, o); err != nil {
		return s, err
	}
	if s, err = j.Status(ctx, id); err == nil {
		s.Cancel(r.cfg.Now())
		err = j.Leave(ctx, s)
	}
	return s, err
}

// Cancel cancels a run. A run of another server is taken over for that.
func (r *Runs) Cancel(ctx context.Context, workspace, id string) (run.Status, error) {
	return r.decide(ctx, workspace, id, true, false, (*run.Run).Cancel)
}

// Approve lets waiting nodes continue, or fails them if allow is false. Without nodes it decides about all that wait.
func (r *Runs) Approve(ctx context.Context, workspace, id string, nodes []string, allow bool) (run.Status, error) {
	return r.decide(ctx, workspace, id, false, len(nodes) == 0, func(one *run.Run) error { return one.Decide(nodes, allow) })
}

// decide applies a decision to a run. The run continues here if no other server carries it out, or if take permits to
// take it from that server. With all, the decision covers only nodes that were already shown as waiting.
func (r *Runs) decide(ctx context.Context, workspace, id string, take, all bool, decide func(*run.Run) error) (run.Status, error) {
	for {
		if g := r.find(workspace, id); g != nil {
			if err := decide(g.Run); !errors.Is(err, run.ErrParked) {
				return g.Status(), err
			}
			<-g.gone
			continue
		}
		o, err := r.journal(workspace).Owner(ctx, id)
		if errors.Is(err, storage.ErrNotFound) {
			s, err := r.Status(ctx, workspace, id)
			if err == nil {
				err = fmt.Errorf("run %q has ended (%s) and %w", id, s.State, run.ErrNotWaiting)
			}
			return s, err
		}
		carried, failed := r.carried(ctx, workspace, id, o)
		switch err = errors.Join(err, failed); {
		case err != nil:
			return run.Status{}, err
		case r.ctx.Err() != nil:
			return run.Status{}, api.Problem(http.StatusServiceUnavailable, notCarried)
		case carried && !take && r.find(workspace, id) == nil:
			return run.Status{}, fmt.Errorf("run %q is carried out by another server and %w: ask again when it is paused", id, run.ErrNotWaiting)
		}
		unseen := all && o.Server != "" // nobody has seen yet which nodes of an interrupted run wait
		s, err := r.resume(ctx, workspace, id, o, func(one *run.Run) {
			if !unseen {
				failed = decide(one)
			}
		})
		var refused *run.CheckError
		switch {
		case errors.Is(err, storage.ErrConflict):
			continue // another server was first
		case take && (errors.As(err, &refused) || errors.Is(err, ErrNoServers)):
			if s, err = r.discard(ctx, workspace, id, o); errors.Is(err, storage.ErrConflict) {
				continue
			}
			return s, err
		case err == nil && unseen:
			return s, fmt.Errorf("run %q was interrupted and %w: ask again when it is paused", id, run.ErrNotWaiting)
		}
		if err = errors.Join(err, failed); err == nil && take { // no call is in progress here, so the run ends at once
			if g := r.find(workspace, id); g != nil {
				<-g.gone
			}
			return r.Status(ctx, workspace, id)
		}
		return s, err
	}
}
