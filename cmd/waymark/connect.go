package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"waymark/gateway"
	"waymark/ingest/hook"
	"waymark/internal/bounded"
	"waymark/internal/endpoint"
	"waymark/live"
	"waymark/live/record"
	"waymark/score"
	"waymark/server"
	"waymark/storage"
	"waymark/suggest"
	"waymark/suggest/semantic"
)

// openDirectory is an open data directory with the components that use it.
type openDirectory struct {
	dir        string
	logger     *slog.Logger
	store      *storage.Store
	unlock     func() error // of the data directory, if the store is elsewhere
	workspaces *live.Workspaces
	server     *server.Server
	transport  *http.Transport // to the server in this process
	hangUp     func() error
	feed       *record.Feed // imports the calls that hooks spooled
	token      string       // full access for the user who can read the owner note
	window     bool         // of [access]

	workspace  string                             // that the upstream servers belong to
	gateway    *gateway.Gateway                   // to these servers; nil if there is none
	exclusions atomic.Pointer[suggest.Exclusions] // the tools that the gateway withholds
}

// access describes how long a process holds the data directory, and for whom.
type access struct {
	requireKey bool
	serves     bool          // holds the directory for longer than one answer
	window     bool          // serves for one host, and gives way to a server that starts
	timeout    time.Duration // of an answer; 0: default of the server
	maxBody    int64         // of a request; 0: default of the server
}

// A command waits at most countPatience until the calls that it imported count in answers. commandTimeout is long,
// because without a stored model a command first builds one.
const countPatience, commandTimeout = time.Second, time.Hour

// brief is the access of most commands.
var brief = access{timeout: commandTimeout}

// words sets the embedder and the thesaurus in opts.
func (a *app) words(opts *live.Options) (err error) {
	if a.embeddings.BaseURL != "" {
		if opts.Embedder, err = endpoint.NewEmbedder(owned(a.embeddings, "WAYMARK_EMBEDDINGS_KEY")); err != nil {
			return err
		}
	}
	if a.thesaurus == "" {
		return nil
	}
	f, err := bounded.Open(a.ctx, a.thesaurus, bounded.Document)
	if err != nil {
		return fmt.Errorf("thesaurus: %w", err)
	}
	defer f.Close()
	opts.Thesaurus, err = semantic.DefaultThesaurus().Extend(a.thesaurus, f)
	return err
}

