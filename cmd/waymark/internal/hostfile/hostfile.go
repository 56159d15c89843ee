// Package hostfile changes one value in the settings of a host and leaves every other byte as it is.
//
// Files with comments are refused, since a JSON decoder cannot tell where they belong. A value that is removed again
// leaves the file as it was before it was set, but for the objects and lists around it, which stay when they are empty.
package hostfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"waymark/ingest"
)

// member is one member of an object in a text, or one element of a list, by offsets.
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
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		line := 1 + bytes.Count(text[:at+int(syntax.ByteOffset)], []byte("\n"))
		if _, _, foreign := ingest.Launches("file.json", text); foreign == nil { // editors read it
			return at, fmt.Errorf("line %d has a comment or a trailing comma, which would be lost", line)
		}
		return at, fmt.Errorf("line %d: %w", line, err)
	}
	if err == nil && len(bytes.TrimSpace(text[end:])) > 0 {
		err = errors.New("has text after its object")
	}
	return at, err
}

// find is where the value at a path begins and ends; found is false where there is none. Elements of a list have their
// index as name.
func find(text []byte, path ...string) (at, end int, found bool, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return 0, 0, false, nil
	}
	if at, err = begin(text); err != nil {
		return 0, 0, false, err
	}
	end = len(bytes.TrimRight(text, " \t\r\n"))
	for _, name := range path {
		var all []member
		if _, isIndex := strconv.Atoi(name); isIndex == nil && text[at] == '[' {
			all, err = elements(text, at, end)
		} else {
			all, _, err = members(text, at)
		}
		if err != nil {
			return 0, 0, false, err
		}
		k := slices.IndexFunc(all, func(m member) bool { return m.name == name })
		if k < 0 {
			return 0, 0, false, nil
		}
		at, end = all[k].value, all[k].end
	}
	return at, end, true, nil
}

// Get is the value at a path, nil where there is none.
func Get(text []byte, path ...string) (json.RawMessage, error) {
	at, end, found, err := find(text, path...)
	if err != nil || !found {
		return nil, err
	}
	return text[at:end], nil
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
			return splice(text, all[k].value, all[k].end, encoded(value, indent(text, all[k].from), unit(text))), nil
		case k >= 0:
			at = all[k].value
		default:
			for _, above := range slices.Backward(path[i+1:]) {
				value = map[string]any{above: value}
			}
			key, _ := json.Marshal(name) // a string: cannot fail
			return insert(text, at, end, all, string(key)+": ", value), nil
		}
	}
	return text, nil
}

// insert adds a member at the end of an object or list; key is "" in a list.
func insert(text []byte, at, end int, all []member, key string, value any) []byte {
	unit := unit(text)
	if len(all) == 0 {
		outer := indent(text, at)
		inner := outer + unit
		return splice(text, at+1, end-1, "\n"+inner+key+encoded(value, inner, unit)+"\n"+outer)
	}
	last := all[len(all)-1]
	if !bytes.ContainsRune(text[at:last.from], '\n') { // all on one line
		compact, _ := json.Marshal(value) // made of plain values: cannot fail
		return splice(text, last.end, last.end, ", "+key+string(compact))
	}
	inner := indent(text, last.from)
	return splice(text, last.end, last.end, ",\n"+inner+key+encoded(value, inner, unit))
}

// elementsAt are the elements of the list at a path, with the offsets where it begins and ends.
func elementsAt(text []byte, path ...string) (all []member, at, end int, err error) {
	if at, end, _, err = find(text, path...); err != nil {
		return nil, 0, 0, err
	}
	if at == end || text[at] != '[' {
		return nil, 0, 0, fmt.Errorf("%s is no list", strings.Join(path, "."))
	}
	all, err = elements(text, at, end)
	return all, at, end, err
}

// elements of the list between two offsets.
func elements(text []byte, at, end int) (all []member, err error) {
	d := jsontext.NewDecoder(bytes.NewReader(text[at:end]))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		end := at + int(d.InputOffset())
		all = append(all, member{name: strconv.Itoa(len(all)), from: end - len(value), value: end - len(value), end: end})
	}
	return all, nil
}

// Append adds a value at the end of the list at a path, which must be there.
func Append(text []byte, value any, path ...string) ([]byte, error) {
	all, at, end, err := elementsAt(text, path...)
	if err != nil {
		return nil, err
	}
	return insert(text, at, end, all, "", value), nil
}

// Drop takes the elements that a function names out of the list at a path, which must be there.
func Drop(text []byte, drop func(json.RawMessage) bool, path ...string) ([]byte, error) {
	for {
		all, at, end, err := elementsAt(text, path...)
		if err != nil {
			return nil, err
		}
		k := slices.IndexFunc(all, func(m member) bool { return drop(text[m.value:m.end]) })
		if k < 0 {
			return text, nil
		}
		text = without(text, at, end, all, k)
	}
}

// Remove takes the value at a path out. removed is false where there is none.
func Remove(text []byte, path ...string) (after []byte, removed bool, err error) {
	if _, _, found, err := find(text, path...); err != nil || !found {
		return text, false, err
	}
	last := len(path) - 1
	at, end, _, err := find(text, path[:last]...)
	if err != nil {
		return nil, false, err
	}
	all, _, err := members(text, at)
	if err != nil {
		return nil, false, err
	}
	k := slices.IndexFunc(all, func(m member) bool { return m.name == path[last] })
	return without(text, at, end, all, k), true, nil
}

// without takes one member out of an object or list.
func without(text []byte, at, end int, all []member, k int) []byte {
	switch {
	case len(all) == 1:
		return splice(text, at+1, end-1, "")
	case k > 0:
		return splice(text, all[k-1].end, all[k].end, "")
	}
	return splice(text, all[0].from, all[1].from, "")
}

func splice(text []byte, from, to int, middle string) []byte {
	return slices.Concat(text[:from], []byte(middle), text[to:])
}

// indent is the white space that begins the line of an offset.
func indent(text []byte, at int) string {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unit is what a file indents by.
func unit(text []byte) string {
	for line := range bytes.Lines(text) {
		if white := indent(line, len(bytes.TrimRight(line, "\r\n"))); white != "" && strings.TrimSpace(string(line)) != "" {
			return white
		}
	}
	return "  "
}

func encoded(value any, prefix, unit string) string {
	text, _ := json.MarshalIndent(value, prefix, unit) // made of plain values and valid JSON: cannot fail
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
