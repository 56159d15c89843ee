package main

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"waymark/catalog"
	"waymark/ingest"
	"waymark/ingest/report"
)

func (a *app) reportCommand() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Review the sessions that hosts left on this machine",
		Long: `Reads the sessions of Claude Code, Codex, Copilot CLI, Gemini CLI, Goose, OpenCode and Cline where these hosts keep
them, and prints one page: servers and tools by calls, failures by class, durations, loops, configured servers that
nobody uses, what tool definitions cost, and how many of the newest calls Waymark would have named from those before.
Nothing is stored unless --keep is given, and nothing leaves the machine; requests and values are not shown.`,
		Example: `  waymark report
  waymark report --keep`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.report(cmd.Context(), keep)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "also import the sessions into the workspace")
	a.progressFlag(cmd)
	return cmd
}

func (a *app) report(ctx context.Context, keep bool) error {
	machine, err := thisMachine()
	if err != nil {
		return err
	}
	limit, bar := debug.SetMemoryLimit(-1), a.progress("report", -1)
	debug.SetMemoryLimit(min(report.Memory, limit))
	places := report.Look(machine.Places())
	sessions, err := report.Collect(ctx, places, time.Now(), func(host string, calls int) { bar.at(int64(calls), host) })
	if err != nil {
		return err
	}
	r, err := sessions.Report(ctx, report.Sources{Configs: machine.Configs(), Tools: a.knownTools(ctx), Progress: func(phase string) { bar.at(int64(0), phase) }})
	bar.hide()
	if err != nil {
		return err
	}
	if a.json {
		err = a.printValue(r)
	} else {
		err = r.WriteText(a.out)
	}
	if err != nil || !keep {
		return err
	}
	debug.SetMemoryLimit(limit) // an import holds a whole model
	quiet := *a                 // what becomes of the sessions is said on stderr
	quiet.out, quiet.json = a.errs, false
	for _, p := range places {
		if p.Status != report.Read || p.Files == 0 {
			continue
		}
		im := &importing{app: &quiet, bar: bar, opts: ingest.Options{Format: p.Format, Split: "train", DropIntents: a.life.DropIntents, Now: time.Now()}}
		if err := im.run(ctx, []string{p.Path}); err != nil {
			return err
		}
	}
	return nil
}

// knownTools are the first 500 definitions that the workspace has; none where there is no store or it cannot be read.
func (a *app) knownTools(ctx context.Context) []catalog.Tool {
	var answer struct{ Tools []catalog.Tool }
	if a.exists() == nil { // opening it would make it
		_ = a.with(ctx, func(c *client) error { return c.read(ctx, "/v1/tools?limit=500", &answer) })
	}
	return answer.Tools
}