// open opens the data directory for this process. It returns storage.ErrInUse if another process has it.
func (a *app) open(logger *slog.Logger, who access) (h *openDirectory, err error) {
	dir, err := filepath.Abs(a.data)
	if err != nil {
		return nil, err
	}
	if idle := a.life.Idle; idle != 0 && idle < time.Minute { // a request holds its workspace for up to that long
		return nil, usagef("%s must be 0 or at least 1m, got %s", a.flagName("unload-after"), idle)
	}
	if keep := a.serving.KeepFor; keep < 0 || keep > 0 && keep < time.Hour { // younger episodes may still grow
		return nil, usagef("%s must be 0 or at least 1h", a.flagName("keep-for"))
	}
	if who.window && claimed(dir) {
		return nil, storage.ErrInUse
	}
	store, unlock, err := a.openStore(dir, storage.Options{Logger: logger})
	if err != nil {
		return nil, err
	}
	h = &openDirectory{dir: dir, workspace: a.workspace, logger: logger, store: store, unlock: unlock, window: who.window, token: rand.Text()}
	if err = h.note(""); err == nil {
		err = a.assemble(h, who)
	}
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// assemble makes the components that use an open data directory.
func (a *app) assemble(h *openDirectory, who access) (err error) {
	cfg, opts := a.serving, a.life
	opts.Logger, opts.Now, opts.Serves = h.logger, time.Now, who.serves
	opts.Withheld, opts.Connected = h.withheld, h.connected
	if err := a.words(&opts); errors.Is(err, fs.ErrNotExist) { // no usage error, like any other missing file
		return err
	} else if err != nil {
		return usageError{err}
	}
	if cfg.Judges, err = a.askers(); err != nil {
		return usageError{err}
	}
	h.workspaces = live.NewWorkspaces(h.store, opts)
	h.feed = record.NewFeed(hook.SpoolOf(h.dir), h.store, h.workspaces.Open, time.Now, h.logger)
	h.feed.NoDigests = opts.DropDigests
	if err := a.openGateway(h, who.serves); err != nil {
		return err
	}
	cfg.Store, cfg.Workspaces, cfg.Traces, cfg.KeepKey = h.store, h.workspaces, h.feed.Collect, h.feed.KeepKey
	cfg.Logger, cfg.Version, cfg.Now, cfg.Data, cfg.Settings = h.logger, version().Version, time.Now, h.dir, a.settings
	cfg.LocalToken, cfg.RequireKey, cfg.Timeout, cfg.MaxBody = h.token, who.requireKey, who.timeout, who.maxBody
	cfg.Upstream.Gateway, cfg.Upstream.Workspace = h.gateway, h.workspace
	if h.gateway != nil && a.connect {
		cfg.Upstream.Reload = h.startServers
		open := func(ctx context.Context) (record.Store, error) { return h.workspaces.Open(ctx, h.workspace) }
		cfg.Caller = record.New(open, h.gateway, record.Options{Logger: h.logger, DropDigests: opts.DropDigests})
	}
	if h.server, err = server.New(cfg); err != nil {
		return err
	}
	h.transport, h.hangUp = inProcess(h.server.Handler())
	if cfg.Upstream.Reload != nil {
		err = cfg.Upstream.Reload()
	}
	return err
}

// exists returns an error if the data directory does not exist. Backup and rebuild use it; otherwise a mistyped
// directory would be created, and reported as done.
func (a *app) exists() error {
	if a.store != "" {
		return nil
	}
	_, err := os.Stat(a.data)
	return err
}

// storeFile is a file in the data directory. It names the database that servers use in place of the directory's own.
const storeFile = "store"

// openStore opens the database at a.store, or the one in the data directory if that is empty. In both cases no other
// process may have the directory open. If storeFile names another database, --store is required, because the
// directory's own database would be empty.
func (a *app) openStore(dir string, opts storage.Options) (store *storage.Store, unlock func() error, err error) {
	named := filepath.Join(dir, storeFile)
	if a.store == "" {
		if was, err := os.ReadFile(named); err == nil {
			if unlock, err = storage.Lock(dir); err != nil {
				return nil, nil, err
			}
			_ = unlock()
			return nil, nil, fmt.Errorf("the servers of the data directory %s use the database at %s: start waymark serve --store with it, or remove %s", dir, strings.TrimSpace(string(was)), named)
		}
		store, err = storage.Open(dir, opts)
		return store, func() error { return nil }, err
	}
	if unlock, err = storage.Lock(dir); err != nil {
		return nil, nil, err
	}
	if store, err = storage.Open(a.store, opts); err == nil {
		err = storage.ReplaceFile(named, []byte(storage.Name(a.store)+"\n"))
	}
	if err != nil {
		return nil, nil, errors.Join(err, unlock())
	}
	return store, unlock, nil
}

// owned returns an endpoint with its key. Whoever chooses the endpoint owns this process, so it may well be on their own
// machine.
func owned(o endpoint.Options, key string) endpoint.Options {
	o.APIKey, o.AllowPrivate = endpoint.Key(os.Getenv(key)), true
	return o
}

// askers returns the models that scorers may ask.
func (a *app) askers() (judges score.Judges, err error) {
	if (a.judge.BaseURL == "") != (len(a.judges) == 0) {
		return judges, errors.New("--judge-url and --judge-model go together")
	}
	judges = score.Judges{Names: a.judges, Askers: map[string]score.Asker{}}
	for _, model := range a.judges {
		own := owned(a.judge, "WAYMARK_JUDGE_KEY")
		own.Model = model
		if judges.Askers[model], err = score.NewClient(own); err != nil {
			return judges, err
		}
	}
	return judges, nil
}

// note writes the owner note, by which other commands find the process that has the directory. An empty addr means that
// it takes no requests.
func (h *openDirectory) note(addr string) error {
	command := append([]string{"waymark"}, os.Args[1:]...)
	for i, arg := range command {
		command[i] = storage.Name(arg) // an address may have a password
	}
	o := ownerNote{
		PID: os.Getpid(), Addr: addr, Command: strings.Join(command, " "), GivesWay: h.window,
	}
	if addr != "" {
		o.Token = h.token
	}
	return writeOwner(h.dir, o)
}

// client returns a client of the handler in this process.
func (h *openDirectory) client(workspace string) *client {
	return &client{
		http: &http.Client{Transport: h.transport, CheckRedirect: noRedirect},
		base: "http://localhost", token: h.token, workspace: workspace,
	}
}

// close closes all components in the order of their dependencies. It removes the note while the lock is still held, so
// that it cannot remove the note of the next owner.
func (h *openDirectory) close() error {
	var err error
	if h.server != nil {
		h.server.Close()
	}
	if h.gateway != nil { // it may still write tools
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = errors.Join(err, h.gateway.Close(ctx))
	}
	if h.workspaces != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		err = errors.Join(err, h.workspaces.Close(ctx))
	}
	if h.hangUp != nil { // last: until then requests are refused with a reason
		err = errors.Join(err, h.hangUp())
	}
	_ = os.Remove(filepath.Join(h.dir, ownerName)) // the lock decides, not the note
	return errors.Join(err, h.store.Close(), h.unlock())
}

// with runs f with a client of the data directory. If this process opens the directory, others wait until f has
// returned.
func (a *app) with(ctx context.Context, f func(*client) error) error {
	return a.within(ctx, brief, f)
}

