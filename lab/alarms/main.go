// Command alarms measures how often the checks of a catalog find something in real tools, and shows samples.
//
//	go run ./lab/alarms -sample 5 DATASET...
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"maps"
	"path/filepath"
	"slices"

	"waymark/catalog"
	"waymark/catalog/inspect"
	"waymark/ingest"
)

func main() {
	sample := flag.Int("sample", 0, "findings of each check to print")
	flag.Parse()
	fmt.Println("| set | tools | check | found | share |\n|---|--:|---|--:|--:|")
	for _, dir := range flag.Args() {
		if err := measure(dir, *sample); err != nil {
			log.Fatal(err)
		}
	}
}

func measure(dir string, sample int) error {
	var tools []catalog.Tool
	for it, err := range ingest.Read(context.Background(), dir, ingest.Options{Split: "all"}) {
		if err != nil {
			return err
		}
		if it.Tool != nil {
			tools = append(tools, *it.Tool)
		}
	}
	known := inspect.NewCatalog()
	for _, t := range tools {
		known.Add(t.ID, t.Server, t.Name)
	}
	found := map[string][]string{}
	flagged := map[int]bool{}
	note := func(i int, check, detail string) {
		flagged[i] = true
		found[check] = append(found[check], tools[i].ID+": "+detail+" | "+catalog.Cut(tools[i].Description, 300))
	}
	for i := range tools {
		for _, f := range known.Entry(inspect.OfTool(&tools[i])) {
			note(i, f.Check, f.Detail)
		}
	}
	for i := range inspect.Copies(len(tools), func(i int) (string, string) { return tools[i].Server, inspect.Shape(tools[i].Description) }) {
		note(i, "flood", "a copy")
	}
	row := func(check string, n int) {
		fmt.Printf("| %s | %d | %s | %d | %.2f %% |\n", filepath.Base(dir), len(tools), check, n, 100*float64(n)/float64(len(tools)))
	}
	row("any", len(flagged))
	for _, check := range slices.Sorted(maps.Keys(found)) {
		row(check, len(found[check]))
		step := max(1, len(found[check])/max(sample, 1))
		for i := 0; i < len(found[check]) && i/step < sample; i += step {
			fmt.Println("  ", found[check][i])
		}
	}
	return nil
}
