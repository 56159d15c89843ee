package scoring

import (
	"context"
	"fmt"
	"net/http"

	"waymark/live"
	"waymark/run"
	"waymark/server/internal/api"
)

// asCaller calls tools of other servers as call_tool lets the caller: with scope write, within its tool set, and under its
// own name in the history.
type asCaller struct {
	servers    run.Caller
	access     api.Access
	workspaces *live.Workspaces
}

func (c asCaller) Call(ctx context.Context, call run.Call) (run.Result, error) {
	if !c.access.May(api.ScopeWrite) {
		return run.Result{}, api.Problem(http.StatusForbidden, fmt.Sprintf("calling tools needs the scope %v, this credential has %v", api.ScopeWrite.Names(), c.access.Scopes.Names()))
	}
	if c.access.Tools != nil {
		e, err := c.workspaces.Get(ctx, c.access.Workspace)
		if err != nil {
			return run.Result{}, err
		}
		if call.Tool, err = api.Resolve(c.access, e.Model(), call.Tool); err != nil { // what was looked at is what is called
			return run.Result{}, err
		}
	}
	call.Source = c.access.Source
	return c.servers.Call(ctx, call)
}
