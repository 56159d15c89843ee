package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// maxText is how much of a description a table shows; --json has the rest.
const maxText = 120

// columns writes rows under their headers, aligned with spaces and nothing else, so that people can read it and cut, sort
// and awk can use it. Lines are cut at the width; 0: they are not.
func columns(w io.Writer, width int, header []string, rows [][]string) {
	t := table.NewWriter()
	t.SetStyle(table.Style{Name: "plain", Format: table.FormatOptions{Header: text.FormatDefault}, Size: table.SizeOptions{WidthMax: width},
		Box: table.BoxStyle{PaddingRight: "  ", UnfinishedRow: "…"}})
	row := func(cells []string) (row table.Row) {
		for _, cell := range cells {
			row = append(row, clean(cell))
		}
		return row
	}
	t.AppendHeader(row(header))
	for _, r := range rows {
		t.AppendRow(row(r))
	}
	for line := range strings.SplitSeq(t.Render(), "\n") {
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// table prints rows, on a terminal in lines that fit it: elsewhere a program may read them.
func (a *app) table(header []string, rows [][]string) {
	width := 0
	if f, ok := a.out.(*os.File); ok {
		width, _, _ = term.GetSize(int(f.Fd())) // no terminal has no width
	}
	columns(a.out, width, header, rows)
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
func short(s string) string { return truncated(clean(s), maxText) }

func truncated(s string, most int) string {
	if r := []rune(s); len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	return s
}

// number prints a score the way the tables show it.
func number(x float64) string {
	s := strconv.FormatFloat(x, 'f', 4, 64)
	if s == "-0.0000" {
		return s[1:]
	}
	return s
}

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
