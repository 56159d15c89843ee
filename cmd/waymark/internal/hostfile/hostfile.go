// Package hostfile changes one value in the settings of a host and leaves every other byte as it is.
//
// Files with comments are refused, since a JSON decoder cannot tell where they belong. A value that is removed again
// leaves the file as it was before it was set.
package hostfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// member is one member of an object in a text, by offsets.
type member struct {
	name             string
	from, value, end int // of its name, of its value, and after it
}

// members of the object that begins at an offset, and the offset after the object.
func members(text []byte, at int) (all []member, end int, err error) {
	d := jsontext.NewDecoder(bytes.NewReader(text[at:]))
	if t, err := d.ReadToken(); err != nil {
		return nil, 0, err
	} else if t.Kind() != '{' {
		return nil, 0, fmt.Errorf("is %s, want an object", t.Kind())
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadValue()
		if err != nil {
			return nil, 0, err
		}
		unquoted, err := jsontext.AppendUnquote(nil, name)
		if err != nil {
			return nil, 0, err
		}
		m := member{name: string(unquoted), from: int(d.InputOffset()) + at - len(name)}
		value, err := d.ReadValue()
		if err != nil {
			return nil, 0, err
		}
		m.end = int(d.InputOffset()) + at
		m.value = m.end - len(value)
		all = append(all, m)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, 0, err
	}
	return all, int(d.InputOffset()) + at, nil
}

// begin is the offset of the outermost object.
func begin(text []byte) (int, error) {
	at := len(text) - len(bytes.TrimLeft(text, " \t\r\n\ufeff"))
	_, end, err := members(text, at)
	if err == nil && len(bytes.TrimSpace(text[end:])) > 0 {
		err = errors.New("has text after its object")
	}
	return at, err
}

// Get is the value at a path, nil where there is none.
func Get(text []byte, path ...string) (json.RawMessage, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	at, err := begin(text)
	if err != nil {
		return nil, err
	}
	for i, name := range path {
		all, _, err := members(text, at)
		if err != nil {
			return nil, err
		}
		k := slices.IndexFunc(all, func(m member) bool { return m.name == name })
		if k < 0 {
			return nil, nil
		}
		if i == len(path)-1 {
			return text[all[k].value:all[k].end], nil
		}
		at = all[k].value
	}
	return text[at:], nil
}

// Set puts a value at a path. Objects on the way are made where they are absent.
func Set(text []byte, value any, path ...string) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	at, err := begin(text)
	if err != nil {
		return nil, err
	}
	for i, name := range path {
		all, end, err := members(text, at)
		if err != nil {
			return nil, fmt.Errorf("%s %w", strings.Join(path[:i], "."), err)
		}
		k := slices.IndexFunc(all, func(m member) bool { return m.name == name })
		switch {
		case k >= 0 && i == len(path)-1:
			return splice(text, all[k].value, all[k].end, encoded(value, indent(text, all[k].from))), nil
		case k >= 0:
			at = all[k].value
		default:
			for _, above := range slices.Backward(path[i+1:]) {
				value = map[string]any{above: value}
			}
			return insert(text, at, end, all, name, value), nil
		}
	}
	return text, nil
}

// insert adds a member at the end of an object.
func insert(text []byte, at, end int, all []member, name string, value any) []byte {
	key, _ := json.Marshal(name) // a string: cannot fail
	if len(all) == 0 {
		outer := indent(text, at)
		inner := outer + "  "
		return splice(text, at, end, "{\n"+inner+string(key)+": "+encoded(value, inner)+"\n"+outer+"}")
	}
	last := all[len(all)-1]
	if !bytes.ContainsRune(text[at:last.from], '\n') { // all on one line
		compact, _ := json.Marshal(value) // made of plain values: cannot fail
		return splice(text, last.end, last.end, ", "+string(key)+": "+string(compact))
	}
	inner := indent(text, last.from)
	return splice(text, last.end, last.end, ",\n"+inner+string(key)+": "+encoded(value, inner))
}

// Remove takes the value at a path out, and the objects on the way that are empty without it. removed is false where
// there is none.
func Remove(text []byte, path ...string) (after []byte, removed bool, err error) {
	if v, err := Get(text, path...); err != nil || v == nil {
		return text, false, err
	}
	at, err := begin(text)
	if err != nil {
		return nil, false, err
	}
	for i, name := range path {
		all, end, err := members(text, at)
		if err != nil {
			return nil, false, err
		}
		k := slices.IndexFunc(all, func(m member) bool { return m.name == name })
		if i < len(path)-1 {
			inner, _, err := members(text, all[k].value)
			if err != nil {
				return nil, false, err
			}
			if len(inner) > 1 || i+2 < len(path) && !onlyPath(text, all[k].value, path[i+1:]) {
				at = all[k].value
				continue
			}
		}
		switch {
		case len(all) == 1:
			return splice(text, at, end, "{}"), true, nil
		case k > 0:
			return splice(text, all[k-1].end, all[k].end, ""), true, nil
		}
		return splice(text, all[0].from, all[1].from, ""), true, nil
	}
	return text, false, nil
}

// onlyPath reports whether objects hold nothing but the path.
func onlyPath(text []byte, at int, path []string) bool {
	for i, name := range path {
		all, _, err := members(text, at)
		if err != nil || len(all) != 1 || all[0].name != name {
			return false
		}
		if i < len(path)-1 {
			at = all[0].value
		}
	}
	return true
}

func splice(text []byte, from, to int, middle string) []byte {
	return slices.Concat(text[:from], []byte(middle), text[to:])
}

// indent is the white space that begins the line of an offset.
func indent(text []byte, at int) string {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func encoded(value any, prefix string) string {
	text, _ := json.MarshalIndent(value, prefix, "  ") // made of plain values and valid JSON: cannot fail
	return string(text)
}

// SetTable puts a TOML table at the end of a file, or in the place of the one of its name. block begins with [name].
func SetTable(text []byte, name, block string) []byte {
	text, _ = RemoveTable(text, name)
	if len(bytes.TrimSpace(text)) == 0 {
		return []byte(block + "\n")
	}
	return []byte(strings.TrimRight(string(text), "\n") + "\n\n" + block + "\n")
}

// RemoveTable takes a TOML table out, with those below it.
func RemoveTable(text []byte, name string) (after []byte, removed bool) {
	var kept []string
	inside := false
	for line := range strings.Lines(string(text)) {
		if head := strings.TrimSpace(line); strings.HasPrefix(head, "[") {
			inside = strings.HasPrefix(head, "["+name+"]") || strings.HasPrefix(head, "["+name+".")
		}
		if removed = removed || inside; !inside {
			kept = append(kept, line)
		}
	}
	if !removed {
		return text, false
	}
	rest := strings.TrimRight(strings.Join(kept, ""), "\n")
	if rest != "" {
		rest += "\n"
	}
	return []byte(rest), true
}

// Diff lists the lines that differ, those before with - and those after with +.
func Diff(before, after []byte) string {
	a, b := lines(before), lines(after)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out strings.Builder
	for _, line := range a[head : len(a)-tail] {
		out.WriteString("- " + line + "\n")
	}
	for _, line := range b[head : len(b)-tail] {
		out.WriteString("+ " + line + "\n")
	}
	return out.String()
}

func lines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
