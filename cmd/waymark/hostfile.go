package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
)

// editJSON changes the outermost object of a file and leaves every other byte as it is, comments included. An object
// that is empty afterwards leaves no file.
func editJSON(text []byte, edit func(root *hujson.Object, unit string) error) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{\n}\n")
	}
	mark := text[:len(text)-len(bytes.TrimPrefix(text, []byte(byteOrderMark)))]
	file, err := hujson.Parse(text[len(mark):])
	if err != nil {
		return nil, err
	}
	root, ok := file.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("it holds no object")
	}
	before := file.Clone()
	if err := edit(root, unitOf(text)); err != nil || len(root.Members) == 0 {
		return nil, err
	}
	if sameValue(before, file) { // what was taken out was put back, perhaps in another form
		return text, nil
	}
	return slices.Concat(mark, file.Pack()), nil
}

func sameValue(values ...hujson.Value) bool {
	var plain [2]any
	for i, v := range values {
		v = v.Clone()
		v.Standardize()
		if json.Unmarshal(v.Pack(), &plain[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(plain[0], plain[1])
}

// memberOf is the value of a member, nil where there is none.
func memberOf(object *hujson.Object, name string) *hujson.Value {
	return (&hujson.Value{Value: object}).Find("/" + name)
}

// objectIn is a member that is an object, made at the end where it is absent.
func objectIn(root *hujson.Object, name, unit string) (*hujson.Object, error) {
	if memberOf(root, name) == nil {
		setMember(root, name, map[string]any{}, 1, unit)
	}
	object, ok := memberOf(root, name).Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("its %q is no object", name)
	}
	return object, nil
}

// setMember sets a member of an object that is depth levels below the file; a new one is the last.
func setMember(object *hujson.Object, name string, value any, depth int, unit string) {
	there := memberOf(object, name)
	if there == nil {
		object.Members = append(object.Members, hujson.ObjectMember{Name: hujson.Value{
			BeforeExtra: newLine(&object.AfterExtra, len(object.Members), depth, unit), Value: hujson.String(name)}})
		there = &object.Members[len(object.Members)-1].Value
		there.BeforeExtra = hujson.Extra(" ")
	}
	there.Value = valueOf(value, strings.Repeat(unit, depth), unit)
}

// appendTo adds an element to a list.
func appendTo(list *hujson.Array, value any, depth int, unit string) {
	list.Elements = append(list.Elements, hujson.Value{
		BeforeExtra: newLine(&list.AfterExtra, len(list.Elements), depth, unit), Value: valueOf(value, strings.Repeat(unit, depth), unit)})
}

// newLine is the space before an element of an object or list; it puts the end of an empty one on a new line.
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

// unitOf is what a file indents by.
func unitOf(text []byte) string {
	for line := range bytes.Lines(text) {
		if word := bytes.TrimLeft(line, " \t"); len(word) < len(line) && len(bytes.TrimSpace(word)) > 0 {
			return string(line[:len(line)-len(word)])
		}
	}
	return "  "
}

// removeMember takes a member out.
func removeMember(object *hujson.Object, name string) {
	object.Members = slices.DeleteFunc(object.Members, func(m hujson.ObjectMember) bool { return m.Name.Value.(hujson.Literal).String() == name })
}

// setTable puts a TOML table in the place of the one of its name, at the end of the file; an empty one takes it out.
func setTable(text []byte, name string, table map[string]any) ([]byte, error) {
	var kept strings.Builder
	inside := false
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
		block, err := tableText(name, table)
		if err != nil {
			return nil, err
		}
		rest = strings.TrimLeft(rest+"\n\n"+block, "\n")
	}
	if rest == "" {
		return nil, nil
	}
	return []byte(rest + "\n"), nil
}

// tableText is a table of two names, as in a.b.
func tableText(name string, table map[string]any) (string, error) {
	outer, inner, _ := strings.Cut(name, ".")
	text, err := toml.Marshal(map[string]any{outer: map[string]any{inner: maps.Clone(table)}})
	return strings.TrimSpace(strings.TrimPrefix(string(text), "["+outer+"]\n")), err
}

// difference lists the lines that differ, those before with - and those after with +.
func difference(before, after []byte) string {
	lines := func(text []byte) []string {
		return slices.Collect(strings.Lines(strings.TrimSuffix(string(text), "\n")))
	}
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
		out.WriteString("- " + strings.TrimSuffix(line, "\n") + "\n")
	}
	for _, line := range b[head : len(b)-tail] {
		out.WriteString("+ " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return out.String()
}
