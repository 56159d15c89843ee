// Package labelled reads the data sets of research: the format dataset with what a set says of the use of each episode,
// and the dependencies its authors drew. It is for the lab and for tests.
package labelled

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"waymark/catalog"
	sample "waymark/cmd/waymark/sampledata"
	"waymark/episodic"
	"waymark/ingest"
)

// Set is a data set as an evaluation needs it, with all splits.
type Set struct {
	Name         string
	Tools        []catalog.Tool
	Capabilities []catalog.Capability
	Episodes     []Episode
	Links        []Link // of tool_graph.jsonl, where it says what kind they are
	TaskGraph    bool   // its links have no type: a planning benchmark in the form of TaskBench
	Report       ingest.Report
}

// Episode is an episode with the part it plays in an evaluation.
type Episode struct {
	Episode episodic.Episode
	Split   string // train or test; "" where the set has no split
	Task    string // attempts at one task share it; "" means that the episode is the only one
	Next    bool   // belongs to the part on which the next tool is predicted
	Intent  bool   // belongs to the part on which tools are found and planned for an intent
}

// Link says that Target needs Source, and what the authors call that. Links without a type say what may follow what,
// partly derived from test plans, and are not read.
type Link struct {
	Source string `json:"source"`
	Target string `json:"target"`
	Type   string `json:"type"`
}

// labels are the fields of a line of episodes.jsonl that its episode does not have. A file baselines.json may name which
// episodes a part takes, by the values of any field:
//
//	{"next": {"kind": "run"}, "intent": {"kind": "gold"}}
type labels struct {
	task         string
	next, intent bool
}

// Read reads the data set in a folder.
func Read(ctx context.Context, folder string) (*Set, error) {
	set := &Set{Name: filepath.Base(folder)}
	byLine, err := readLabels(folder)
	if err == nil {
		err = set.read(ctx, folder, byLine)
	}
	if err == nil {
		err = eachLine(folder, "tool_graph.jsonl", func(_ int, text []byte) error {
			var link Link
			err := json.Unmarshal(text, &link)
			if set.TaskGraph = set.TaskGraph || link.Type == ""; link.Type != "" {
				set.Links = append(set.Links, link)
			}
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read data set %s: %w", set.Name, err)
	}
	return set, nil
}

func (set *Set) read(ctx context.Context, folder string, byLine map[int]labels) error {
	for it, err := range ingest.Read(ctx, folder, ingest.Options{Format: "dataset", Split: "all"}) {
		if err != nil {
			return err
		}
		set.Report.Add(it)
		switch {
		case it.Tool != nil:
			set.Tools = append(set.Tools, *it.Tool)
		case it.Capability != nil:
			set.Capabilities = append(set.Capabilities, *it.Capability)
		case it.Episode != nil:
			l := byLine[it.Line]
			set.Episodes = append(set.Episodes, Episode{*it.Episode, it.Split, l.task, l.next, l.intent})
		}
	}
	return nil
}

func readLabels(folder string) (map[int]labels, error) {
	var parts struct{ Next, Intent map[string]string }
	text, err := os.ReadFile(filepath.Join(folder, "baselines.json"))
	if err == nil {
		err = json.Unmarshal(text, &parts)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("baselines.json: %w", err)
	}
	names := map[string]bool{"task": true}
	for _, part := range []map[string]string{parts.Next, parts.Intent} {
		for name := range part {
			names[name] = true
		}
	}
	byLine := map[int]labels{}
	err = eachLine(folder, "episodes.jsonl", func(number int, text []byte) error {
		var all map[string]json.RawMessage
		if json.Unmarshal(text, &all) != nil {
			return nil // the reader of episodes says what is wrong with it
		}
		has := map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			var value string
			if json.Unmarshal(all[name], &value) == nil {
				has[name] = value
			}
		}
		fits := func(part map[string]string) bool {
			for name, value := range part {
				if has[name] != value {
					return false
				}
			}
			return true
		}
		byLine[number] = labels{has["task"], fits(parts.Next), fits(parts.Intent)}
		return nil
	})
	return byLine, err
}

// eachLine visits the lines of a file that are not empty, if there is such a file.
func eachLine(folder, name string, visit func(number int, text []byte) error) error {
	f, err := os.Open(filepath.Join(folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for number := 1; lines.Scan(); number++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		if err := visit(number, lines.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
	return lines.Err()
}

// Sample returns the bundled sample: its catalog, its stored capabilities, and its history in order of time.
func Sample() (tools []catalog.Tool, capabilities []catalog.Capability, episodes []episodic.Episode, err error) {
	if tools, err = sample.Lines[catalog.Tool]("tools.jsonl"); err == nil {
		capabilities, err = sample.Lines[catalog.Capability]("capabilities.jsonl")
	}
	if err == nil {
		episodes, err = sample.Lines[episodic.Episode]("episodes.jsonl")
	}
	return tools, capabilities, episodes, err
}
