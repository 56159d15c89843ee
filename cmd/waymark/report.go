package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"waymark/ingest"
	"waymark/ingest/report"
)

func (a *app) reportCommand() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Review the sessions that hosts left on this machine",
		Long: `Reads the sessions of Claude Code, Codex, Copilot CLI, Gemini CLI, Goose and Cline where these hosts keep
them, and prints one page: servers and tools by calls, failures by class, durations, and the
share of the newest calls that Waymark predicts from the earlier ones.
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
	r, err := report.Make(ctx, places, time.Now(), func(what string, calls int) { bar.at(int64(calls), what) })
	bar.hide()
	if err != nil {
		return err
	}
	if a.json {
		err = a.printValue(r)
	} else {
		a.reportPage(r)
	}
	if err != nil || !keep {
		return err
	}
	debug.SetMemoryLimit(limit) // an import holds a whole model
	quiet := *a                 // the result of the import goes to stderr
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

// reportPage prints a report for people.
func (a *app) reportPage(r *report.Report) {
	head, sections := r.Text()
	a.printf("%s\n", head)
	for _, s := range sections {
		a.printf("\n%s\n", s.Title)
		var rows [][]string
		for _, row := range s.Rows {
			cells := make([]string, len(row))
			for i, v := range row {
				if cells[i] = "-"; v != nil {
					cells[i] = fmt.Sprint(v)
				}
			}
			rows = append(rows, cells)
		}
		if rows != nil {
			a.table(s.Columns, rows)
		}
		for _, note := range s.Notes {
			a.printf("%s\n", clean(note))
		}
	}
}
