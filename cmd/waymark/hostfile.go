package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
)

// editJSON changes the outermost object of a file and keeps its comments. Other bytes change only where the file has the
// form of an encoder, in which the new values are written, too. If the object is empty afterwards, it returns nil, so that
// the file is removed.
func editJSON(text []byte, edit func(file *hujson.Value) error) ([]byte, error) {
	old := bytes.TrimPrefix(text, []byte(byteOrderMark))
	if len(bytes.TrimSpace(old)) == 0 {
		old = []byte("{}\n")
	}
	file, err := hujson.Parse(old)
	if err != nil {
		return nil, err
	}
	if file.Value.Kind() != '{' {
		return nil, errors.New("it holds no object")
	}
	if err := edit(&file); err != nil || len(file.Value.(*hujson.Object).Members) == 0 {
		return nil, err
	}
	packed := file.Pack()
	var before, after any
	if err := errors.Join(unmarshalJSON(old, &before), unmarshalJSON(packed, &after)); err != nil || reflect.DeepEqual(before, after) {
		return text, err
	}
	for _, unit := range []string{"  ", "    ", "\t"} {
		var was, now bytes.Buffer
		if json.Indent(&was, old, "", unit) == nil && bytes.Equal(was.Bytes(), old) && json.Indent(&now, packed, "", unit) == nil {
			packed = now.Bytes()
			break
		}
	}
	return slices.Concat(text[:len(text)-len(bytes.TrimPrefix(text, []byte(byteOrderMark)))], packed), nil
}

// unmarshalJSON decodes JSON with comments; an empty text has no value.
func unmarshalJSON(text []byte, into any) error {
	if text = bytes.TrimPrefix(text, []byte(byteOrderMark)); len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	plain, err := hujson.Standardize(bytes.Clone(text))
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, into)
}

// pointer returns the JSON Pointer (RFC 6901) of a path of names.
func pointer(path ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	text := ""
	for _, name := range path {
		text += "/" + escape.Replace(name)
	}
	return text
}

// patch applies an operation of JSON Patch (RFC 6902) at a path of names. An added object that is missing around the value
// is added with it.
func patch(file *hujson.Value, op string, value any, path ...string) error {
	for i := len(path) - 1; op == "add" && i > 0 && file.Find(pointer(path[:i]...)) == nil; i-- {
		path, value = path[:i], map[string]any{path[i]: value}
	}
	text, err := json.Marshal([]map[string]any{{"op": op, "path": pointer(path...), "value": value}})
	if err == nil && file.Patch(text) != nil {
		err = fmt.Errorf("its %q is not an object", path[0])
	}
	return err
}

// remove removes the value at a path of names, and the objects around it that become empty.
func remove(file *hujson.Value, path ...string) error {
	err := patch(file, "remove", nil, path...)
	if outer := path[:len(path)-1]; err == nil && len(outer) > 0 {
		if o, ok := file.Find(pointer(outer...)).Value.(*hujson.Object); ok && len(o.Members) == 0 {
			return remove(file, outer...)
		}
	}
	return err
}

// serverIn returns the entry of the server waymark in a file, or nil if there is none.
func (h hostKind) serverIn(text []byte) (map[string]any, error) {
	var all map[string]any
	decode := toml.Unmarshal
	if !h.toml() {
		decode = unmarshalJSON
	}
	err := decode(text, &all)
	servers, _ := all[h.servers].(map[string]any)
	server, _ := servers["waymark"].(map[string]any)
	return server, err
}

