// Command waymark tells an agent which tool comes next.
//
// It is flags and wiring only. A command that asks or changes something calls the HTTP API, either of the server that
// has the data directory or of the same handler in this process (see [client]); serve and mcp put that handler on a
// socket or a pipe.
//
//	            ┌── data directory is free ──▶ open store ─▶ live ─▶ server ─▶ handler
//	command ────┤                                                        ▲
//	            └── a server has it ─────────▶ its address and token ────┘
//
// Exit codes: 0 done, also where nothing was found; 1 the answer is negative; 2 wrong usage; 3 could not run.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"waymark/gateway"
	"waymark/ingest/hook"
	"waymark/internal/bounded"
	"waymark/internal/endpoint"
	"waymark/live"
	"waymark/server"
	"waymark/suggest"
)

// The exit codes.
const (
	exitDone     = 0
	exitNegative = 1
	exitUsage    = 2
	exitFailed   = 3
)

// errNegative is a negative result that was already printed.
var errNegative = errors.New("negative answer")

// rejected is a negative result that is still to be printed.
type rejected struct{ error }

func (e rejected) Unwrap() error { return e.error }

// usageError is an error in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	tuneCollector()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes one command line and returns the exit code. Errors go to stderr, one line each.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	a := &app{ctx: ctx, in: in, out: out, errs: errs}
	root := a.command()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errNegative):
		return exitNegative
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err, a.started = errors.New("interrupted"), true // also while settings are read
	}
	said := struct {
		Error    string                `json:"error"`
		ExitCode int                   `json:"exit_code"`
		Status   int                   `json:"status,omitempty"`
		Errors   []*server.ProblemPart `json:"errors,omitempty"`
	}{Error: clean(strings.ReplaceAll(err.Error(), "\n", "; ")), ExitCode: a.exitCode(err)}
	if p, ok := errors.AsType[*problem](err); ok {
		said.Status, said.Errors = p.Status, p.Errors
	}
	if text, failed := json.Marshal(said); failed == nil && (a.json || slices.Contains(args, "--json")) { // the parser may have stopped before it
		fmt.Fprintln(errs, string(text))
	} else {
		fmt.Fprintln(errs, "waymark: "+said.Error)
	}
	return said.ExitCode
}

// exitCode returns the exit code of an error. An error before the command has started is wrong usage; so is a request
// that the API rejects as malformed or invalid.
func (a *app) exitCode(err error) int {
	switch {
	case !a.started || errors.As(err, new(usageError)):
		return exitUsage
	case errors.As(err, new(rejected)) || errors.As(err, new(*bounded.LimitError)):
		return exitNegative
	}
	p, refused := errors.AsType[*problem](err)
	if refused && (p.Status == http.StatusBadRequest || p.Status == http.StatusUnprocessableEntity) {
		return exitUsage
	}
	return exitFailed
}

// app is one run of the program: its streams and the settings every command shares.
type app struct {
	ctx       context.Context // ends with a signal, and ends the reading of input
	in        io.Reader
	out, errs io.Writer
	started   bool // a command's own function has begun

	settings  shownSettings // of this process
	claim     func() error  // of the data directory, by a server; held to the end of the process
	config    string
	data      string
	workspace string
	json      bool
	logLevel  slog.Level

	store string // address of a database of PostgreSQL; empty: the store is in the data directory

	// Values of flags; the other fields are set where they are used.
	serving    server.Config
	life       live.Options
	upstream   gateway.Options
	connect    bool // start other servers
	thesaurus  string
	embeddings endpoint.Options
	judge      endpoint.Options
	judges     []string // models of that endpoint

	addsServers bool   // the command is gateway add
	yes         bool   // questions are answered beforehand
	style       string // of progress: auto, plain or none
}

