package runs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"waymark/live/state"
	"waymark/run"
	"waymark/server/internal/problem"
	"waymark/storage"
)

// Servers that share a store:
//
//	a server ─▶ lease "server/ID", renewed as long as it lives
//	a run    ─▶ runs-open/ID: the server that carries it out; without a valid lease any other takes it over
//	decision ─▶ elsewhere stored in runs-decision/…, which the server that carries the run out looks for
const (
	leaseFor    = 10 * time.Second
	renewEvery  = 3 * time.Second
	statusEvery = 200 * time.Millisecond // at most, of a run
)

// going is a run that this server carries out.
type going struct {
	*run.Run
	journal state.Runs
	leave   context.CancelFunc // the run to another server

	mu   sync.Mutex // held while last is brought up to date
	last []byte     // status that the journal has
}

// join makes this server one that the others know to live, and that sees what they decide in a workspace. r.mu is held.
func (r *Runs) join(ctx context.Context, workspace string) error {
	if r.server == "" || r.followed[workspace] {
		return nil
	}
	if len(r.followed) == 0 {
		if err := r.renew(ctx); err != nil {
			return err
		}
		r.all.Go(func() {
			for pause(r.ctx, r.ctx, renewEvery) {
				if err := r.renew(r.ctx); err != nil && r.ctx.Err() == nil {
					r.cfg.Logger.Warn("another server may go on with the runs of this one", "error", err)
				}
			}
		})
	}
	r.followed[workspace] = true
	table := r.cfg.Store.Table(workspace)
	r.all.Go(func() {
		table.Follow(r.ctx, func() {
			decided, err := state.Runs{Table: table}.Decisions(r.ctx, "")
			r.warn(err)
			for id := range decided {
				r.mu.Lock()
				g := r.active[workspace+"\n"+id]
				r.mu.Unlock()
				if g != nil {
					r.warn(r.attend(g))
				}
			}
		})
	})
	return nil
}

// part leaves the open runs of a server that has ended to the others at once.
func (r *Runs) part() {
	if len(r.followed) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), renewEvery)
	defer cancel()
	r.warn(r.cfg.Store.System().Release(ctx, lease(r.server)))
}

func lease(server string) string { return "server/" + server }

func (r *Runs) renew(ctx context.Context) error {
	_, err := r.cfg.Store.System().Lease(ctx, lease(r.server), leaseFor)
	return err
}

func (r *Runs) warn(err error) {
	if err != nil && r.ctx.Err() == nil {
		r.cfg.Logger.Warn("runs cannot be kept in step with other servers", "error", err)
	}
}

// pause reports false if one of two contexts ended before a time.
func pause(a, b context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-a.Done():
	case <-b.Done():
	}
	return false
}

// carried reports whether another server carries out a run that has not ended.
func (r *Runs) carried(ctx context.Context, o state.RunOwner) (bool, error) {
	if r.server == "" || o.Server == "" || o.Server == r.server {
		return false, nil
	}
	return r.cfg.Store.System().Leased(ctx, lease(o.Server))
}

// tend keeps the status of a run where the other servers see it.
func (r *Runs) tend(g *going) {
	for range g.Watch(context.WithoutCancel(r.ctx)) {
		if err := r.attend(g); err != nil && !errors.Is(err, storage.ErrNotFound) { // it has ended
			r.warn(err)
		}
		pause(r.ctx, r.ctx, statusEvery)
	}
}

