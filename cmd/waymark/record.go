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

// refusedInput is an error of sending what a file holds: an answer of "no" where the server refused it, but for a judge
// that is asked for and not configured.
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

// named is what an input is called in an error.
func named(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// byteOrderMark is what Windows puts before texts in UTF-8.
const byteOrderMark = "\uFEFF"

// openInput opens a file, or standard input for "-", after the mark that it may begin with.
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

// jsonInput reads a file, or standard input, that the server will check.
func (a *app) jsonInput(path string) (json.RawMessage, error) {
	text, err := a.readInput(path)
	return text, cmp.Or(err, checkJSON(text, path))
}

func checkJSON(text []byte, path string) error {
	if err := codec.CheckFile(text); err != nil {
		return rejected{fmt.Errorf("%s is no JSON: %w", named(path), err)}
	}
	return nil
}

// jsonLines reads the beginning of the input, and says whether it is one JSON object a line, however long; else it is one
// value.
func jsonLines(in io.Reader) (rest io.Reader, lines bool, err error) {
	r, head, first := bufio.NewReaderSize(in, 1<<20), []byte{}, []byte{}
	for err == nil && len(first) == 0 { // blank lines count
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
