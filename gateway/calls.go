package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/run"
)

// call carries out one call. The breaker counts calls that the server as a whole does not answer, not tools that fail.
func (u *upstream) call(ctx context.Context, t *entry, c run.Call) (run.Result, error) {
	defer u.enter()()
	l, res := u.ready(ctx)
	if l == nil {
		return res, ctx.Err()
	}
	free, res := u.slot(ctx)
	if free == nil {
		return res, ctx.Err()
	}
	defer free()
	began := time.Now()
	u.tally.calls.Add(1)
	defer func() { u.tally.busy.Add(int64(time.Since(began))) }()
	if u.breaker.Enter() != nil {
		u.tally.failures.Add(1)
		u.tally.tools.count(t.tool.ID, true, 0)
		return failed(run.FailedUnavailable, "server %s does not answer and is left alone for a while: %s", u.def.ID, u.lastWords()), nil
	}
	res, gone, err := u.ask(ctx, l, t, c)
	if gone { // the call was not carried out
		if l = u.renewed(ctx, l); l != nil {
			res, _, err = u.ask(ctx, l, t, c)
		}
	}
	took := time.Since(began)
	if err != nil {
		took = 0
	}
	u.tally.tools.count(t.tool.ID, res.Failure != "", took)
	switch {
	case res.Failure == run.FailedTimeout || res.Failure == run.FailedUnavailable:
		if u.breaker.Failed() {
			u.log.Warn("breaker opened: calls to the server fail at once", "for", u.opts.Limits.BreakFor)
			if l := u.current(); l != nil {
				l.breakOff(fmt.Sprintf("%d calls in a row had no answer", u.opts.Limits.BreakAfter))
			}
		}
	case err == nil: // else the caller gave up, which says nothing about the server
		u.breaker.Succeeded()
	}
	if res.Failure != "" {
		u.tally.failures.Add(1)
	}
	return res, err
}

// ready is the connection, once there is one. An idle server is started, one that is just starting is waited for; one
// that broke is not.
func (u *upstream) ready(ctx context.Context) (*link, run.Result) {
	late := time.NewTimer(min(u.opts.StartTimeout, u.opts.CallTimeout))
	defer late.Stop()
	for {
		u.mu.Lock()
		state, l, changed, last := u.state, u.link, u.changed, u.last
		u.mu.Unlock()
		switch state {
		case Ready:
			return l, run.Result{}
		case Idle:
			signal(u.wake) // starts it
		case Waiting:
			return nil, failed(run.FailedUnavailable, "server %s is down: %s", u.def.ID, last)
		case Stopped:
			return nil, failed(run.FailedUnavailable, "server %s is not running", u.def.ID)
		}
		select {
		case <-changed:
		case <-late.C:
			return nil, failed(run.FailedUnavailable, "server %s has not started yet", u.def.ID)
		case <-ctx.Done():
			return nil, run.Result{}
		}
	}
}

// slot waits for one of the calls that may run at once.
func (u *upstream) slot(ctx context.Context) (free func(), res run.Result) {
	free = func() { <-u.slots }
	select {
	case u.slots <- struct{}{}:
		return free, res
	default:
	}
	if u.queue.Add(1) > int32(u.opts.Limits.Queue) {
		u.queue.Add(-1)
		return nil, failed(run.FailedUnavailable, "server %s is busy: %d calls run and %d wait", u.def.ID, u.opts.Limits.Concurrency, u.opts.Limits.Queue)
	}
	defer u.queue.Add(-1)
	late := time.NewTimer(u.opts.CallTimeout)
	defer late.Stop()
	select {
	case u.slots <- struct{}{}:
		return free, res
	case <-late.C:
		return nil, failed(run.FailedUnavailable, "server %s is busy: no call ended within %s", u.def.ID, u.opts.CallTimeout)
	case <-ctx.Done():
		return nil, res
	}
}

