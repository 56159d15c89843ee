package main

import (
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

// evaluation holds the options of evaluate.
type evaluation struct {
	dataset     string
	distractors []string
	profile     string
}

func (a *app) evaluateCommand() *cobra.Command {
	var e evaluation
	var requests string
	cmd := &cobra.Command{
		Use:   "evaluate",
		Short: "Measure how good the suggestions are",
		Long: `Measures the next tool, the tools for an intent, and whole plans on held-out tasks, compared with profile seed and simple
baselines, with 95 % intervals. Without --dataset the newest fifth of the workspace's history is held out, and the report
is stored for the page. Exits 1 if the best baseline is significantly better.

With --expect it plans the requests of a file instead, and exits 1 if a plan lacks a tool or has an excluded one. Each
line is an object {"request": "mail the minutes", "tools": ["docs:read", ["mail:send", "chat:post"]], "not": ["pay:*"]}; a
list in tools holds alternatives, and with neither tools nor not the plan must be empty.`,
		Example: `  waymark evaluate
  waymark evaluate --dataset datasets/ultratool
  waymark evaluate --dataset datasets/livemcp --distractors datasets/mcp_catalog --json
  waymark evaluate --expect requests.jsonl`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !slices.Contains([]string{suggest.ProfileLearned, suggest.ProfileSeed}, e.profile):
				return usagef("unknown --profile %q: want learned or seed", e.profile)
			case e.dataset == "" && len(e.distractors) > 0:
				return usagef("--distractors needs --dataset")
			}
			if requests != "" {
				return a.expect(cmd.Context(), requests, e.profile)
			}
			return a.evaluate(cmd.Context(), e)
		},
	}
	f := cmd.Flags()
	f.StringVar(&e.dataset, "dataset", "", "`folder` of a data set (default: the workspace's own history)")
	f.StringArrayVar(&e.distractors, "distractors", nil, "`folder` whose tools are added to those of the data set; may be repeated")
	f.StringVar(&e.profile, "profile", suggest.ProfileLearned, "learned or seed")
	f.StringVar(&requests, "expect", "", "`file` of requests with the tools that a plan must or must not have; - for stdin")
	cmd.MarkFlagsMutuallyExclusive("expect", "dataset")
	a.progressFlag(cmd)
	return cmd
}

func (a *app) evaluate(ctx context.Context, e evaluation) error {
	d, err := a.examples(ctx, e)
	if err != nil {
		return err
	}
	bar := a.progress("evaluate", 1000)
	bar.at(0, "build the model")
	r, err := evaluate.Evaluate(ctx, d, evaluate.Suggester(e.profile, suggest.MeasureOptions{}), evaluate.Options{
		Profile: e.profile, FirstContact: e.dataset == "",
		Progress: func(done, total int) { bar.at(int64(done)*1000/int64(total), "questions") },
	})
	bar.hide()
	if err != nil {
		return err
	}
	if err := a.show(r, "dataset profile train_episodes test_episodes leave_one_out rows confidence lost",
		"question metric tasks value ci seed.value seed.lead.mean seed.lead.interval baseline.name baseline.value baseline.lead.mean baseline.lead.interval verdict name ece claims ece_band calibrated"); err != nil {
		return err
	}
	if e.dataset == "" { // it replaces the last report
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
func (a *app) examples(ctx context.Context, e evaluation) (*evaluate.Data, error) {
	if e.dataset == "" {
		return a.ownHistory(ctx)
	}
	opts, d, more := ingest.Options{Format: "dataset", Split: "all"}, &evaluate.Data{Name: filepath.Base(e.dataset)}, &evaluate.Data{}
	err := a.read(d, ingest.Read(ctx, e.dataset, opts), func(e episodic.Episode, split string) {
		d.Examples = append(d.Examples, evaluate.Example{Episode: e, Split: split})
	})
	for _, folder := range e.distractors {
		if err == nil {
			err = a.read(more, ingest.Read(ctx, folder, opts), func(episodic.Episode, string) {})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	have := map[string]bool{}
	d.Tools = slices.DeleteFunc(append(d.Tools, more.Tools...), func(t catalog.Tool) bool { was := have[t.ID]; have[t.ID] = true; return was })
	return d, nil
}

// read adds the catalog in items to d, passes each episode to add, and reports the dropped lines on stderr.
func (a *app) read(d *evaluate.Data, items iter.Seq2[ingest.Item, error], add func(e episodic.Episode, split string)) error {
	var read ingest.Report
	for it, err := range items {
		if err != nil {
			return err
		}
		read.Add(it)
		switch {
		case it.Tool != nil:
			d.Tools = append(d.Tools, *it.Tool)
		case it.Capability != nil:
			d.Capabilities = append(d.Capabilities, *it.Capability)
		case it.Episode != nil:
			add(*it.Episode, it.Split)
		}
	}
	if len(read.Reasons) > 0 {
		why := read.Reasons[0]
		fmt.Fprintf(a.errs, "waymark: left out %s; the first: %s line %d: %s\n", clean(read.Dropped.String()), clean(why.File), why.Line, clean(why.Reason))
	}
	return nil
}

// heldOut is the share of the workspace's history that is held out.
const heldOut = 0.2

// ownHistory returns the workspace's catalog, and its episodes in order of recording.
func (a *app) ownHistory(ctx context.Context) (*evaluate.Data, error) {
	d, episodes := &evaluate.Data{Name: a.workspace}, []episodic.Episode(nil)
	err := a.with(ctx, func(c *client) error {
		resp, err := c.open(ctx, "export", nil)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		items := ingest.ReadFrom(ctx, resp.Body, ingest.Options{Format: "waymark", Split: "all"})
		return a.read(d, items, func(e episodic.Episode, _ string) { episodes = append(episodes, e) })
	})
	if err == nil {
		d.Examples, err = evaluate.HoldOut(episodes, heldOut)
	}
	if err != nil {
		err = fmt.Errorf("evaluate the history of workspace %s: %w", a.workspace, err)
	}
	return d, err
}
