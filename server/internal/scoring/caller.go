package scoring

import (
	"context"
	"fmt"
	"net/http"

	"waymark/live"
	"waymark/run"
	"waymark/server/internal/problem"
	"waymark/server/internal/request"
	"waymark/server/internal/route"
)

// asCaller calls tools of other servers as call_tool lets the caller: with scope write, within its tool set, and under its
// own name in the history.
type asCaller struct {
	servers    run.Caller
	access     request.Access
	workspaces *live.Workspaces
}

func (c asCaller) Call(ctx context.Context, call run.Call) (run.Result, error) {
	if !c.access.May(request.ScopeWrite) {
		return run.Result{}, problem.New(http.StatusForbidden, fmt.Sprintf("calling tools needs the scope %v, this credential has %v", request.ScopeWrite.Names(), c.access.Scopes.Names()))
	}
	if c.access.Tools != nil {
		e, err := c.workspaces.Get(ctx, c.access.Workspace)
		if err != nil {
			return run.Result{}, err
		}
		if call.Tool, err = route.Resolve(c.access, e.Model(), call.Tool); err != nil { // what was looked at is what is called
			return run.Result{}, err
		}
	}
	call.Source = c.access.Source
	return c.servers.Call(ctx, call)
}
