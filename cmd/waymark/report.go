package main

import (
	"context"
	"io"
	"log/slog"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"waymark/catalog"
	"waymark/cmd/waymark/internal/client"
	"waymark/ingest"
	"waymark/ingest/report"
)

func (a *app) reportCommand() *cobra.Command {
	var style string
	var keep bool
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Review the sessions that hosts left on this machine",
		Long: `Reads the sessions of Claude Code, Codex, Copilot CLI, Gemini CLI, Goose, OpenCode and Cline where these hosts keep
them, and prints one page: servers and tools by calls, failures by class, durations, loops, configured servers that
nobody uses, what tool definitions cost, and how many of the newest calls Waymark would have named from those before. Nothing is stored unless --keep is given, and nothing leaves the machine; requests and
values are not shown.`,
		Example: `  waymark report
  waymark report --keep`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bar, err := a.progress(style, "report", -1)
			if err != nil {
				return err
			}
			return a.report(cmd.Context(), keep, bar)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "also import the sessions into the workspace")
	progressFlag(cmd, &style)
	return cmd
}

func (a *app) report(ctx context.Context, keep bool, bar *progress) error {
	machine, err := thisMachine()
	if err != nil {
		return err
	}
	unbound := boundHeap(report.Memory)
	defer unbound()
	places := report.Look(machine.Places())
	sessions, err := report.Collect(ctx, places, time.Now(), func(host string, calls int) { bar.at(int64(calls), host) })
	if err != nil {
		return err
	}
	r, err := sessions.Report(ctx, a.knownTools(ctx), func(phase string) { bar.at(int64(0), phase) })
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
	unbound() // an import holds a whole model
	return a.keepSessions(ctx, places, bar)
}

// keepSessions imports the places that were read; what became of it is said on stderr.
func (a *app) keepSessions(ctx context.Context, places []report.Place, bar *progress) error {
	quiet := *a
	quiet.out, quiet.json = a.errs, false
	for _, p := range places {
		if p.Status != report.Read || p.Files == 0 {
			continue
		}
		im := &importing{app: &quiet, bar: bar, opts: ingest.Options{Format: p.Format, Split: "train", DropIntents: a.privacy.dropIntents, Now: time.Now()}}
		if err := im.run(ctx, []string{p.Path}); err != nil {
			return err
		}
	}
	return nil
}

// knownTools are the definitions that the workspace has, none where there is no store or it cannot be had at once.
func (a *app) knownTools(ctx context.Context) (tools []catalog.Tool) {
	a.consult(ctx, func(c *client.Client) error {
		for cursor := ""; ; {
			var answer struct {
				Tools []catalog.Tool `json:"tools"`
				Next  string         `json:"next_cursor"`
			}
			if err := read(ctx, c, "/v1/tools?limit=500&cursor="+url.QueryEscape(cursor), &answer); err != nil {
				return err
			}
			tools = append(tools, answer.Tools...)
			if cursor = answer.Next; cursor == "" {
				return nil
			}
		}
	})
	return tools
}

// consult runs f with a client of the data directory if there is one and it can be had at once. Failures are ignored.
func (a *app) consult(ctx context.Context, f func(*client.Client) error) {
	if _, err := os.Stat(a.data); err != nil {
		return // opening it would make it
	}
	if c, _ := a.remote(ctx); c != nil {
		_ = f(c)
		return
	}
	h, err := a.open(slog.New(slog.NewTextHandler(io.Discard, nil)), access{timeout: consultTimeout})
	if err != nil {
		return
	}
	_ = f(h.client(a.workspace))
	_ = h.close()
}

// consultTimeout is how long consult waits.
const consultTimeout = 2 * time.Second
