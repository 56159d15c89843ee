package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"golang.org/x/term"
)

// maxText is the number of characters of a text that a table shows; --json has the rest.
const maxText = 120

// table prints rows under their headers, aligned with spaces only, so that people can read it and cut, sort and awk can
// process it. On a terminal it cuts lines at the width; elsewhere lines are complete, because a program may read them.
func (a *app) table(header []string, rows [][]string) {
	width := math.MaxInt
	if f, ok := a.out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 { // else it is no terminal, or one of no known width
			width = columns
		}
	}
	var aligned strings.Builder
	w := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		for _, cell := range row {
			fmt.Fprint(w, clean(cell)+"\t")
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // a Builder takes everything
	for line := range strings.Lines(aligned.String()) {
		a.printf("%s\n", truncated(strings.TrimRight(line, " \n"), width))
	}
}

// clean makes third-party text safe to print: one line, without characters that control a terminal or change the order
// of the text.
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

func truncated(s string, most int) string {
	if r := []rune(s); len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	return s
}

// number prints a score the way the tables show it.
func number(x float64) string {
	return strconv.FormatFloat(x, 'f', 4, 64)
}

// printBody prints the body of an HTTP answer unchanged.
func (a *app) printBody(body json.RawMessage) error {
	if len(body) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(a.out, "%s\n", bytes.TrimRight(body, "\n"))
	return err
}

// printValue prints a value that is not an HTTP answer.
func (a *app) printValue(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }
