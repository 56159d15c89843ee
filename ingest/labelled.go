package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"waymark/catalog"
	"waymark/episodic"
)

// LabelledSet is a data set as an evaluation needs it: all splits, each episode with what the set says
// of its use, and the dependencies its authors drew.
type LabelledSet struct {
	Name         string
	Tools        []catalog.Tool
	Capabilities []catalog.Capability
	Episodes     []Labelled
	Links        []Link // of tool_graph.jsonl, where it says what kind they are
	TaskGraph    bool   // its links have no type: a planning benchmark in the form of TaskBench
	Report       Report
}

// Labelled is an episode with the part it plays in an evaluation.
type Labelled struct {
	Episode episodic.Episode
	Split   string // train or test; "" where the set has no split
	Task    string // attempts at one task share it; "" means that the episode is the only one
	Next    bool   // belongs to the part on which the next tool is predicted
	Intent  bool   // belongs to the part on which tools are found and planned for an intent
}

// Link says that Target needs Source, and what the authors call that. The links of TaskBench and its
// kin have no type: they say what may follow what, partly derived from test plans, and are not read.
type Link struct {
	Source string `json:"source"`
	Target string `json:"target"`
	Type   string `json:"type"`
}

// labels are the fields of a line of episodes.jsonl that its episode does not have. A file
// baselines.json may name which episodes a part takes, by the values of any field:
//
//	{"next": {"kind": "run"}, "intent": {"kind": "gold"}}
type labels struct {
	task         string
	next, intent bool
}

// ReadLabelled reads the data set in the folder at path, all of it: format dataset.
func ReadLabelled(ctx context.Context, path string) (*LabelledSet, error) {
	in, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("read data set: %w", err)
	}
	if !in.isDir {
		return nil, fmt.Errorf("read data set %s: not a folder", in.label())
	}
	set := &LabelledSet{Name: in.folder}
	if err := set.read(ctx, in, path); err != nil {
		return nil, fmt.Errorf("read data set %s: %w", set.Name, err)
	}
	return set, nil
}

func (set *LabelledSet) read(ctx context.Context, in *input, path string) error {
	format, err := in.detect()
	if err == nil && format != "dataset" {
		err = fmt.Errorf("is %s, want dataset", format)
	}
	if err != nil {
		return err
	}
	byLine, err := readLabels(in)
	if err != nil {
		return err
	}
	for it, err := range Read(ctx, path, Options{Format: format, Split: "all"}) {
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
			set.Episodes = append(set.Episodes, Labelled{*it.Episode, it.split, l.task, l.next, l.intent})
		}
	}
	return in.optional("tool_graph.jsonl", func(l line) error {
		var link Link
		if err := l.decode(&link); err != nil {
			return err
		}
		if link.Type == "" {
			set.TaskGraph = true
		} else {
			set.Links = append(set.Links, link)
		}
		return nil
	})
}

func readLabels(in *input) (map[int]labels, error) {
	var parts struct {
		Next   map[string]string `json:"next"`
		Intent map[string]string `json:"intent"`
	}
	text, err := fs.ReadFile(in.fsys, "baselines.json")
	if err == nil {
		err = json.Unmarshal(text, &parts)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("baselines.json: %w", err)
	}
	fields := map[string]bool{"task": true}
	for _, part := range []map[string]string{parts.Next, parts.Intent} {
		for name := range part {
			fields[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(fields))
	byLine := map[int]labels{}
	err = in.optional("episodes.jsonl", func(l line) error {
		var all map[string]json.RawMessage
		if l.decode(&all) != nil {
			return nil // the reader of episodes says what is wrong with it
		}
		has := map[string]string{}
		for _, name := range names {
			var text string
			if json.Unmarshal(all[name], &text) == nil {
				has[name] = text
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
		byLine[l.number] = labels{has["task"], fits(parts.Next), fits(parts.Intent)}
		return nil
	})
	return byLine, err
}

// optional visits the lines of a file of the folder, if it is there.
func (in *input) optional(name string, visit func(line) error) error {
	f, err := in.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var bad error
	err = eachLine(f, func(l line) bool {
		if bad = visit(l); bad != nil {
			bad = fmt.Errorf("%s:%d: %w", name, l.number, bad)
		}
		return bad == nil
	})
	if bad != nil {
		return bad
	}
	return err
}
