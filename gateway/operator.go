package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"waymark/catalog"
	"waymark/storage"
)

// Add stores definitions in a data directory, beside those with other ids, and records the agreement to start them as
// they are. [Gateway.Connect] starts them. Add looks up a command without a directory in PATH, so that a program that
// is later put before it there does not run in its place.
func (g *Gateway) Add(ctx context.Context, dir, workspace string, defs []Definition) error {
	g.changing.Lock()
	defer g.changing.Unlock()
	read, err := ReadDefinitions(dir, workspace)
	if err != nil {
		return err
	}
	all := read.Servers
	for i := range defs {
		d := &defs[i]
		if d.Command != "" && filepath.Base(d.Command) == d.Command {
			if d.Command, err = exec.LookPath(d.Command); err != nil {
				return fmt.Errorf("server %q: %w", d.ID, err)
			}
		}
		if err := d.CheckPlaceholders(); err != nil {
			return err
		}
		all = append(slices.DeleteFunc(all, func(old Definition) bool { return old.ID == d.ID }), *d)
	}
	for _, list := range [][]Definition{defs, all} {
		if err := CheckAll(list); err != nil {
			return err
		}
	}
	if err := WriteDefinitions(dir, workspace, all); err != nil {
		return err
	}
	for i := range defs {
		if err := g.register.agree(ctx, defs[i].ID, defs[i].Digest()); err != nil {
			return err
		}
	}
	g.reconcile()
	return nil
}

// Forget stops a server and deletes its definition from a data directory, its login, the agreements about it, its pins,
// and its tools from the catalog.
func (g *Gateway) Forget(ctx context.Context, dir, workspace, id string) error {
	g.changing.Lock()
	defer g.changing.Unlock()
	read, err := ReadDefinitions(dir, workspace)
	if err != nil {
		return err
	}
	if left := slices.DeleteFunc(slices.Clone(read.Servers), func(d Definition) bool { return d.ID == id }); len(left) < len(read.Servers) {
		if err := WriteDefinitions(dir, workspace, left); err != nil {
			return err
		}
	}
	if g.opts.Logins != nil {
		if err := g.opts.Logins.Forget(id); err != nil {
			return err
		}
	}
	g.mu.Lock()
	delete(g.defs, id)
	g.mu.Unlock()
	g.reconcile()
	ids, err := g.register.forget(ctx, id)
	if err != nil {
		return err
	}
	g.reconcile()
	if len(ids) > 0 && g.opts.Catalog != nil {
		return g.opts.Catalog.RemoveTools(ctx, ids)
	}
	return nil
}

// Agree records that somebody saw the definition with this digest and wants it started. It starts the server if its
// definition was given to Connect.
func (g *Gateway) Agree(ctx context.Context, id, digest string) error {
	g.changing.Lock()
	defer g.changing.Unlock()
	if err := g.register.agree(ctx, id, digest); err != nil {
		return err
	}
	g.reconcile()
	return nil
}

// Approve releases a withheld tool. A fingerprint, if given, must be that of the waiting contract.
func (g *Gateway) Approve(ctx context.Context, id, shownPrint string) error {
	if w := g.shown.Load().withheld[id]; w.Reason == ReasonInvalid {
		return fmt.Errorf("%s cannot be used: %s", id, w.Detail)
	}
	if err := g.register.approve(ctx, id, shownPrint); err != nil {
		return err
	}
	server, _, _ := catalog.Split(id)
	g.relist(server)
	return nil
}

// agreedElsewhere takes over the agreements, approvals and grants that another process changed in the shared store.
func (g *Gateway) agreedElsewhere() {
	if changed, err := g.register.load(g.ctx); err != nil || !changed {
		return // the next change tries again
	}
	g.relist("")
}

// relist reconciles the servers with the agreements, and makes one server list its tools again, because they may have
// changed. If server is empty, all servers do so.
func (g *Gateway) relist(server string) {
	g.changing.Lock()
	defer g.changing.Unlock()
	g.reconcile()
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, up := range g.ups {
		if server == "" || id == server {
			signal(up.wake)
		}
	}
}

// Grant allows calls of the tools that match a pattern although they may do harm. A pattern is an id in which * matches
// any characters.
func (g *Gateway) Grant(ctx context.Context, pattern string) error {
	if pattern == "" || len(pattern) > catalog.MaxID {
		return errors.New("a grant names a tool, or a pattern of tools such as github:*")
	}
	return g.register.set(ctx, row(grantRow+pattern, map[string]time.Time{"at": g.opts.Now().UTC()}))
}

// Revoke removes a grant. It returns false if there is none.
func (g *Gateway) Revoke(ctx context.Context, pattern string) (bool, error) {
	if !slices.Contains(g.register.kept.Load().grants, pattern) {
		return false, nil
	}
	return true, g.register.set(ctx, storage.Change{Key: grantRow + pattern})
}

// Grants returns the granted patterns, sorted.
func (g *Gateway) Grants() []string {
	return append([]string{}, g.register.kept.Load().grants...)
}

// SetAgents replaces the tool sets of all agents.
func (g *Gateway) SetAgents(agents map[string][]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.agents = agents
}

// Agents returns the patterns of the tools of each agent.
func (g *Gateway) Agents() map[string][]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.agents)
}

// Agent returns the patterns of the tools of an agent; nil if there is no such agent.
func (g *Gateway) Agent(name string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.agents[name]
}
