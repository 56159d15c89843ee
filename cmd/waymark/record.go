package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"waymark/internal/bounded"
	"waymark/internal/codec"
	"waymark/server"
)

// refusedInput returns the error of sending the content of a file. If the server rejected the content, it is a negative
// result; but if a judge was asked for and none is configured, it is wrong usage.
func refusedInput(name string, err error) error {
	err = fmt.Errorf("%s: %w", name, err)
	var p *problem
	switch {
	case !errors.As(err, &p):
	case slices.ContainsFunc(p.Errors, func(e *server.ProblemPart) bool { return e.Location == "body.judge" }):
		return usageError{err}
	case slices.Contains([]int{http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}, p.Status):
		return rejected{err}
	}
	return err
}

// named returns the name of an input in an error.
func named(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// byteOrderMark is the mark with which Windows begins texts in UTF-8.
const byteOrderMark = "\uFEFF"

// openInput opens a file, or standard input for "-", and skips a byte order mark.
func (a *app) openInput(path string, limit int64) (io.ReadCloser, error) {
	in := io.NopCloser(bounded.New(a.ctx, a.in, named(path), limit))
	if path != "-" {
		f, err := bounded.Open(a.ctx, path, limit)
		if err != nil {
			return nil, err
		}
		in = f
	}
	r := bufio.NewReader(in)
	if head, _ := r.Peek(len(byteOrderMark)); string(head) == byteOrderMark {
		_, _ = r.Discard(len(byteOrderMark))
	}
	return struct {
		io.Reader
		io.Closer
	}{r, in}, nil
}

// readInput reads a document from a file, or from standard input for "-".
func (a *app) readInput(path string) ([]byte, error) {
	in, err := a.openInput(path, bounded.Document)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(in)
}

// readFile reads a document from a file.
func (a *app) readFile(path string) ([]byte, error) {
	return bounded.ReadFile(a.ctx, path, bounded.Document)
}

// jsonInput reads a file, or standard input, and checks only that it is JSON; the server checks the rest.
func (a *app) jsonInput(path string) (json.RawMessage, error) {
	text, err := a.readInput(path)
	return text, cmp.Or(err, checkJSON(text, path))
}

func checkJSON(text []byte, path string) error {
	if err := codec.CheckFile(text); err != nil {
		return rejected{fmt.Errorf("%s is not JSON: %w", named(path), err)}
	}
	return nil
}

// jsonLines reads the beginning of the input, and reports whether the input is one JSON object a line, however long the
// lines, and not a single value. rest is the whole input.
func jsonLines(in io.Reader) (rest io.Reader, lines bool, err error) {
	r, head, first := bufio.NewReaderSize(in, 1<<20), []byte{}, []byte{}
	for err == nil && len(first) == 0 { // blank lines stay, for the numbers of lines
		first, err = r.ReadSlice('\n')
		head = append(head, first...)
		first = bytes.TrimSpace(first)
	}
	if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
		return nil, false, err
	}
	after, _ := r.Peek(1)
	lines = bytes.HasPrefix(first, []byte("{")) && (err == bufio.ErrBufferFull || json.Valid(first) || string(after) == "{")
	return io.MultiReader(bytes.NewReader(head), r), lines, nil
}
