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

// A data set is a folder of line files. It keeps its own ids. Its tools and capabilities have the fields of the HTTP
// interface; episodes may have more, which are ignored.
//
//	tools.jsonl         {"id","name","description","server","domain","input_schema"}
//	capabilities.jsonl  {"id","name","description","intent","tools":[…],"tasks":[…]}
//	episodes.jsonl      {"id","intent","steps":[{"id","tool","depends_on"}],"outcome","time","split"}
//	tool_graph.jsonl    {"source","target","type"}: the target requires the source
//
// A link without a type says only what may follow what, which some derived from test plans; it is not read.
// A single file or stream may mix them: what has steps is an episode, what has tools or tasks a
// capability, all else a tool.
var datasetFiles = []struct {
	name string
	kind Kind
}{{"tools.jsonl", KindTool}, {"capabilities.jsonl", KindCapability}, {"episodes.jsonl", KindEpisode}}

func decodeDataset(in *input) error {
	if !in.isDir {
		return in.eachLineOf("", func(l line) { in.emit(in.item(l, "")) })
	}
	requires, found := map[string][]string{}, false
	err := in.eachLineOf("tool_graph.jsonl", func(l line) {
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
			in.emit(Item{Line: l.number, Kind: KindTool, Dropped: err.Error()})
		case link.Type != "":
			requires[link.Target] = append(requires[link.Target], link.Source)
		}
	})
	for i := 0; i < len(datasetFiles) && (err == nil || errors.Is(err, fs.ErrNotExist)); i++ {
		f := datasetFiles[i]
		err = in.eachLineOf(f.name, func(l line) {
			it := in.item(l, f.kind)
			if it.Tool != nil {
				it.Tool.Requires = append(it.Tool.Requires, requires[it.Tool.ID]...)
			}
			in.emit(it)
		})
		found = found || err == nil
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case !found:
		return errors.New("folder has neither tools.jsonl nor capabilities.jsonl nor episodes.jsonl")
	}
	return nil
}

func (in *input) eachLineOf(name string, visit func(line)) error {
	f, err := in.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	in.file = cmp.Or(name, in.name)
	return in.eachLine(f, visit)
}

func decodeWaymark(in *input) error {
	return in.eachFile("waymark", func(_ string, f io.Reader) error {
		return in.eachLine(f, func(l line) { in.emit(in.item(l, "")) })
	})
}

// item reads a line of a data set or of an export, whose kind may be known. It is read as the HTTP interface reads a body,
// but for an episode of a data set, which may have other fields, and a time that is a date only.
func (in *input) item(l line, kind Kind) Item {
	it := Item{Line: l.number, Kind: kind}
	var body map[string]json.RawMessage
	err := l.decode(&body)
	has := func(name string) bool { return len(body[name]) > 0 && string(body[name]) != "null" }
	if err == nil {
		_ = json.Unmarshal(body["id"], &it.ID) // one that is no text is none
		switch {
		case in.own:
			_ = json.Unmarshal(body["kind"], &it.Kind)
			delete(body, "kind")
			l.data = encode(body)
		case kind != "":
		case has("steps"):
			it.Kind = KindEpisode
		case has("tools"), has("tasks"):
			it.Kind = KindCapability
		default:
			it.Kind = KindTool
		}
		err = it.decode(l, in.own)
	}
	if err != nil {
		it.drop(err.Error())
	}
	return it
}

func (it *Item) decode(l line, own bool) (err error) {
	var d struct {
		episodic.Episode
		Time  *string `json:"time"`
		Split string  `json:"split"`
	}
	switch {
	case it.Kind == KindTool:
		it.Tool = new(catalog.Tool)
		return l.decodeOwn(it.Tool)
	case it.Kind == KindCapability:
		it.Capability = new(catalog.Capability)
		return l.decodeOwn(it.Capability)
	case it.Kind == KindEpisode && own:
		it.Episode = new(episodic.Episode)
		return l.decodeOwn(it.Episode)
	case it.Kind == KindEpisode:
		if err = l.decode(&d); err == nil && d.Time != nil {
			d.Episode.Time, err = readTime(*d.Time)
		}
		it.Episode, it.Split = &d.Episode, d.Split
		return err
	case it.Kind == "":
		return errors.New("no kind")
	}
	err = fmt.Errorf("unknown kind %.40q: want tool, capability or episode", it.Kind)
	it.Kind = ""
	return err
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

// WriteLine writes an item as one line of our own export, which the format "waymark" reads: the kind, and the fields of
// that kind beside it. It writes nothing for an item that holds neither tool nor capability nor episode.
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
	_, err := fmt.Fprintf(w, `{"kind":%q,%s`, it.Kind, b.Bytes()[1:]) // no body is empty: each has an id
	return err
}