// attend carries out what was decided elsewhere about a run, and stores how it stands.
func (r *Runs) attend(g *going) error {
	ctx := context.WithoutCancel(r.ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	decided, err := g.journal.Decisions(ctx, g.ID())
	if err != nil || g.Status().State.Over() {
		return err
	}
	var done []state.RunDecision
	for _, d := range decided[g.ID()] {
		if d.Node == "" {
			g.Cancel() // the decision is erased with the open run
			continue
		}
		s := g.Status()
		switch n := nodeOf(&s, d.Node); {
		case n == nil, n.Attempts != d.Attempts: // the answer to an earlier question
		case slices.Contains(s.Waiting, d.Node):
			err = errors.Join(err, g.Decide([]string{d.Node}, !d.Deny))
		case n.State == run.NodeWaiting: // taken over, and not yet that far
			continue
		}
		done = append(done, d)
	}
	s := g.Status()
	now, wrong := json.Marshal(s.Brief())
	if err = errors.Join(err, wrong); len(done) == 0 && bytes.Equal(now, g.last) {
		return err
	}
	wrong = g.journal.Stands(ctx, s, done...)
	if wrong == nil {
		g.last = now
	}
	return errors.Join(err, wrong)
}

// standing is how a run stands that this server does not carry out; of a run without a stored status it is only who does,
// with [storage.ErrNotFound].
func (r *Runs) standing(ctx context.Context, j state.Runs, id string) (run.Status, error) {
	owner, err := j.Owner(ctx, id)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return run.Status{}, err
	}
	carried, err := r.carried(ctx, owner)
	if err != nil {
		return run.Status{}, err
	}
	s, missing := j.Standing(ctx, id)
	if missing != nil && !errors.Is(missing, storage.ErrNotFound) {
		return s, missing
	}
	decided, err := j.Decisions(ctx, id)
	if err != nil {
		return s, err
	}
	for _, d := range decided[id] {
		if n := nodeOf(&s, d.Node); n != nil && n.Attempts == d.Attempts && slices.Contains(s.Waiting, d.Node) {
			n.State, n.Arguments, n.Reason = run.NodeWaiting, nil, ""
			s.Waiting = slices.DeleteFunc(s.Waiting, func(id string) bool { return id == d.Node })
			s.State = run.Running
		}
	}
	s.State = cmp.Or(s.State, run.Running)
	why := "another server carries it out"
	if !carried {
		why = notCarried
		s.State = run.Paused
	}
	s.Warnings = append([]string{why}, s.Warnings...)
	return s, missing
}

const notCarried = "the process that carried it out has ended; it goes on when a server starts that can call its tools"

// watch yields a run as it is and after every change, briefly: here, or as the journal has it.
func (r *Runs) watch(ctx context.Context, workspace, id string) <-chan run.Status {
	if one, ok := r.Find(workspace, id); ok {
		return one.Watch(ctx)
	}
	states := make(chan run.Status)
	go func() {
		defer close(states)
		for last := (run.Status{}); ; {
			_, changed := r.cfg.Store.Changes(workspace)
			s, err := r.Status(ctx, workspace, id)
			if err != nil {
				return
			}
			if s = s.Brief(); !reflect.DeepEqual(s, last) { // others write in the workspace, too
				select {
				case states <- s:
				case <-ctx.Done():
					return
				}
			}
			if last = s; s.State.Over() || !pause(ctx, r.ctx, statusEvery) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			case <-r.ctx.Done():
				return
			}
		}
	}()
	return states
}

// decide stores what is decided about a run as it stands, for the server that carries it out or takes it over.
func (r *Runs) decide(
	ctx context.Context, workspace, id string, decisions func(run.Status) ([]state.RunDecision, error),
) (run.Status, error) {
	j := state.Runs{Table: r.cfg.Store.Table(workspace)}
	for {
		owner, err := j.Owner(ctx, id)
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return run.Status{}, err
		}
		s, err := r.Status(ctx, workspace, id)
		switch {
		case err != nil:
			return s, err
		case s.State.Over():
			return s, problem.New(http.StatusConflict, fmt.Sprintf("run %q has ended: %s", id, s.State))
		case r.server == "":
			return s, problem.New(http.StatusServiceUnavailable, notCarried)
		}
		all, err := decisions(s)
		if err != nil {
			return s, err
		}
		if err := j.Decide(ctx, id, owner, all); !errors.Is(err, storage.ErrConflict) {
			if err != nil {
				return s, err
			}
			return r.Status(ctx, workspace, id)
		}
	}
}

func nodeOf(s *run.Status, id string) *run.Node {
	if i := slices.IndexFunc(s.Nodes, func(n run.Node) bool { return n.ID == id }); i >= 0 {
		return &s.Nodes[i]
	}
	return nil
}
