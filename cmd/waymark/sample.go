package main

import (
	"context"
	"iter"

	sample "waymark/cmd/waymark/sampledata"
	"waymark/ingest"
	"waymark/suggest"
)

// bundledSample records the same as an import of the folder, including the source, because equal logs give equal
// models.
var bundledSample = importInput{Path: "sample", Format: "dataset", folder: true,
	open: func(ctx context.Context, o ingest.Options) iter.Seq2[ingest.Item, error] {
		return ingest.ReadFS(ctx, sample.Files(), o)
	}}

// fillSample imports the sample into an empty workspace.
func (a *app) fillSample(ctx context.Context, c *client) error {
	var stats suggest.Stats
	if err := c.ask(ctx, "stats", nil, &stats); err != nil {
		return err
	}
	if n := stats.Tools + stats.ObservedTools + stats.Capabilities + stats.Episodes; n > 0 {
		return nil // it may be the sample of the start before
	}
	quiet := *a
	if quiet.json = false; a.json {
		quiet.out = a.errs // stdout holds one JSON value
	}
	im := &importing{app: &quiet, bar: a.progress("import", -1)}
	im.report.Inputs = []importInput{bundledSample}
	if err := im.send(ctx, c, im.report.Inputs); err != nil {
		return err
	}
	return im.print(nil)
}