// within runs f with a client of the data directory. If this process opens the directory as a window, it answers other
// processes meanwhile.
func (a *app) within(ctx context.Context, who access, f func(*client) error) error {
	h, c, err := a.enter(ctx, a.logger(), who)
	switch {
	case err != nil:
		return err
	case h != nil:
		leave := h.close
		if who.window {
			leave = behind(ctx, func(ctx context.Context) error { return a.lend(ctx, h) })
		}
		steps, err := h.feed.Take(ctx)
		if err != nil {
			a.logger().Warn("the spool of hooks is not taken in", "error", err)
		}
		if steps > 0 { // wait until they count in answers
			soon, stop := context.WithTimeout(ctx, countPatience)
			if e, err := h.workspaces.Get(soon, a.workspace); err == nil {
				_ = e.Wait(soon, e.Counted())
			}
			stop()
		}
		c = h.client(a.workspace)
		return errors.Join(f(c), leave())
	}
	if err := a.checkIdle(c); err != nil {
		return err
	}
	return f(c)
}

// behind runs f in the background. The returned function ends f by its context and returns its error.
func behind(ctx context.Context, f func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

// enter opens the data directory for this process or, if a server has it, returns a client of that server. Another
// command may be about to end, a server about to listen, or a window about to give way, so enter retries for 5 s, or
// for longestTakeOver if a window is involved, before its error names the owner.
func (a *app) enter(ctx context.Context, logger *slog.Logger, who access) (*openDirectory, *client, error) {
	claims, patience := who.serves && !who.window, 5*time.Second
	for began, wait := time.Now(), 20*time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		if claims && a.claim == nil {
			a.claim, _ = storage.Lock(filepath.Join(a.data, claimDir)) // else another server has it, or a window is checking it
		}
		h, err := a.open(logger, who)
		if !errors.Is(err, storage.ErrInUse) {
			return h, nil, err
		}
		c, owner, silent := a.remote(ctx, who)
		switch {
		case c != nil && !(claims && owner.GivesWay):
			return nil, c, nil
		case owner.GivesWay || who.window && who.serves:
			patience = longestTakeOver
		}
		if time.Since(began) > patience {
			return nil, nil, inUse(a.data, owner, strings.TrimSuffix(fmt.Sprintf("does not answer: %v", silent), ": <nil>"))
		}
		if !bounded.Wait(ctx, wait) {
			return nil, nil, ctx.Err()
		}
	}
}

// claimDir is a directory in the data directory that a server locks while it runs. Windows leave the data directory to
// it.
const claimDir = "serve"

// claimed reports whether a server has the data directory, or waits for it.
func claimed(dir string) bool {
	unlock, err := storage.Lock(filepath.Join(dir, claimDir))
	if err == nil {
		_ = unlock()
	}
	return errors.Is(err, storage.ErrInUse)
}

// checkIdle rejects flags of the command line that have no effect because a running server answers. Settings of the
// environment and of the file are meant for every process, so they are no error.
func (a *app) checkIdle(c *client) error {
	for _, name := range processSettings {
		if a.setting(name).Origin == "flag" {
			return usagef("--%s has no effect: the server at %s has the data directory and uses its own settings; leave the flag out or stop that server", name, c.base)
		}
	}
	return nil
}

// remote finds the server that has the data directory by its owner note. The client is nil if there is no note, no
// address in it, or no server of this directory at the address. For a window that serves it also creates the workspace
// that the host is configured for, because hosts ask before anything is recorded.
func (a *app) remote(ctx context.Context, who access) (*client, ownerNote, error) {
	owner, err := readOwner(a.data)
	if err != nil || owner.Addr == "" {
		return nil, owner, nil
	}
	c := &client{
		http: &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: 2 * time.Second}).DialContext}, CheckRedirect: noRedirect},
		base: "http://" + owner.Addr, token: owner.Token, workspace: a.workspace,
	}
	soon, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	// A route that needs the token: another server may have the address by now.
	if err = c.ask(soon, "list-workspaces", nil, nil); err == nil && who.window && who.serves {
		err = c.makeWorkspace(ctx) // without the timeout: it may have to be loaded
	}
	if err != nil {
		return nil, owner, err
	}
	return c, owner, nil
}

// inUse returns the error that names the owner of the directory, as far as it is known, and how it answers.
func inUse(dir string, o ownerNote, answers string) error {
	if o.Addr == "" {
		answers = "takes no requests; wait for it or stop it"
	}
	return fmt.Errorf("%w: %s, by %v, which %s", storage.ErrInUse, dir, o, answers)
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// logger writes to stderr, never to stdout: stdout is for answers, and for MCP nothing but protocol.
func (a *app) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.errs, &slog.HandlerOptions{Level: a.logLevel}))
}
