package ingest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
)

// Oracle: stats.json of each data set, counted by the program that made the set.
func TestPublicDataSets(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	root := filepath.Join("..", "..", "shared", "datasets")
	folders, err := filepath.Glob(filepath.Join(root, "*", "tools.jsonl"))
	require.NoError(t, err)
	if len(folders) == 0 {
		t.Skipf("no data sets in %s", root)
	}
	for _, f := range folders {
		folder := filepath.Dir(f)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			var stats struct {
				Tools            int `json:"tools"`
				All, Train, Test part
			}
			text, err := os.ReadFile(filepath.Join(folder, "stats.json"))
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &stats))
			parts := map[string]*part{"all": {}, "train": {}, "test": {}}
			var report Report
			for it, err := range Read(t.Context(), folder, Options{Split: "all"}) {
				require.NoError(t, err)
				report.Add(it)
				if it.Episode != nil {
					for _, split := range []string{"all", it.Split} {
						parts[split].add(it.Episode)
					}
				}
			}
			require.Zero(t, report.Dropped.Total(), "%s", report)
			assert.Equal(t, stats.Tools, report.Taken.Tools)
			for split, want := range map[string]part{"all": stats.All, "train": stats.Train, "test": stats.Test} {
				if len(want.Outcomes) == 0 {
					want.Outcomes = nil
				}
				assert.Equal(t, want, *parts[split], split)
			}
		})
	}
}

type part struct {
	Episodes   int            `json:"episodes"`
	WithIntent int            `json:"with_intent"`
	Steps      int            `json:"steps"`
	Edges      int            `json:"edges"`
	MaxSteps   int            `json:"max_steps"`
	Outcomes   map[string]int `json:"outcomes"`
}

func (p *part) add(e *episodic.Episode) {
	p.Episodes++
	if e.Intent != "" {
		p.WithIntent++
	}
	p.Steps += len(e.Steps)
	p.MaxSteps = max(p.MaxSteps, len(e.Steps))
	for _, s := range e.Steps {
		p.Edges += len(s.DependsOn)
	}
	if p.Outcomes == nil {
		p.Outcomes = map[string]int{}
	}
	p.Outcomes[string(e.Outcome)]++
}
