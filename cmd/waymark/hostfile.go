package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
)

// editJSON changes the outermost object of a file and leaves every other byte as it is, comments included. If the
// object is empty afterwards, it returns nil, so that the file is removed.
func editJSON(text []byte, edit func(root *hujson.Value, unit string) error) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{\n}\n")
	}
	mark := text[:len(text)-len(bytes.TrimPrefix(text, []byte(byteOrderMark)))]
	file, err := hujson.Parse(text[len(mark):])
	if err != nil {
		return nil, err
	}
	if file.Value.Kind() != '{' {
		return nil, errors.New("it holds no object")
	}
	before := file.Clone()
	if err := edit(&file, unitOf(text)); err != nil || len(membersOf(file.Value)) == 0 {
		return nil, err
	}
	after := file.Pack()
	if before.Patch(slices.Concat([]byte(`[{"op": "test", "path": "", "value": `), after, []byte("\n}]"))) == nil {
		return text, nil // the same values in another form
	}
	return slices.Concat(mark, after), nil
}

// put sets the value at a path of members in an object that is nested depth levels deep in the file. It appends missing
// members to their objects.
func put(object *hujson.Value, value any, depth int, unit string, path ...string) error {
	if len(path) == 0 {
		object.Value = valueOf(value, strings.Repeat(unit, depth), unit)
		return nil
	}
	there, o := object.Find("/"+path[0]), object.Value.(*hujson.Object)
	if there == nil {
		o.Members = append(o.Members, hujson.ObjectMember{
			Name:  hujson.Value{BeforeExtra: newLine(&o.AfterExtra, len(o.Members), depth+1, unit), Value: hujson.String(path[0])},
			Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: &hujson.Object{}},
		})
		there = &o.Members[len(o.Members)-1].Value
	}
	if len(path) > 1 && there.Value.Kind() != '{' {
		return fmt.Errorf("its %q is not an object", path[0])
	}
	return put(there, value, depth+1, unit, path[1:]...)
}

// drop removes the member at a path, and the objects around it that become empty.
func drop(object *hujson.Value, path ...string) error {
	if len(path) > 1 {
		there := object.Find("/" + path[0])
		if there == nil || there.Value.Kind() != '{' {
			return fmt.Errorf("its %q is not an object", path[0])
		}
		if err := drop(there, path[1:]...); err != nil || len(membersOf(there.Value)) > 0 {
			return err
		}
	}
	o := object.Value.(*hujson.Object)
	o.Members = slices.DeleteFunc(o.Members, func(m hujson.ObjectMember) bool { return nameOf(m) == path[0] })
	return nil
}

func nameOf(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// appendTo adds an element to a list.
func appendTo(list *hujson.Array, value any, depth int, unit string) {
	list.Elements = append(list.Elements, hujson.Value{
		BeforeExtra: newLine(&list.AfterExtra, len(list.Elements), depth, unit), Value: valueOf(value, strings.Repeat(unit, depth), unit)})
}

// newLine returns the space before an element of an object or list. For the first element it also moves the closing
// bracket to a new line.
func newLine(end *hujson.Extra, elements, depth int, unit string) hujson.Extra {
	if elements == 0 && len(bytes.TrimSpace(*end)) == 0 {
		*end = hujson.Extra("\n" + strings.Repeat(unit, depth-1))
	}
	return hujson.Extra("\n" + strings.Repeat(unit, depth))
}

func valueOf(value any, prefix, unit string) hujson.ValueTrimmed {
	text, _ := json.MarshalIndent(value, prefix, unit) // made of plain values: cannot fail
	parsed, _ := hujson.Parse(text)                    // what was just encoded
	return parsed.Value
}

// unitOf returns the indentation of one level in a file.
func unitOf(text []byte) string {
	for line := range bytes.Lines(text) {
		if word := bytes.TrimLeft(line, " \t"); len(word) < len(line) && len(bytes.TrimSpace(word)) > 0 {
			return string(line[:len(line)-len(word)])
		}
	}
	return "  "
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
