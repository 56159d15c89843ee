package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// member is a field of a JSON object, in its order. A value is a []member, a []any, or what encoding/json makes of it.
type member struct {
	name  string
	value any
}

// ordered reads a JSON value and keeps the order of fields.
func ordered(d *json.Decoder) (any, error) {
	token, err := d.Token()
	delim, nested := token.(json.Delim)
	if err != nil || !nested {
		return token, err
	}
	var fields []member
	list := []any{}
	for d.More() {
		var name json.Token
		if delim == '{' {
			if name, err = d.Token(); err != nil {
				return nil, err
			}
		}
		value, err := ordered(d)
		if err != nil {
			return nil, err
		}
		if delim == '{' {
			fields = append(fields, member{name.(string), value})
		} else {
			list = append(list, value)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if delim == '{' {
		return fields, nil
	}
	return list, nil
}

// chosen are fields of an object by their paths, as in dag.tasks, in the order of the paths and under these as names; all
// without paths.
func chosen(object []member, paths string) (found []member) {
	if paths == "" {
		return object
	}
	for path := range strings.FieldsSeq(paths) {
		name, rest, nested := strings.Cut(path, ".")
		for _, m := range object {
			switch inner, ok := m.value.([]member); {
			case m.name != name:
			case nested && ok:
				for _, within := range chosen(inner, rest) {
					found = append(found, member{name + " " + within.name, within.value})
				}
			case nested:
			default:
				found = append(found, m)
			}
		}
	}
	return found
}

// grid is a list of objects as a table: a column for each field that has a value in any row.
type grid struct {
	title   string
	header  []string
	rows    []map[string]string
	inner   []*grid // lists within the objects
	columns string  // the fields of the objects that are shown; empty: all
}

// render prints an answer for people: its message, its plain fields, then each list of objects as a table. What such an
// object holds in lists of its own comes as another table, whose first column is the object. Of the answer fields are
// shown, of the objects columns, each in this order; empty: all. A list that is the first field comes first: it is the
// answer. Where that is empty, none says why.
func (a *app) render(body json.RawMessage, fields, columns string, none ...string) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	value, err := ordered(d)
	if err != nil {
		return fmt.Errorf("the answer is not what this program expects: %w", err)
	}
	object, _ := value.([]member)
	shown, first := slices.Clone(chosen(object, fields)), 0
	var plain []string
	var grids []*grid
	for i := range shown {
		f := shown[i]
		switch list, isList := f.value.([]any); {
		case f.name == "message":
			a.printf("%s\n", clean(fmt.Sprint(f.value)))
		case isList && len(list) == 0 && i == 0:
			why := slices.IndexFunc(shown, func(m member) bool { return m.name == "rationale" })
			if why >= 0 {
				none, shown[why].value = []string{whole(shown[why].value)}, nil
			}
			a.printf("%s\n", strings.TrimSuffix("no "+words(f.name)+": "+strings.Join(none, ""), ": "))
		case isList && len(object) == 1 && cell(list[0]) != "":
			for _, one := range list {
				a.printf("%s\n", cell(one))
			}
		case cell(f.value) != "":
			plain = append(plain, words(f.name)+": "+whole(f.value))
		case f.value == nil:
		default:
			g := &grid{title: words(f.name), columns: columns}
			if g.add("", f.value); i == 0 && isList {
				g.print(a, false, false)
				first = 1
				continue
			}
			grids = append(grids, g)
		}
	}
	if first > 0 && len(plain) > 0 {
		a.printf("\n")
	}
	for _, line := range plain {
		a.printf("%s\n", line)
	}
	for i, g := range grids {
		g.print(a, first+len(plain)+i > 0, first+len(grids) > 1 || len(plain) > 0)
	}
	return nil
}

// renderValue renders what has no HTTP answer behind it.
func (a *app) renderValue(v any, fields, columns string) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.render(text, fields, columns)
}

// renderAnswer prints what has no HTTP answer behind it, as --json wants it or for people.
func (a *app) renderAnswer(v any) error {
	if a.json {
		return a.printValue(v)
	}
	return a.renderValue(v, "", "")
}

// add adds objects: one, those of a list, or those of a map, whose keys are then the first column.
func (g *grid) add(of string, value any) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			if fields, ok := one.([]member); ok {
				g.row(of, fields)
			}
		}
	case []member:
		if !slices.ContainsFunc(v, func(m member) bool { _, object := m.value.([]member); return !object }) {
			for _, one := range v {
				g.row(of, append([]member{{"name", one.name}}, one.value.([]member)...))
			}
			return
		}
		g.row(of, v)
	}
}

func (g *grid) row(of string, fields []member) {
	if fields = chosen(fields, g.columns); len(fields) == 0 {
		return
	}
	row, self := map[string]string{}, strconv.Itoa(len(g.rows)+1)
	if name, ok := fields[0].value.(string); ok {
		self = short(name)
	}
	g.rows = append(g.rows, row)
	set := func(name, text string) {
		if row[name] = text; text != "" && text != "false" && !slices.Contains(g.header, name) {
			g.header = append(g.header, name)
		}
	}
	set("of", of)
	for _, f := range fields {
		text := cell(f.value)
		if set(words(f.name), text); text != "" || empty(f.value) {
			continue
		}
		i := slices.IndexFunc(g.inner, func(in *grid) bool { return in.title == words(f.name) })
		if i < 0 {
			i = len(g.inner)
			g.inner = append(g.inner, &grid{title: words(f.name)})
		}
		g.inner[i].add(self, f.value)
	}
}

func (g *grid) print(a *app, gap, titled bool) {
	if slices.Contains(g.header, "rank") { // without one, an object is out of the ranking
		rank := func(r map[string]string) int {
			n, err := strconv.Atoi(r["rank"])
			if err != nil {
				return len(g.rows) + 1
			}
			return n
		}
		slices.SortStableFunc(g.rows, func(x, y map[string]string) int { return cmp.Compare(rank(x), rank(y)) })
	}
	if len(g.rows) > 0 && len(g.header) > 0 {
		if gap {
			a.printf("\n")
		}
		if titled {
			a.printf("%s:\n", g.title)
		}
		rows := make([][]string, len(g.rows))
		for i, r := range g.rows {
			for _, name := range g.header {
				rows[i] = append(rows[i], r[name])
			}
		}
		a.table(g.header, rows)
	}
	for _, in := range g.inner {
		in.print(a, true, true)
	}
}

func empty(value any) bool {
	list, isList := value.([]any)
	fields, isObject := value.([]member)
	return value == nil || value == "" || isList && len(list) == 0 || isObject && len(fields) == 0
}

// whole is a cell alone on its line: its texts are not cut.
func whole(value any) string {
	switch v := value.(type) {
	case string:
		return clean(v)
	case []any:
		all := make([]string, len(v))
		for i, one := range v {
			all[i] = whole(one)
		}
		return strings.Join(all, ", ")
	}
	return cell(value)
}

// cell is a plain value, or a list of plain values, as text; empty: it is neither, or there is nothing to show.
func cell(value any) string {
	switch v := value.(type) {
	case string:
		return short(v)
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		if _, decimals, _ := strings.Cut(v.String(), "."); len(decimals) > 4 || strings.ContainsAny(v.String(), "eE") {
			x, _ := v.Float64()
			return number(x)
		}
		return v.String()
	case []any:
		var all []string
		for _, one := range v {
			text := cell(one)
			if text == "" {
				return ""
			}
			all = append(all, text)
		}
		return strings.Join(all, ", ")
	}
	return ""
}