// command builds the tree of commands.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "waymark",
		Short: "Tells an agent which tool comes next",
		Long: `Waymark learns from the tool calls of agents. It suggests the next tool or a DAG of tools for a request, and explains
each suggestion.

Exit codes: 0 success, also if nothing was found; 1 negative result: input was rejected, a check failed, a replay
differs, a rebuild was refused, a baseline is better, a run failed; 2 wrong usage; 3 could not run. With --json an
error is one line of JSON on stderr: {"error","exit_code"} and, for a refused request, "status" and "errors".`,
		Version:       version().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 { // the flags are those of an unknown command
			return noSuchCommand(cmd, args)
		}
		return usagef("%w; see `%s --help`", flagError(cmd, err), cmd.CommandPath())
	})
	f := root.PersistentFlags()
	f.StringVar(&a.data, "data", hook.DataDir(), "data `directory`")
	f.StringVar(&a.workspace, "workspace", "default", "workspace `name`")
	f.BoolVar(&a.json, "json", false, "print JSON: the body of the HTTP answer")
	f.StringVar(&a.config, "config", "", "settings `file` (default "+cmp.Or(defaultConfigFile(), "waymark/config.yaml in the directory of settings")+", if present)")
	f.StringVar(&a.thesaurus, "thesaurus", "", "`file` of additional synonyms for search and spelling correction; used by the process that owns the data directory")
	f.StringVar(&a.store, "store", "", "`URL` of a PostgreSQL database shared by several servers (postgres://…), instead of the store in the data directory")
	f.BoolVar(&a.life.DropIntents, "drop-intents", false, "never store the requests of users")
	f.BoolVar(&a.life.DropDigests, "drop-digests", false, "never store the keyed hashes of argument values from which argument wiring is learned")
	f.TextVar(&a.logLevel, "log-level", slog.LevelWarn, "log `level` on stderr: debug, info, warn or error")
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Ask", []*cobra.Command{a.nextCommand(), a.searchCommand(), a.dagCommand(), a.explainCommand()}},
		{"Record and import", []*cobra.Command{a.importCommand(), a.recordCommand(), a.exportCommand(), a.reportCommand(), a.forgetCommand()}},
		{"Connect hosts and servers", []*cobra.Command{a.serveCommand(), a.mcpCommand(), a.initCommand(), a.uninitCommand(), a.gatewayCommand(), a.approveCommand(), a.ruleCommand()}},
		{"Run", []*cobra.Command{a.runCommand(), a.runsCommand(), a.capabilityCommand()}},
		{"Score", []*cobra.Command{a.scoreCommand(), a.triangulateCommand()}},
		{"Build and evaluate the model", []*cobra.Command{a.rebuildCommand(), a.evaluateCommand(), a.diffCommand()}},
		{"Operate", []*cobra.Command{a.doctorCommand(), a.backupCommand(), a.restoreCommand(), a.keysCommand(), a.workspaceCommand(), a.versionCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, cmd := range g.commands {
			cmd.GroupID = g.title
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommandGroupID("Operate")
	root.SetCompletionCommandGroupID("Operate")
	a.wrap(root)
	root.InitDefaultCompletionCmd() // a group like the others, but its scripts do not wait for settings
	completion, _, _ := root.Find([]string{"completion"})
	completion.Args, completion.RunE = noSuchCommand, needsCommand
	return root
}

// wrap makes every command load the settings before its own function and note that it has started.
func (a *app) wrap(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		a.wrap(sub)
	}
	if run := cmd.RunE; run != nil {
		if cmd.Args == nil {
			cmd.Args = argsFor(cmd.Use)
		}
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := a.prepare(cmd); err != nil {
				return err
			}
			a.started = true
			return run(cmd, args)
		}
	}
}

// prepare loads the settings and checks the style of progress and the name of the workspace.
func (a *app) prepare(cmd *cobra.Command) error {
	if err := a.loadSettings(cmd); err != nil {
		return err
	}
	if !slices.Contains([]string{"auto", "plain", "none"}, a.style) {
		return usagef("unknown --progress %q: want auto, plain or none", a.style)
	}
	if wrong, ok := errors.AsType[*suggest.RequestError](live.CheckName(a.workspace)); ok { // before anything is read or written
		return usagef("workspace %s", wrong.Detail)
	}
	return nil
}

// group returns a command that only has subcommands.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: noSuchCommand, RunE: needsCommand}
	cmd.AddCommand(subs...)
	return cmd
}

func needsCommand(cmd *cobra.Command, _ []string) error {
	return usagef("%s needs a command; see `%s --help`", inWords(cmd), cmd.CommandPath())
}

func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = max(1, len(args[0])/3)
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usagef("unknown command %q of %s; did you mean %s?", args[0], cmd.CommandPath(), strings.Join(near, " or "))
	}
	return usagef("unknown command %q of %s; see `%s --help`", args[0], cmd.CommandPath(), cmd.CommandPath())
}
