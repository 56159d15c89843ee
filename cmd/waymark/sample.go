package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"waymark/cmd/waymark/internal/client"
	"waymark/cmd/waymark/sampledata"
	"waymark/ingest"
	"waymark/suggest"
)

// The three questions with which the sample shows what the program does.
var (
	sampleSearch = suggest.SearchRequest{Query: "open a pull request", Limit: 3}
	sampleNext   = suggest.NextRequest{Context: []string{"forge:create_branch", "forge:commit_files"}, Limit: 3}
	sampleDAG    = suggest.DAGRequest{Intent: "find out what is wrong with the checkout service and open an issue for it"}
)

// bundledSample records what the import of the folder does, source and all: equal logs give equal models.
var bundledSample = importInput{Path: "sample", Format: "dataset", source: "import:dataset", folder: true,
	open: func(ctx context.Context, o ingest.Options) iter.Seq2[ingest.Item, error] {
		return ingest.ReadFS(ctx, sample.Files(), o)
	}}

// showSample fills an empty workspace with the sample and prints three worked suggestions.
func (a *app) showSample(ctx context.Context, c *client.Client) error {
	var stats suggest.Stats
	if err := read(ctx, c, "/v1/stats", &stats); err != nil {
		return err
	}
	quiet := *a
	quiet.json = false
	if a.json {
		quiet.out = a.errs // stdout holds one JSON value
	}
	if n := stats.Tools + stats.ObservedTools + stats.Capabilities + stats.Episodes; n > 0 {
		quiet.printf("The store is reused as it is: %d tools, %d capabilities, %d episodes.\n\n",
			stats.Tools+stats.ObservedTools, stats.Capabilities, stats.Episodes)
	} else {
		quiet.printf("The store is new; the bundled sample is imported.\n\n")
		im := &importing{app: &quiet, bar: &progress{style: "none"}}
		im.report.Inputs = []importInput{bundledSample}
		if err := im.send(ctx, c, im.report.Inputs); err != nil {
			return err
		}
		if err := im.print(); err != nil {
			return fmt.Errorf("import the sample: %w", err)
		}
		quiet.printf("\n")
	}
	ask := func(path string, question any, print func(json.RawMessage) error) error {
		body, err := c.Call(ctx, http.MethodPost, path, question)
		if err != nil {
			return err
		}
		return print(body)
	}
	for _, q := range []struct {
		command, path string
		question      any
		print         func(json.RawMessage) error
	}{
		{fmt.Sprintf("search %q --limit 3", sampleSearch.Query), "/v1/search", sampleSearch, printer(&quiet, func(a *app, s suggest.SearchAnswer) { a.showSearch(s, false) })},
		{fmt.Sprintf("next --after %s --limit 3", strings.Join(sampleNext.Context, ",")), "/v1/next", sampleNext, printer(&quiet, func(a *app, n suggest.NextAnswer) { a.showNext(n, false) })},
		{fmt.Sprintf("dag %q", sampleDAG.Intent), "/v1/dag", sampleDAG, printer(&quiet, func(a *app, d suggest.DAGAnswer) { a.showDAG(d, false) })},
	} {
		quiet.printf("$ waymark %s%s\n", q.command, a.elsewhere())
		if err := ask(q.path, q.question, q.print); err != nil {
			return err
		}
		quiet.printf("\n")
	}
	return nil
}
