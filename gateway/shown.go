package gateway

import (
	"context"
	"errors"
	"maps"
	"slices"

	"waymark/catalog"
	"waymark/run"
)

// publish replaces what is shown by a changed copy. g.mu is held.
func (g *Gateway) publish(change func(*shown)) {
	old := g.shown.Load()
	now := &shown{entries: maps.Clone(old.entries), withheld: maps.Clone(old.withheld)}
	change(now)
	for _, id := range slices.Sorted(maps.Keys(now.entries)) {
		now.tools = append(now.tools, now.entries[id].tool)
	}
	g.shown.Store(now)
	for _, f := range g.notify {
		f()
	}
}

// took holds a server's list against what is pinned, and publishes what may be used of it.
func (g *Gateway) took(ctx context.Context, u *upstream, tools []offered, besides Offers) error {
	server := u.def.ID
	g.listing.Lock()
	defer g.listing.Unlock()
	known := g.register.known()
	for i := range tools {
		known.Add(tools[i].tool.ID, server, tools[i].tool.Name)
	}
	for i := range tools {
		tools[i].look(known)
	}
	taken, err := g.register.compare(ctx, &u.def, tools)
	if err == nil {
		err = g.register.take(ctx, g.opts.Catalog, server, tools, taken)
	}
	if err == nil {
		err = g.register.keepOffers(ctx, server, besides)
	}
	if err != nil {
		return err
	}
	entries, withheld, offers := map[string]*entry{}, map[string]Withheld{}, map[string]bool{}
	for _, o := range tools {
		id := o.tool.ID
		if offers[id] = true; o.wrong == "" {
			entries[id] = u.entry(o.tool, o.print, o.members)
		} else {
			withheld[id] = Withheld{ID: id, Server: server, Reason: ReasonInvalid, Detail: o.wrong, Changed: []string{}, Flags: []string{}}
		}
	}
	for id, p := range g.register.of(server) {
		w, held := withheldBy(&p)
		if !offers[id] {
			w.Reason, w.Detail, held = ReasonGone, "its server does not offer it at the moment", true
		}
		if held {
			withheld[id] = w
			delete(entries, id)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if s, still := g.ups[server]; !still || s.upstream != u {
		return errors.New("it is being stopped")
	}
	g.publish(func(now *shown) {
		maps.DeleteFunc(now.entries, func(_ string, e *entry) bool { return e.server == server })
		maps.DeleteFunc(now.withheld, func(_ string, w Withheld) bool { return w.Server == server })
		maps.Copy(now.entries, entries)
		maps.Copy(now.withheld, withheld)
	})
	return nil
}

// entry makes a tool callable.
func (u *upstream) entry(t catalog.Tool, print catalog.Fingerprint, more members) *entry {
	e := &entry{tool: t, print: print, server: u.def.ID, members: more}
	var err error
	if e.input, err = run.NewValidator(t.InputSchema); err != nil {
		u.log.Debug("arguments of a tool are not checked", "tool", t.ID, "reason", err)
	}
	e.output, e.outputErr = run.NewValidator(t.OutputSchema)
	return e
}

// pinned are the tools of a server as they were approved, so that they can be offered before it is started: its list is
// compared with them before the first call. It is false if the server has not been listed since it was agreed to, or a
// tool that was approved has not been seen since.
func (g *Gateway) pinned(u *upstream) (entries map[string]*entry, ok bool) {
	entries = map[string]*entry{}
	for id, p := range g.register.of(u.def.ID) {
		switch {
		case p.broken:
			return nil, false
		case p.Waits != nil: // withheld
		case p.Tool == nil || p.Print == nil:
			return nil, false
		default:
			entries[id] = u.entry(*p.Tool, *p.Print, p.Members)
		}
	}
	return entries, g.register.consent(u.def.ID).Pinned
}
