package main

import (
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

// membersOf returns the fields of an object; other values have none. The fields of an inner object come last, as in
// model.version, unless it is a map of objects.
func membersOf(value hujson.ValueTrimmed) (all []member) {
	object, _ := value.(*hujson.Object)
	if object == nil {
		return nil
	}
	var inner []member
	for _, m := range object.Members {
		name := m.Name.Value.(hujson.Literal).String()
		fields := membersOf(m.Value.Value)
		if fields == nil || isTable(m.Value.Value) {
			all = append(all, member{name, m.Value.Value})
			continue
		}
		for _, f := range fields {
			inner = append(inner, member{name + "." + f.name, f.value})
		}
	}
	return append(all, inner...)
}

// isTable reports whether a value has only objects in it: a list of them, or a map.
func isTable(value hujson.ValueTrimmed) bool {
	switch v := value.(type) {
	case *hujson.Array:
		return !slices.ContainsFunc(v.Elements, func(e hujson.Value) bool { return e.Value.Kind() != '{' })
	case *hujson.Object:
		return !slices.ContainsFunc(v.Members, func(m hujson.ObjectMember) bool { return m.Value.Value.Kind() != '{' })
	}
	return false
}

// tables returns 1 for a field that is printed as tables, else 0.
func tables(f member) int { return map[bool]int{true: 1}[isTable(f.value)] }

// page prints an answer for people: plain fields as lines, and objects as tables, in their order. names selects and
// orders the fields of the answer and of the objects within it; empty selects all.
type page struct {
	*app
	names string
	above bool // something is printed
	table bool // the last thing printed is a table
}

// render prints an answer for people.
func (a *app) render(body json.RawMessage, names string) error {
	answer, err := hujson.Parse(body)
	if err != nil {
		return fmt.Errorf("unexpected answer: %w", err)
	}
	p := &page{app: a, names: names}
	fields := p.chosen(membersOf(answer.Value))
	if len(fields) > 0 && !isTable(fields[0].value) { // lines come before tables, unless a list is the answer
		slices.SortStableFunc(fields, func(x, y member) int { return tables(x) - tables(y) })
	}
	for i, f := range fields {
		list, isList := f.value.(*hujson.Array)
		line := text(f.value, math.MaxInt)
		switch {
		case isList && len(list.Elements) == 0 || f.value.Kind() == 'n':
			if i == 0 {
				p.line("no " + words(f.name))
			}
		case isList && line != "" && i == 0: // the list is the answer
			for _, one := range list.Elements {
				p.line(text(one.Value, maxText))
			}
		case f.name == "message" && line != "":
			p.line(line)
		case line != "":
			p.line(words(f.name) + ": " + line)
		default:
			p.grid(words(f.name), rowsOf("", f.value))
		}
	}
	return nil
}

// show prints a value that is not an HTTP answer, as JSON with --json, else for people.
func (a *app) show(v any, names string) error {
	if a.json {
		return a.printValue(v)
	}
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.render(body, names)
}

func (p *page) chosen(fields []member) (found []member) {
	if p.names == "" {
		return fields
	}
	for name := range strings.FieldsSeq(p.names) {
		for _, f := range fields {
			if f.name == name || strings.HasPrefix(f.name, name+".") {
				found = append(found, f)
			}
		}
	}
	return found
}

func (p *page) line(text string) {
	if p.table {
		p.printf("\n")
	}
	p.printf("%s\n", text)
	p.above, p.table = true, false
}

// row is an object in a table, and the object that holds it, if any.
type row struct {
	of     string
	fields []member
}

// rowsOf returns the objects in a list, or the values of a map of objects, each with its key as the first field.
func rowsOf(of string, value hujson.ValueTrimmed) (rows []row) {
	switch v := value.(type) {
	case *hujson.Array:
		for _, one := range v.Elements {
			rows = append(rows, row{of, membersOf(one.Value)})
		}
	case *hujson.Object:
		for _, m := range v.Members {
			rows = append(rows, row{of, append([]member{{"name", m.Name.Value}}, membersOf(m.Value.Value)...)})
		}
	}
	return rows
}

// grid prints objects as a table, with a column for each field that has a value in any of them. Lists and objects within
// them become further tables, whose first column names the object.
func (p *page) grid(title string, rows []row) {
	var header, titles []string
	cells, inner := make([]map[string]string, len(rows)), map[string][]row{}
	for i, r := range rows {
		self := strconv.Itoa(i + 1)
		if len(r.fields) > 0 && r.fields[0].value.Kind() == '"' {
			self = text(r.fields[0].value, maxText)
		}
		cells[i] = map[string]string{"of": r.of}
		if r.of != "" && i == 0 {
			header = []string{"of"}
		}
		for _, f := range p.chosen(r.fields) {
			name, cell := words(f.name), text(f.value, maxText)
			cells[i][name] = cell
			switch {
			case isTable(f.value):
				if inner[name] = append(inner[name], rowsOf(self, f.value)...); !slices.Contains(titles, name) {
					titles = append(titles, name)
				}
			case cell != "" && cell != "false" && !slices.Contains(header, name):
				header = append(header, name)
			}
		}
	}
	if len(header) > 0 {
		if p.above {
			p.printf("\n%s:\n", title)
		}
		table := make([][]string, len(cells))
		for i, c := range cells {
			for _, name := range header {
				table[i] = append(table[i], c[name])
			}
		}
		p.app.table(header, table)
		p.above, p.table = true, true
	}
	for _, title := range titles {
		p.grid(title, inner[title])
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

// words returns a name of the API with spaces between its words.
func words(name string) string { return strings.NewReplacer("_", " ", ".", " ").Replace(name) }
