package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"waymark/catalog"
	"waymark/episodic"
)

// datasetFiles are the files of a data set, a folder of line files. A data set keeps its own ids. Its tools and
// capabilities have the fields of the HTTP interface; episodes may have further fields, which are ignored.
//
//	tools.jsonl         {"id","name","description","server","domain","input_schema"}
//	capabilities.jsonl  {"id","name","description","intent","tools":[…],"tasks":[…]}
//	episodes.jsonl      {"id","intent","steps":[{"id","tool","depends_on"}],"outcome","time","split"}
//	tool_graph.jsonl    {"source","target","type"}: the target requires the source
//
// A link without a type only means that one tool may follow another, which some data sets derive from test plans; it is
// ignored. A single file or stream may mix the other kinds: a line with steps is an episode, a line with tools or tasks
// is a capability, any other line is a tool.
var datasetFiles = []struct {
	name string
	kind Kind
}{{"tools.jsonl", KindTool}, {"capabilities.jsonl", KindCapability}, {"episodes.jsonl", KindEpisode}}

func decodeDataset(in *input, emit func(Item) bool) error {
	if !in.isDir {
		return in.eachLineOf("", emit, func(l line) Item { return datasetItem(l, "") })
	}
	requires, found := map[string][]string{}, false
	each := func(name string, read func(line) Item) error {
		err := in.eachLineOf(name, func(it Item) bool { return it.Kind == "" || emit(it) }, read)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		found = found || name != toolGraph
		return err
	}
	err := each(toolGraph, func(l line) Item { return readLink(l, requires) })
	for _, f := range datasetFiles {
		err = cmp.Or(err, each(f.name, func(l line) Item {
			it := datasetItem(l, f.kind)
			if it.Tool != nil {
				it.Tool.Requires = append(it.Tool.Requires, requires[it.Tool.ID]...)
			}
			return it
		}))
	}
	if err != nil {
		return err
	}
	if !found {
		return errors.New("folder has neither tools.jsonl nor capabilities.jsonl nor episodes.jsonl")
	}
	return nil
}

const toolGraph = "tool_graph.jsonl"

// readLink adds a link to the tools that its target requires. It returns an item only for an invalid link.
func readLink(l line, requires map[string][]string) (it Item) {
	var link struct {
		Source string `json:"source"`
		Target string `json:"target"`
		Type   string `json:"type"`
	}
	err := l.decode(&link)
	if err == nil && link.Type != "" {
		if _, err = catalog.Identifier("source", link.Source, catalog.MaxID); link.Source == "" {
			err = errors.New("a link without a source")
		}
	}
	switch {
	case err != nil:
		it = Item{Line: l.number, Kind: KindTool, Dropped: err.Error()}
	case link.Type != "":
		requires[link.Target] = append(requires[link.Target], link.Source)
	}
	return it
}

// eachLineOf emits the item of each line of a file; "" is the input itself.
func (in *input) eachLineOf(name string, emit func(Item) bool, read func(line) Item) error {
	f, err := in.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return eachLine(f, maxLine, func(l line) bool {
		it := read(l)
		it.File = name
		return emit(it)
	})
}

func datasetItem(l line, kind Kind) (it Item) {
	var err error
	if kind == "" {
		var d *document
		switch d, err = newDocument(l); {
		case err != nil:
		case d.at("steps") != nil:
			kind = KindEpisode
		case d.at("tools") != nil || d.at("tasks") != nil:
			kind = KindCapability
		default:
			kind = KindTool
		}
	}
	if it.Line, it.Kind = l.number, kind; err == nil {
		if kind == KindEpisode {
			it.Episode, it.Split, err = readEpisode(l)
			it.ID = it.Episode.ID
		} else {
			err = it.decode(l)
		}
	}
	if err != nil {
		it.drop(err.Error())
	}
	return it
}

// decode reads a line in the form of an HTTP body of its kind.
func (it *Item) decode(l line) (err error) {
	switch it.Kind {
	case KindTool:
		it.Tool = new(catalog.Tool)
		err = l.decodeOwn(it.Tool)
		it.ID = it.Tool.ID
	case KindCapability:
		it.Capability = new(catalog.Capability)
		err = l.decodeOwn(it.Capability)
		it.ID = it.Capability.ID
	case KindEpisode:
		it.Episode = new(episodic.Episode)
		err = l.decodeOwn(it.Episode)
		it.ID = it.Episode.ID
	case "":
		err = errors.New("no kind")
	default:
		err = fmt.Errorf("unknown kind %.40q: want tool, capability or episode", it.Kind)
		it.Kind = ""
	}
	return err
}

// readEpisode reads an episode whose time may be a date only.
func readEpisode(l line) (e *episodic.Episode, split string, err error) {
	var d struct {
		episodic.Episode
		Time  *string `json:"time"`
		Split string  `json:"split"`
	}
	err = l.decode(&d)
	if err == nil && d.Time != nil {
		d.Episode.Time, err = readTime(*d.Time)
	}
	return &d.Episode, d.Split, err
}

// readTime reads RFC 3339, a date, or a date and time without a zone (taken as UTC). An empty text is the zero
// time.
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

// WriteLine writes an item as one line of our own export, which the format "waymark" reads: the kind together
// with the fields of that kind. It writes nothing for an item without a tool, capability or episode.
//
//	{"kind":"tool","id":"fs:read","name":"read",…}
//	{"kind":"capability","id":"report","tools":["fs:read"],…}
//	{"kind":"episode","id":"e1","steps":[…],…}
func WriteLine(w io.Writer, it Item) error {
	var v any
	switch {
	case it.Tool != nil:
		it.Kind, v = KindTool, it.Tool
	case it.Capability != nil:
		it.Kind, v = KindCapability, it.Capability
	case it.Episode != nil:
		it.Kind, v = KindEpisode, it.Episode
	default:
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("export %s %q: %w", it.Kind, it.ID, err)
	}
	_, err := fmt.Fprintf(w, `{"kind":%q,%s`, it.Kind, b.Bytes()[1:]) // no object is empty: each has an id
	return err
}

func decodeWaymark(in *input, emit func(Item) bool) error {
	return in.eachFile("waymark", func(name string) (more bool, err error) {
		more = true
		err = in.eachLineOf(name, func(it Item) bool {
			more = emit(it)
			return more
		}, waymarkItem)
		return more, err
	})
}

func waymarkItem(l line) (it Item) {
	it.Line = l.number
	var body map[string]json.RawMessage
	err := l.decode(&body)
	if err == nil {
		_ = json.Unmarshal(body["kind"], &it.Kind) // a kind that is not a string counts as missing
		_ = json.Unmarshal(body["id"], &it.ID)
		delete(body, "kind")
		l.data = encode(body)
		err = it.decode(l)
	}
	if err != nil {
		it.drop(err.Error())
	}
	return it
}
