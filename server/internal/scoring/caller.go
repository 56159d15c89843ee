package scoring

import (
	"context"
	"fmt"
	"net/http"

	"waymark/live"
	"waymark/run"
	"waymark/server/internal/api"
)

// asCaller calls upstream tools under the conditions of call_tool: with the scope write, within the tool set of the
// caller, and under the caller's source in the history.
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
		if call.Tool, err = api.Resolve(c.access, e.Model(), call.Tool); err != nil { // call the id that was checked
			return run.Result{}, err
		}
	}
	call.Source = c.access.Source
	return c.servers.Call(ctx, call)
}
