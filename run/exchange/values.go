package exchange

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"waymark/catalog"
)

// A reader turns a text of a foreign format, which may refer to other values, into one of ours.
type reader func(text string) (json.RawMessage, error)

// value reads a value in whose texts references may stand.
func (read reader) value(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case string:
		return read(v)
	case []any:
		out := make([]json.RawMessage, len(v))
		for i, e := range v {
			var err error
			if out[i], err = read.value(e); err != nil {
				return nil, err
			}
		}
		return raw(out), nil
	case map[string]any:
		out := make(map[string]json.RawMessage, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			var err error
			if out[k], err = read.value(v[k]); err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
		}
		return raw(out), nil
	}
	return raw(v), nil
}

// values reads named values; those that cannot be read are noted as wrong and left out. It is nil without names.
func (r *reading) values(where, what string, said map[string]any, read reader) map[string]json.RawMessage {
	if len(said) == 0 {
		return nil
	}
	out := make(map[string]json.RawMessage, len(said))
	for _, name := range slices.Sorted(maps.Keys(said)) {
		v, err := read.value(said[name])
		if err != nil {
			r.wrong(where, "%s %q: %s", what, name, err)
			continue
		}
		out[name] = v
	}
	return out
}

// argue adds arguments to those of a task.
func argue(t *catalog.Task, arguments map[string]json.RawMessage) {
	if t.Arguments == nil && len(arguments) > 0 {
		t.Arguments = map[string]json.RawMessage{}
	}
	maps.Copy(t.Arguments, arguments)
}
