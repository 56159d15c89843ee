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
)

// refusedInput returns the error of sending the content of a file: a negative result if the server rejected the content.
func refusedInput(name string, err error) error {
	err = fmt.Errorf("%s: %w", name, err)
	if p, ok := errors.AsType[*problem](err); ok && slices.Contains([]int{http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}, p.Status) {
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

// input is a file or standard input, without a byte order mark.
type input struct {
	*bufio.Reader
	io.Closer
}

// openInput opens a file, or standard input for "-".
func (a *app) openInput(path string, limit int64) (in input, err error) {
	file := io.NopCloser(bounded.New(a.ctx, a.in, named(path), limit))
	if path != "-" {
		if file, err = bounded.Open(a.ctx, path, limit); err != nil {
			return in, err
		}
	}
	in = input{bufio.NewReaderSize(file, 1<<20), file}
	if head, _ := in.Peek(len(byteOrderMark)); string(head) == byteOrderMark {
		_, _ = in.Discard(len(byteOrderMark))
	}
	return in, nil
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

// jsonOrLines returns the content of a file: a document, or a reader if the file has one JSON object a line.
func (a *app) jsonOrLines(path string) (any, error) {
	in, err := a.openInput(path, bounded.Transfer)
	if err != nil {
		return nil, err
	}
	head, err := in.Peek(in.Size())
	first, next, whole := bytes.Cut(bytes.TrimLeft(head, " \r\n\t"), []byte("\n"))
	if bytes.HasPrefix(first, []byte("{")) && (json.Valid(first) || bytes.HasPrefix(next, []byte("{")) || !whole && err == nil) {
		return in, nil // its sender closes it
	}
	defer in.Close()
	if err != nil && err != io.EOF {
		return nil, err
	}
	text, err := bounded.ReadAll(a.ctx, in, named(path), bounded.Document)
	return json.RawMessage(text), cmp.Or(err, checkJSON(text, path))
}
