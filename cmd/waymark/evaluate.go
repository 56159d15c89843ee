package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/ingest"
	"waymark/suggest"
	"waymark/suggest/evaluate"
)

func (a *app) evaluateCommand() *cobra.Command {
	var dataset, profile string
	var distractors []string
	cmd := &cobra.Command{
		Use:   "evaluate",
		Short: "Measure how good the suggestions are",
		Long: `Measures the next tool, the tools for an intent, and whole plans on held-out tasks, compared with profile seed and simple
baselines, with 95 % intervals. Without --dataset the newest fifth of the workspace's history is held out, and the report
is stored for the page. Exits 1 if the best baseline is significantly better.`,
		Example: `  waymark evaluate
  waymark evaluate --dataset datasets/livemcp --distractors datasets/mcp_catalog --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !slices.Contains([]string{suggest.ProfileLearned, suggest.ProfileSeed}, profile):
				return usagef("unknown --profile %q: want learned or seed", profile)
			case dataset == "" && len(distractors) > 0:
				return usagef("--distractors needs --dataset")
			}
			return a.evaluate(cmd.Context(), dataset, profile, distractors)
		},
	}
	f := cmd.Flags()
	f.StringVar(&dataset, "dataset", "", "`folder` of a data set (default: the workspace's own history)")
	f.StringArrayVar(&distractors, "distractors", nil, "`folder` whose tools are added to those of the data set; may be repeated")
	f.StringVar(&profile, "profile", suggest.ProfileLearned, "learned or seed")
	a.progressFlag(cmd)
	return cmd
}

func (a *app) evaluate(ctx context.Context, dataset, profile string, distractors []string) error {
	d, err := a.examples(ctx, dataset, distractors)
	if err != nil {
		return err
	}
	bar := a.progress("evaluate", 1000)
	r, err := evaluate.Evaluate(ctx, d, evaluate.Suggester(profile, suggest.MeasureOptions{}), evaluate.Options{
		Profile: profile, FirstContact: dataset == "",
		Progress: func(done, total int) { bar.at(int64(done)*1000/int64(total), "questions") },
	})
	bar.hide()
	if err != nil {
		return err
	}
	if err := a.show(r, "dataset profile train_episodes test_episodes leave_one_out rows confidence lost "+
		"question metric tasks value ci seed.value seed.lead.mean seed.lead.interval baseline.name baseline.value baseline.lead.mean baseline.lead.interval verdict name ece claims ece_band calibrated"); err != nil {
		return err
	}
	if dataset == "" { // it replaces the last report
		path := evaluate.KeptFile(a.data, a.workspace)
		kept := evaluate.Kept{At: time.Now().UTC(), Report: *r}
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = replaceFile(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(kept) })
		}
		if err != nil {
			return fmt.Errorf("keep the report: %w", err)
		}
	}
	if len(r.Lost) > 0 {
		return errNegative
	}
	return nil
}

// examples reads the examples: a data set, or the workspace's history, of which the latest share is held out.
func (a *app) examples(ctx context.Context, dataset string, distractors []string) (*evaluate.Data, error) {
	d := &evaluate.Data{Name: filepath.Base(dataset)}
	if dataset == "" {
		d.Name = a.workspace
		return d, a.ownHistory(ctx, d)
	}
	opts := ingest.Options{Format: "dataset", Split: "all"}
	err := a.read(d, ingest.Read(ctx, dataset, opts))
	for _, folder := range distractors {
		more := &evaluate.Data{}
		err = cmp.Or(err, a.read(more, ingest.Read(ctx, folder, opts)))
		d.Tools = append(d.Tools, more.Tools...)
	}
	have := map[string]bool{}
	d.Tools = slices.DeleteFunc(d.Tools, func(t catalog.Tool) bool { was := have[t.ID]; have[t.ID] = true; return was })
	return d, err
}

// ownHistory adds the workspace's catalog, and its episodes in order of recording.
func (a *app) ownHistory(ctx context.Context, d *evaluate.Data) error {
	err := a.with(ctx, func(c *client) error {
		resp, err := c.open(ctx, "export", nil)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return a.read(d, ingest.ReadFrom(ctx, resp.Body, ingest.Options{Format: "waymark", Split: "all"}))
	})
	var episodes []episodic.Episode
	for _, e := range d.Examples {
		episodes = append(episodes, e.Episode)
	}
	if err == nil {
		d.Examples, err = evaluate.HoldOut(episodes, 0.2) // the newest fifth
	}
	if err != nil {
		err = fmt.Errorf("evaluate the history of workspace %s: %w", a.workspace, err)
	}
	return err
}

// read adds items to d, and reports the dropped lines on stderr.
func (a *app) read(d *evaluate.Data, items iter.Seq2[ingest.Item, error]) error {
	var read ingest.Report
	for it, err := range items {
		if err != nil {
			return fmt.Errorf("evaluate: %w", err)
		}
		read.Add(it)
		switch {
		case it.Tool != nil:
			d.Tools = append(d.Tools, *it.Tool)
		case it.Capability != nil:
			d.Capabilities = append(d.Capabilities, *it.Capability)
		case it.Episode != nil:
			d.Examples = append(d.Examples, evaluate.Example{Episode: *it.Episode, Split: it.Split})
		}
	}
	if len(read.Reasons) > 0 {
		why := read.Reasons[0]
		fmt.Fprintf(a.errs, "waymark: left out %s; the first: %s line %d: %s\n", clean(read.Dropped.String()), clean(why.File), why.Line, clean(why.Reason))
	}
	return nil
}
