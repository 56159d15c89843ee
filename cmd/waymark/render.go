package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// member is a field of an answer. Its value is a [hujson.Literal], a *[hujson.Array] or an *[hujson.Object], because these
// keep the order of fields.
type member struct {
	name  string
	value hujson.ValueTrimmed
}

// membersOf returns the fields of an object; other values have none.
func membersOf(value hujson.ValueTrimmed) (all []member) {
	if object, ok := value.(*hujson.Object); ok {
		for _, m := range object.Members {
			all = append(all, member{nameOf(m), m.Value.Value})
		}
	}
	return all
}

// chosen returns the fields of an object at these paths, as in dag.tasks, named and ordered by the paths. Without paths
// it returns all fields.
func chosen(object []member, paths string) (found []member) {
	if paths == "" {
		return object
	}
	for path := range strings.FieldsSeq(paths) {
		name, rest, nested := strings.Cut(path, ".")
		for _, m := range object {
			switch {
			case m.name != name:
			case !nested:
				found = append(found, m)
			default:
				for _, within := range chosen(membersOf(m.value), rest) {
					found = append(found, member{name + " " + within.name, within.value})
				}
			}
		}
	}
	return found
}

// render prints an answer for people: its message, its plain fields, then each list of objects as a table. fields
// selects the fields of the answer and columns those of the objects, each in this order; empty selects all. If the
// first field is a list, it is the answer and comes first.
func (a *app) render(body json.RawMessage, fields, columns string) error {
	answer, err := hujson.Parse(body)
	if err != nil {
		return fmt.Errorf("unexpected answer: %w", err)
	}
	all := membersOf(answer.Value)
	shown := chosen(all, fields)
	var plain []string
	var lists []member
	printed := 0 // number of lists printed so far
	for i, f := range shown {
		line := text(f.value, math.MaxInt)
		list, isList := f.value.(*hujson.Array)
		switch {
		case f.name == "message":
			a.printf("%s\n", line)
		case isList && len(list.Elements) == 0 && i == 0:
			a.printf("no %s\n", words(f.name))
		case line != "" && isList && len(all) == 1:
			for _, one := range list.Elements {
				a.printf("%s\n", text(one.Value, maxText))
			}
		case line != "":
			plain = append(plain, words(f.name)+": "+line)
		case isList && i == 0:
			a.grid("", rowsOf("", f.value, columns), false)
			printed = 1
		case isList || len(membersOf(f.value)) > 0:
			lists = append(lists, f)
		}
	}
	if printed > 0 && len(plain) > 0 {
		a.printf("\n")
	}
	for _, line := range plain {
		a.printf("%s\n", line)
	}
	for i, f := range lists {
		title := ""
		if printed+len(lists) > 1 || len(plain) > 0 {
			title = words(f.name)
		}
		a.grid(title, rowsOf("", f.value, columns), printed+len(plain)+i > 0)
	}
	return nil
}

// show prints a value that is not an HTTP answer, as JSON with --json, else for people.
func (a *app) show(v any, fields, columns string) error {
	if a.json {
		return a.printValue(v)
	}
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.render(body, fields, columns)
}

// row is an object in a table, and the object that holds it, if any.
type row struct {
	of     string
	fields []member
}

// rowsOf returns the objects in a value: the value itself, the elements of a list, or the values of a map, each with
// its key as the first field.
func rowsOf(of string, value hujson.ValueTrimmed, columns string) (rows []row) {
	add := func(fields []member) {
		if fields = chosen(fields, columns); len(fields) > 0 {
			rows = append(rows, row{of, fields})
		}
	}
	fields := membersOf(value)
	switch list, isList := value.(*hujson.Array); {
	case isList:
		for _, one := range list.Elements {
			add(membersOf(one.Value))
		}
	case slices.ContainsFunc(fields, func(m member) bool { return m.value.Kind() != '{' }):
		add(fields)
	default:
		for _, m := range fields {
			add(append([]member{{"name", hujson.String(m.name)}}, membersOf(m.value)...))
		}
	}
	return rows
}

// grid prints objects as a table, with a column for each field that has a value in any of them. Lists and objects
// within them become further tables, whose first column names the object.
func (a *app) grid(title string, rows []row, gap bool) {
	var header, titles []string
	cells, inner := make([]map[string]string, len(rows)), map[string][]row{}
	for i, r := range rows {
		self := strconv.Itoa(i + 1)
		if r.fields[0].value.Kind() == '"' {
			self = text(r.fields[0].value, maxText)
		}
		cells[i] = map[string]string{}
		for _, f := range append([]member{{"of", hujson.String(r.of)}}, r.fields...) {
			name, cell := words(f.name), text(f.value, maxText)
			switch cells[i][name] = cell; {
			case cell == "":
				if !slices.Contains(titles, name) {
					titles = append(titles, name)
				}
				inner[name] = append(inner[name], rowsOf(self, f.value, "")...)
			case cell != "false" && !slices.Contains(header, name):
				header = append(header, name)
			}
		}
	}
	if slices.Contains(header, "rank") { // objects without a rank come last
		rank := func(cells map[string]string) int {
			n, err := strconv.Atoi(cells["rank"])
			if err != nil {
				return len(rows) + 1
			}
			return n
		}
		slices.SortStableFunc(cells, func(x, y map[string]string) int { return cmp.Compare(rank(x), rank(y)) })
	}
	if len(header) > 0 {
		if gap {
			a.printf("\n")
		}
		if title != "" {
			a.printf("%s:\n", title)
		}
		table := make([][]string, len(cells))
		for i, c := range cells {
			for _, name := range header {
				table[i] = append(table[i], c[name])
			}
		}
		a.table(header, table)
	}
	for _, title := range titles {
		a.grid(title, inner[title], true)
	}
}

// text returns a plain value, or a list of plain values, with at most so many characters of each. It is empty for other
// values, and if there is nothing to show.
func text(value hujson.ValueTrimmed, most int) string {
	switch v := value.(type) {
	case hujson.Literal:
		_, decimals, _ := strings.Cut(string(v), ".")
		switch kind := v.Kind(); {
		case kind == 'n':
			return ""
		case kind == '0' && (len(decimals) > 4 || strings.ContainsAny(string(v), "eE")):
			return number(v.Float())
		}
		return truncated(clean(v.String()), most)
	case *hujson.Array:
		all := make([]string, len(v.Elements))
		for i, one := range v.Elements {
			if all[i] = text(one.Value, most); all[i] == "" {
				return ""
			}
		}
		return strings.Join(all, ", ")
	}
	return ""
}
