package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"waymark/episodic"
	"waymark/evaluate"
	"waymark/whisper"
)

func (a *app) whisperCommand() *cobra.Command {
	set := func(use, short string, on bool) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Args: noArgs, RunE: func(*cobra.Command, []string) error {
			if err := whisper.FolderOf(a.data, a.workspace).Switch(on); err != nil {
				return err
			}
			if a.json {
				return a.printValue(map[string]bool{"on": on})
			}
			a.printf("hooks of workspace %s %s\n", clean(a.workspace), map[bool]string{true: "may speak", false: "stay silent"}[on])
			return nil
		}}
	}
	why := &cobra.Command{
		Use: "why", Short: "List what hooks told the model, why, and what became of it", Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.showSpoken() },
	}
	cmd := group("whisper", "Switch what hooks tell the model, and list what they told", set("on", "Let hooks tell the model a line again", true), set("off", "Let hooks only record", false), why)
	cmd.Long = `Hooks written by waymark init --whisper tell the model at most one line at a time, where the history gives reason to:
a call that fails here, a call that worked after a failure, or a tool that is seldom used and follows here. off silences them
at once, also those of sessions that run.`
	cmd.Example = `  waymark init --host claude-code --whisper
  waymark whisper why
  waymark whisper off`
	return cmd
}

func (a *app) showSpoken() error {
	folder := whisper.FolderOf(a.data, a.workspace)
	all, err := folder.Why()
	if err != nil {
		return err
	}
	if a.json {
		return a.printValue(map[string]any{"on": !folder.Off(), "lines": all})
	}
	if folder.Off() {
		a.printf("switched off\n")
	}
	if len(all) == 0 {
		a.printf("nothing was said\n")
	}
	for _, x := range all {
		a.printf("%s  %s\n", x.Time.Local().Format(time.DateTime), clean(x.Line))
		a.printf("  why: %s, %d of %d sessions, at least %.2f with 95 %% confidence\n", x.Rule.Kind, x.Rule.K, x.Rule.N, x.Rule.Bound)
		a.printf("  then: %s\n", clean(x.Became))
	}
	return nil
}

// evaluateWhisper measures what hooks would have said.
func (a *app) evaluateWhisper(ctx context.Context, e evaluation) error {
	d, err := a.examples(ctx, e)
	if err != nil {
		return err
	}
	var train, test []episodic.Episode
	for _, x := range d.Examples {
		if x.Split == evaluate.Train {
			train = append(train, x.Episode)
		} else {
			test = append(test, x.Episode)
		}
	}
	r := whisper.Measure(train, test, 1)
	if a.json {
		return a.printValue(r)
	}
	count := func(k int, n int, share float64, ok bool) string {
		if !ok {
			return fmt.Sprintf("-  (%d of %d)", k, n)
		}
		return fmt.Sprintf("%.4f  (%d of %d)", share, k, n)
	}
	precision, judged := r.Precision()
	recall, hard := r.Recall()
	spoken, turns := r.Spoken()
	shuffled, mixed := r.ShuffledSpoken()
	rows := [][]string{
		{"rules", strconv.Itoa(r.Rules)},
		{"precision where the chain is wrong or its call failed", count(r.JudgedRight, r.Judged, precision, judged)},
		{"recall there", count(r.JudgedRight, r.Hard, recall, hard)},
		{"turns with a line", count(r.Lines, r.Turns, spoken, turns)},
		{"lines: pitfall, repair, seldom", fmt.Sprintf("%d, %d, %d", r.Kinds[whisper.Pitfall], r.Kinds[whisper.Repair], r.Kinds[whisper.Seldom])},
		{"about calls of unknown outcome, not judged", strconv.Itoa(r.Unknown)},
		{"right of them", fmt.Sprintf("%d, %d, %d", r.KindsRight[whisper.Pitfall], r.KindsRight[whisper.Repair], r.KindsRight[whisper.Seldom])},
		{"tokens a session: mean, most", fmt.Sprintf("%.2f, %d", float64(r.Tokens)/float64(max(1, r.Sessions)), r.MostTokens)},
		{"turns with a line, shuffled history", count(r.Shuffled, r.ShuffledTurns, shuffled, mixed)},
	}
	columns(a.out, []string{"what hooks say: " + d.Name, "value"}, rows)
	return nil
}
