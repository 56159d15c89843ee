package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"waymark/gateway"
	"waymark/internal/bounded"
	mcpserver "waymark/server/mcp"
	"waymark/storage"
)

func (a *app) serveCommand() *cobra.Command {
	var addr, cert, key string
	var sampled bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve HTTP, MCP and the web page",
		Long: `Serves the HTTP API under /v1, MCP at /mcp, a page at / and the documentation at /docs, until interrupted. On any but a
loopback address every request needs an API key, so one must exist before (waymark keys create).`,
		Example: `  waymark serve --sample
  waymark serve --data /var/lib/waymark --addr 0.0.0.0:7070 --allow-host waymark.example.org`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, p := range a.serving.Proxies {
				if _, err := netip.ParseAddr(p); err != nil {
					return usagef("--proxy %s is not an IP address", p)
				}
			}
			var err error
			if a.serving.TLS, err = a.tlsConfig(cert, key); err == nil {
				err = a.serve(cmd.Context(), addr, sampled)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&addr, "addr", "127.0.0.1:7070", "`host:port` to listen on; port 0 picks a free one")
	f.BoolVar(&sampled, "sample", false, "import the bundled sample into an empty workspace first")
	f.StringSliceVar(&a.serving.Hosts, "allow-host", nil, "accepted Host `names`, in addition to loopback names and the address itself")
	f.StringSliceVar(&a.serving.Origins, "allow-origin", nil, "browser `origins` that may send requests, as in https://app.example.org")
	f.StringSliceVar(&a.serving.Proxies, "proxy", nil, "`addresses` of reverse proxies: their connections and requests are not limited by address")
	f.StringVar(&cert, "tls-cert", "", "`file` of the certificate chain in PEM: enables TLS, and every request needs a key")
	f.StringVar(&key, "tls-key", "", "`file` of its key in PEM; both are read again when they change")
	f.DurationVar(&a.serving.KeepFor, "keep-for", 0, "forget episodes whose last step is older than this `duration`, as in 2160h; 0: no limit")
	a.engineFlags(cmd)
	a.upstreamFlags(cmd)
	return cmd
}

// engineFlags adds the flags of the commands that hold the data directory for long.
func (a *app) engineFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.embeddings.BaseURL, "embeddings-url", "", "OpenAI-compatible `endpoint` of embeddings for search, as in http://127.0.0.1:11434/v1; its key comes from WAYMARK_EMBEDDINGS_KEY")
	f.StringVar(&a.embeddings.Model, "embeddings-model", "", "embedding `model` of that endpoint")
	f.BoolVar(&a.life.KeepSecrets, "keep-secrets", false, "do not redact keys, tokens and passwords in intents and errors")
	f.DurationVar(&a.life.Idle, "unload-after", 30*time.Minute, "`time` after which an idle workspace other than default is unloaded until its next use; 0: never")
	f.BoolVar(&a.life.Mine, "mine", false, "mine the history for capabilities after each rebuild, and propose them")
	a.judgeFlags(cmd)
}

// judgeFlags adds the flags of the commands in whose process scorers may run.
func (a *app) judgeFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.judge.BaseURL, "judge-url", "", "OpenAI-compatible `endpoint` of the judge models of scorers; its key comes from WAYMARK_JUDGE_KEY")
	f.DurationVar(&a.judge.Timeout, "judge-timeout", 30*time.Second, "`time` limit of one answer of that endpoint")
	f.StringSliceVar(&a.judges, "judge-model", nil, "`models` of that endpoint; the first is the default")
	f.BoolVar(&a.serving.RecordScores, "record-scores", true, "record runs of scorers as episodes, so that they are suggested like tools")
}

func (a *app) serve(ctx context.Context, addr string, sampled bool) (err error) {
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return usagef("--addr %s: %w", addr, err)
	}
	who := access{requireKey: !tcp.IP.IsLoopback() || a.serving.TLS != nil, serves: true}
	h, c, err := a.enter(ctx, a.logger(), who)
	if err != nil {
		return err
	}
	if c != nil {
		owner, _ := readOwner(a.data) // without a note the owner is just not known
		return inUse(a.data, owner, "answers")
	}
	defer func() { err = errors.Join(err, h.close()) }()

	c = h.client(a.workspace)
	var list struct{ Keys []any }
	if err := c.ask(ctx, "list-keys", nil, &list); err != nil {
		return err
	}
	if who.requireKey && len(list.Keys) == 0 { // every request would be refused
		return fmt.Errorf("%s is reachable from other machines and there is no API key yet: make one with `waymark keys create`, or listen on 127.0.0.1", addr)
	}
	if sampled {
		if err := a.fillSample(ctx, c); err != nil {
			return err
		}
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("%w; --addr or WAYMARK_ADDR names another address, port 0 any free port", err)
	}
	local := *ln.Addr().(*net.TCPAddr)
	if local.IP.IsUnspecified() { // this machine reaches it on loopback
		local.IP = net.IPv4(127, 0, 0, 1)
	}
	base, noted, own := "http://"+local.String(), local.String(), []net.Listener(nil)
	if a.serving.TLS != nil { // commands of this machine need no certificate
		plain, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		base, noted, own = "https://"+local.String(), plain.Addr().String(), []net.Listener{plain}
	}
	err = h.note(noted)
	if err == nil {
		err = a.welcome(ctx, c, h, base, who.requireKey || len(list.Keys) > 0)
	}
	if err != nil {
		return err // the listeners end with the process
	}
	defer h.takeIn(ctx, a.workspace)()
	return h.server.Serve(ctx, ln, own...)
}