// withServer replaces the entry of the server waymark, or removes it if server is nil. Other members that a user added
// to it, such as env, stay.
func (h hostKind) withServer(text []byte, server map[string]any) (after []byte, err error) {
	there, err := h.serverIn(text)
	if err != nil {
		return nil, err
	}
	if server = maps.Clone(server); server != nil {
		for name, value := range there {
			if !slices.Contains([]string{"command", "args", "url", "type"}, name) {
				server[name] = value
			}
		}
	}
	switch {
	case reflect.DeepEqual(there, server):
		return text, nil
	case h.toml():
		after, err = setTable(text, h.servers, "waymark", server)
	default:
		after, err = editJSON(text, func(file *hujson.Value) error {
			if server == nil {
				return remove(file, h.servers, "waymark")
			}
			return patch(file, "add", server, h.servers, "waymark")
		})
	}
	if err != nil {
		return nil, err
	}
	if now, err := h.serverIn(after); err != nil || !reflect.DeepEqual(now, server) {
		return nil, errors.New("its servers are written in a form that is not changed here, such as an inline table, dotted or quoted keys")
	}
	return after, nil
}

var ownCommand = regexp.MustCompile(`(^|[/\\'"])waymark-hook(\.exe)?['"]? --host `)

// withHooks replaces the hooks of Waymark, or removes them if hooks is nil; those of others stay.
func (h hostKind) withHooks(text []byte, hooks map[string]any) ([]byte, error) {
	return editJSON(text, func(file *hujson.Value) error {
		var there map[string]any
		if value := file.Find("/hooks"); value != nil {
			if err := unmarshalJSON(value.Pack(), &there); err != nil {
				return errors.New("its hooks are not lists by event")
			}
		}
		for event := range there {
			list, ok := file.Find(pointer("hooks", event)).Value.(*hujson.Array)
			if !ok {
				return errors.New("its hooks are not lists by event")
			}
			if withoutOwn(list) {
				if err := remove(file, "hooks", event); err != nil {
					return err
				}
			}
		}
		for _, event := range h.events {
			var err error
			switch {
			case hooks == nil:
			case file.Find("/hooks/"+event) != nil:
				err = patch(file, "add", hooks[event], "hooks", event, "-")
			default:
				err = patch(file, "add", []any{hooks[event]}, "hooks", event)
			}
			if err != nil {
				return err
			}
		}
		switch version := file.Find("/version"); {
		case h.flat && hooks != nil && version == nil:
			return patch(file, "add", 1, "version")
		case h.flat && hooks == nil && version != nil && file.Find("/hooks") == nil && len(file.Value.(*hujson.Object).Members) == 1:
			return remove(file, "version")
		}
		return nil
	})
}

// withoutOwn removes the hooks of Waymark from a list of hooks, or of groups of them, and reports whether that emptied
// the list.
func withoutOwn(list *hujson.Array) bool {
	was := len(list.Elements)
	list.Elements = slices.DeleteFunc(list.Elements, func(hook hujson.ArrayElement) bool {
		if inner := hook.Find("/hooks"); inner != nil {
			group, ok := inner.Value.(*hujson.Array)
			return ok && withoutOwn(group)
		}
		command := hook.Find("/command")
		return command != nil && ownCommand.MatchString(text(command.Value, math.MaxInt))
	})
	return was > 0 && len(list.Elements) == 0
}

// setTable removes the TOML table with these two names, as in a.b, and writes the new table at the end of the file,
// unless it is empty.
func setTable(text []byte, outer, inner string, table map[string]any) ([]byte, error) {
	var kept strings.Builder
	name, inside := outer+"."+inner, false
	for line := range strings.Lines(string(text)) {
		if head := strings.TrimSpace(line); strings.HasPrefix(head, "[") {
			inside = strings.HasPrefix(head, "["+name+"]") || strings.HasPrefix(head, "["+name+".")
		}
		if !inside {
			kept.WriteString(line)
		}
	}
	rest := strings.TrimRight(kept.String(), "\n")
	if len(table) > 0 {
		block, err := toml.Marshal(map[string]any{outer: map[string]any{inner: table}})
		if err != nil {
			return nil, err
		}
		rest = strings.Trim(rest+"\n\n"+strings.TrimPrefix(string(block), "["+outer+"]\n"), "\n")
	}
	if rest == "" {
		return nil, nil
	}
	return []byte(rest + "\n"), nil
}
