package main

import (
	"fmt"
	"strings"
)

// A line of a text file, with its place for messages.
type line struct {
	place    string // file:number
	indented bool
	words    []string
	text     string // without indentation
}

func (l line) errorf(format string, args ...any) error {
	return fmt.Errorf(l.place+": "+format, args...)
}

// after returns the text behind the first n words.
func (l line) after(n int) string {
	s := l.text
	for range n {
		_, s, _ = strings.Cut(s, " ")
		s = strings.TrimLeft(s, " ")
	}
	return s
}

// readLines returns the lines of an embedded text, without comments and empty lines.
func readLines(name string) ([]line, error) {
	data, err := texts.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var lines []line
	n := 0
	for s := range strings.Lines(string(data)) {
		n++
		text := strings.TrimSpace(s)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		lines = append(lines, line{
			place:    fmt.Sprintf("%s:%d", name, n),
			indented: strings.HasPrefix(s, " "),
			words:    strings.Fields(text),
			text:     text,
		})
	}
	return lines, nil
}
