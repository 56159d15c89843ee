package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// maxText is how much of a description a table shows; --json has the rest.
const maxText = 72

// columns writes rows under their headers, aligned with spaces and nothing else, so that people can
// read it and cut, sort and awk can use it.
func columns(w io.Writer, header []string, rows [][]string) {
	t := table.NewWriter()
	style := table.Style{Name: "plain", Box: table.BoxStyle{PaddingRight: "  ", MiddleVertical: ""}, Format: table.FormatOptions{Header: text.FormatDefault}}
	t.SetStyle(style)
	head := make(table.Row, len(header))
	for i, h := range header {
		head[i] = h
	}
	t.AppendHeader(head)
	for _, r := range rows {
		row := make(table.Row, len(r))
		for i, cell := range r {
			row[i] = clean(cell)
		}
		t.AppendRow(row)
	}
	for line := range strings.SplitSeq(t.Render(), "\n") {
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// clean makes text of others fit to print: one line, without characters that steer a terminal or
// reorder what is read.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
}

// short is clean text of at most maxText characters.
func short(s string) string {
	s = clean(s)
	if r := []rune(s); len(r) > maxText {
		s = string(r[:maxText-1]) + "…"
	}
	return s
}

// number prints a score the way the tables show it.
func number(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }

// printBody prints the body of an HTTP answer as it came.
func (a *app) printBody(body json.RawMessage) error {
	if len(body) == 0 {
		return nil
	}
	if body[len(body)-1] != '\n' {
		body = append(body[:len(body):len(body)], '\n')
	}
	_, err := a.out.Write(body)
	return err
}

// printValue prints what has no HTTP answer behind it.
func (a *app) printValue(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

// list joins ids for a cell.
func list(ids []string) string {
	if len(ids) == 0 {
		return "-"
	}
	return strings.Join(ids, ", ")
}