// renewed is the connection after one whose session the server does not know any more; nil if there is none.
func (u *upstream) renewed(ctx context.Context, old *link) *link {
	if u.current() == old {
		u.again.Store(true)
		old.breakOff("the server does not know the session any more")
	}
	for {
		u.mu.Lock()
		now, changed := u.link, u.changed
		u.mu.Unlock()
		if now != old {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
	l, _ := u.ready(ctx)
	return l
}

// longestCall bounds a call that reports progress, which gives it time anew.
const longestCall = time.Hour

// ask sends one call and reads its answer. It reports whether the server does not know the session any more.
func (u *upstream) ask(outer context.Context, l *link, t *entry, c run.Call) (res run.Result, gone bool, err error) {
	whole, end := context.WithTimeout(outer, longestCall)
	defer end()
	ctx, cancelWith := context.WithCancelCause(whole)
	cancel := func() { cancelWith(nil) }
	defer cancel()
	late := time.AfterFunc(u.opts.CallTimeout, func() { cancelWith(context.DeadlineExceeded) })
	defer late.Stop()
	stop := make(chan struct{})
	defer close(stop)
	go func() { // a connection that we break off answers nobody
		select {
		case <-l.broken:
			cancel()
		case <-l.done:
		case <-stop:
		}
	}()
	ctx, x := withExchange(ctx)
	params := &mcp.CallToolParams{Name: t.tool.Name, Arguments: c.Arguments}
	if len(c.Arguments) == 0 {
		params.Arguments = json.RawMessage("{}")
	}
	if err := withMeta(params, c.Meta); err != nil {
		return failed(run.FailedArgument, "_meta: %v", err), false, nil
	}
	token, stopListening := l.progress.listen(func(done, total float64, message string) {
		late.Reset(u.opts.CallTimeout)
		if c.Progress != nil {
			c.Progress(done, total, message)
		}
	})
	defer stopListening()
	params.SetProgressToken(token)
	_, err = l.session.CallTool(ctx, params)
	if raw, ok := x.answer(); ok {
		return resultOf(raw, t, u.opts.StrictResults), false, nil
	}
	switch {
	case outer.Err() != nil:
		return run.Result{}, false, outer.Err()
	case err == nil:
		return failed(run.FailedTool, "the server answered nothing"), false, nil
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		err = context.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		err = mcp.ErrConnectionClosed
	}
	status, cut, gone := x.over()
	if cut {
		return failed(run.FailedTool, "the answer is longer than %d bytes", u.opts.Limits.MaxAnswer), false, nil
	}
	res = failureOf(err, status, u.opts.CallTimeout.String(), l.story)
	if res.Failure == run.FailedAuth {
		res.Message = u.refusal(l, errors.New(res.Message)).Error()
	}
	return res, gone, nil
}

func (u *upstream) lastWords() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == "" {
		return "no call of late had an answer"
	}
	return u.last
}

// The keys of Call.Meta by which a host's answers to a server's questions come along.
const (
	MetaInputResponses = "io.waymark/input_responses"
	MetaRequestState   = "io.waymark/request_state"
)

// passedMeta are the keys of a host's _meta that a server gets to see: trace context, and what the host can
// be asked. The rest is between the host and us.
var passedMeta = []string{"traceparent", "tracestate", "baggage", mcp.MetaKeyClientCapabilities}

func withMeta(p *mcp.CallToolParams, meta json.RawMessage) error {
	if isNull(meta) {
		return nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(meta, &all); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		switch {
		case key == MetaInputResponses:
			if err := json.Unmarshal(all[key], &p.InputResponses); err != nil {
				return err
			}
		case key == MetaRequestState:
			if err := json.Unmarshal(all[key], &p.RequestState); err != nil {
				return err
			}
		case slices.Contains(passedMeta, key):
			if p.Meta == nil {
				p.Meta = mcp.Meta{}
			}
			p.Meta[key] = all[key]
		}
	}
	return nil
}
