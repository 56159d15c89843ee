package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"waymark/catalog"
	"waymark/episodic"
)

// A data set is a folder of line files. It keeps its own ids. Its tools and capabilities have the fields of the HTTP
// interface; episodes may have more, which are ignored.
//
//	tools.jsonl         {"id","name","description","server","domain","input_schema"}
//	capabilities.jsonl  {"id","name","description","intent","tools":[…],"tasks":[…]}
//	episodes.jsonl      {"id","intent","steps":[{"id","tool","depends_on"}],"outcome","time","split"}
//	tool_graph.jsonl    {"source","target","type"}: the target requires the source
//
// A link without a type says what may follow what, which some derived from test plans; it is not read.
// A single file or stream may mix them: what has steps is an episode, what has tools or tasks a
// capability, all else a tool.
var datasetFiles = []struct {
	name string
	kind Kind
}{{"tools.jsonl", KindTool}, {"capabilities.jsonl", KindCapability}, {"episodes.jsonl", KindEpisode}}

func decodeDataset(in *input, emit func(Item) bool) error {
	if !in.isDir {
		return datasetLines(in, "", "", emit)
	}
	found, more := 0, true
	requires, bad, err := in.requires()
	if err != nil {
		return err
	}
	for _, it := range bad {
		if !emit(it) {
			return nil
		}
	}
	for _, f := range datasetFiles {
		if _, err := fs.Stat(in.fsys, f.name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		found++
		err := datasetLines(in, f.name, f.kind, func(it Item) bool {
			it.File = f.name
			if it.Tool != nil {
				it.Tool.Requires = append(it.Tool.Requires, requires[it.Tool.ID]...)
			}
			more = emit(it)
			return more
		})
		if err != nil || !more {
			return err
		}
	}
	if found == 0 {
		return errors.New("folder has neither tools.jsonl nor capabilities.jsonl nor episodes.jsonl")
	}
	return nil
}

// requires reads the links of tool_graph.jsonl by target, and the lines of it that cannot be read.
func (in *input) requires() (by map[string][]string, bad []Item, err error) {
	const name = "tool_graph.jsonl"
	by = map[string][]string{}
	f, err := in.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return by, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	err = eachLine(f, func(l line) bool {
		var link struct {
			Source string `json:"source"`
			Target string `json:"target"`
			Type   string `json:"type"`
		}
		if err := l.decode(&link); err != nil {
			it := Item{File: name, Line: l.number, Kind: KindTool}
			it.drop(err.Error())
			bad = append(bad, it)
		} else if link.Type != "" {
			by[link.Target] = append(by[link.Target], link.Source)
		}
		return true
	})
	return by, bad, err
}

func datasetLines(in *input, name string, kind Kind, emit func(Item) bool) error {
	f, err := in.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return eachLine(f, func(l line) bool { return emit(datasetItem(l, kind)) })
}

// datasetEpisode is an episode whose time may be a date only.
type datasetEpisode struct {
	episodic.Episode
	Time  *string `json:"time"`
	Split string  `json:"split"`
}

func datasetItem(l line, kind Kind) (it Item) {
	it.Line, it.Kind = l.number, kind
	var err error
	if kind == "" {
		var has struct {
			Steps json.RawMessage `json:"steps"`
			Tools json.RawMessage `json:"tools"`
			Tasks json.RawMessage `json:"tasks"`
		}
		if err = l.decode(&has); err == nil {
			switch {
			case has.Steps != nil:
				kind = KindEpisode
			case has.Tools != nil || has.Tasks != nil:
				kind = KindCapability
			default:
				kind = KindTool
			}
			it.Kind = kind
		}
	}
	if err == nil {
		switch kind {
		case KindTool:
			it.Tool = new(catalog.Tool)
			err = l.decodeOwn(it.Tool)
			it.ID = it.Tool.ID
		case KindCapability:
			it.Capability = new(catalog.Capability)
			err = l.decodeOwn(it.Capability)
			it.ID = it.Capability.ID
		default:
			it.Episode, it.Split, err = readEpisode(l)
			it.ID = it.Episode.ID
		}
	}
	if err != nil {
		it.drop(err.Error())
	}
	return it
}

func readEpisode(l line) (e *episodic.Episode, split string, err error) {
	var d datasetEpisode
	err = l.decode(&d)
	if err == nil && d.Time != nil {
		d.Episode.Time, err = readTime(*d.Time)
	}
	return &d.Episode, d.Split, err
}

// readTime reads RFC 3339, or a date, or a date and time without a zone (taken as UTC). Empty is
// unknown.
func readTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly, "2006-01-02T15:04:05.999999999", time.DateTime} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("time %.40q is neither RFC 3339 nor a date", s)
}