// takeIn imports the calls that hooks spool, until the returned function is called.
func (h *openDirectory) takeIn(ctx context.Context, workspace string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var both sync.WaitGroup
	both.Go(func() { h.feed.Whisper(ctx, h.dir) })
	both.Go(func() {
		if names, err := h.workspaces.List(ctx); err == nil && slices.Contains(names, workspace) { // a key makes a workspace
			_ = h.feed.KeepKey(ctx, workspace) // without it hooks leave no digests; the feed logs the error
		}
		h.feed.Run(ctx)
	})
	return func() {
		cancel()
		both.Wait()
	}
}

// welcome prints the addresses of the server, a link that signs in to the page, and how to connect a host. Without
// --json it prints the link to a terminal only, because others may read stored output.
func (a *app) welcome(ctx context.Context, c *client, h *openDirectory, base string, requireKey bool) (err error) {
	var made struct{ Path string }
	if err := c.ask(ctx, "create-sign-in-link", nil, &made); err != nil {
		return err
	}
	if a.json {
		return a.printValue(map[string]any{"data": h.dir, "api": base + "/v1", "mcp": base + "/mcp", "docs": base + "/docs", "page": base + "/", "sign_in": base + made.Path, "requires_key": requireKey})
	}
	a.printf("Waymark %s serves %s\n\n", version().Version, h.dir)
	a.printf("  page  %[1]s/\n  API   %[1]s/v1\n  MCP   %[1]s/mcp\n  docs  %[1]s/docs\n\n", base)
	if isTerminal(a.out) {
		a.printf("Open the page, signed in, within two minutes: %s%s\n\n", base, made.Path)
	}
	if requireKey {
		a.printf("Every request needs a key: Authorization: Bearer wmk_…\n\n")
	}
	if h.store.Head(a.workspace).Seq == 0 {
		err = a.nothingYet()
	}
	a.printf("Tell a host about it: waymark init --host NAME --url %s/mcp, or one that starts it by itself: waymark init --host NAME%s\n", base, a.elsewhere())
	return err
}

func (a *app) mcpCommand() *cobra.Command {
	var agent string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve MCP over stdio",
		Long: `Speaks MCP on standard input and output, for hosts that start their servers themselves. Any number of these, and a server,
may share a data directory. A workspace that does not exist yet is created.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.mcp(cmd.Context(), agent) },
	}
	a.engineFlags(cmd)
	a.upstreamFlags(cmd)
	cmd.Flags().StringVar(&agent, "agent", "", "show and call only the tools in the set of this agent `name` in gateway.json")
	return cmd
}

func (a *app) mcp(ctx context.Context, agent string) error {
	if err := a.checkAgent(agent); err != nil {
		return err
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a write to a closed host returns an error instead of ending the process
	h, _, err := a.enter(ctx, a.logger(), window)
	if h != nil {
		if err = h.client(a.workspace).makeWorkspace(ctx); err != nil {
			err = errors.Join(err, h.close())
		}
	}
	if err != nil {
		return err
	}
	stop := behind(ctx, func(ctx context.Context) error { return a.own(ctx, h) })
	err = mcpserver.Relay(ctx, a.in, a.out, a.owner, a.workspace, agent)
	return errors.Join(err, stop())
}

// window is the access of `waymark mcp`. Any process that a window of a host starts may hold the data directory; it
// answers those that know the token of the owner note.
var window = access{requireKey: true, serves: true, window: true, maxBody: mcpserver.MaxFrame}

// takeOver is the interval at which a window checks whether the data directory is free, and whether a server wants it.
const takeOver = 100 * time.Millisecond

// longestTakeOver is the longest wait for an owner that ends: longer than any graceful shutdown.
const longestTakeOver = 30 * time.Second

// own serves the data directory whenever no other process does, until ctx ends. h is the directory, if it is open.
func (a *app) own(ctx context.Context, h *openDirectory) (err error) {
	for {
		if h != nil {
			err = a.lend(ctx, h)
		}
		if ctx.Err() != nil {
			return err
		}
		wait := takeOver
		if err != nil && !errors.Is(err, storage.ErrInUse) {
			a.logger().Error("the data directory cannot be opened or served; this is tried again", "error", err)
			wait = 5 * time.Second
		}
		if !bounded.Wait(ctx, wait) {
			return nil
		}
		h, err = a.open(a.logger(), window)
	}
}

// lend answers for the data directory until ctx ends or a server wants it, and closes it.
func (a *app) lend(ctx context.Context, h *openDirectory) (err error) {
	defer func() { err = errors.Join(err, h.close()) }()
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := h.note(ln.Addr().String()); err != nil {
		return errors.Join(err, ln.Close())
	}
	defer h.takeIn(ctx, a.workspace)()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for seen := 0; seen < 2 && ctx.Err() == nil; time.Sleep(takeOver) {
			if seen++; !claimed(h.dir) { // once may be another window that checks at the same moment
				seen = 0
			}
		}
		cancel()
	}()
	return h.server.Serve(ctx, ln)
}

// owner returns the process that has the data directory, from its note.
func (a *app) owner() (mcpserver.Owner, error) {
	o, err := readOwner(a.data)
	if err == nil && o.Addr == "" {
		err = inUse(a.data, o, "")
	}
	return mcpserver.Owner{Endpoint: "http://" + o.Addr + "/mcp", Token: o.Token}, err
}

// checkAgent rejects a name without a tool set, so that a mistake does not look like an agent without tools.
func (a *app) checkAgent(name string) error {
	if name == "" {
		return nil
	}
	defined, err := gateway.ReadDefinitions(a.data, a.workspace)
	if err == nil && defined.Agents[name] == nil {
		return usagef("workspace %q has no agent %q; agents are defined in %s of the data directory", a.workspace, name, gateway.DefinitionsFile)
	}
	return err
}
