package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"waymark/catalog"
	"waymark/episodic"
)

// exportLine is one line of our own export: the kind, and the fields of that kind beside it.
//
//	{"kind":"tool","id":"fs:read","name":"read",…}
//	{"kind":"capability","id":"report","tools":["fs:read"],…}
//	{"kind":"episode","id":"e1","steps":[…],…}
type exportLine[T any] struct {
	Kind Kind `json:"kind"`
	Body T    `json:"-"`
}

func (l exportLine[T]) MarshalJSON() ([]byte, error) {
	body, err := json.Marshal(l.Body)
	if err != nil {
		return nil, err
	}
	return append(fmt.Appendf(nil, `{"kind":%q,`, l.Kind), body[1:]...), nil // no body is empty: each has an id
}

// WriteLine writes an item as one line of our own export, which the format "waymark" reads. It writes
// nothing for an item that holds neither tool nor capability nor episode.
func WriteLine(w io.Writer, it Item) error {
	var v any
	switch {
	case it.Tool != nil:
		v = exportLine[*catalog.Tool]{KindTool, it.Tool}
	case it.Capability != nil:
		v = exportLine[*catalog.Capability]{KindCapability, it.Capability}
	case it.Episode != nil:
		v = exportLine[*episodic.Episode]{KindEpisode, it.Episode}
	default:
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("export %s %q: %w", it.Kind, it.ID, err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func decodeWaymark(in *input, emit func(Item) bool) error {
	return in.eachFile("waymark", []string{".jsonl", ".ndjson", ".json"}, func(name string) (more bool, err error) {
		f, err := in.open(name)
		if err != nil {
			return false, err
		}
		defer f.Close()
		more = true
		err = eachLine(f, func(l line) bool {
			it := waymarkItem(l)
			it.File = name
			more = emit(it)
			return more
		})
		return more, err
	})
}

func waymarkItem(l line) (it Item) {
	it.Line = l.number
	var head struct {
		Kind Kind   `json:"kind"`
		ID   string `json:"id"`
	}
	var body map[string]json.RawMessage
	err := cmp.Or(l.decode(&head), l.decode(&body))
	if err == nil {
		delete(body, "kind")
		l.data, it.ID = encode(body), head.ID
		switch head.Kind {
		case KindTool, KindCapability:
			return datasetItem(l, head.Kind)
		case KindEpisode:
			it.Kind, it.Episode = KindEpisode, new(episodic.Episode)
			err = l.decodeOwn(it.Episode)
			if it.ID = it.Episode.ID; err == nil {
				return it
			}
		case "":
			err = errors.New("no kind")
		default:
			err = fmt.Errorf("unknown kind %.40q: want tool, capability or episode", head.Kind)
		}
	}
	it.drop(err.Error())
	return it
}
