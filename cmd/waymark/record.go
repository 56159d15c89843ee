package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"waymark/cmd/waymark/internal/client"
	"waymark/internal/bounded"
)

// refusedInput is err, as an answer of "no" where the server refused what was sent.
func refusedInput(name string, err error) error {
	err = fmt.Errorf("%s: %w", name, err)
	var p *client.Problem
	if errors.As(err, &p) {
		switch p.Status {
		case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
			return rejected{err}
		}
	}
	return err
}

// openInput opens a file, or standard input for "-".
func (a *app) openInput(path string, limit int64) (io.ReadCloser, string, error) {
	if path == "-" {
		return pastBOM(io.NopCloser(bounded.New(a.ctx, a.in, named(path), limit))), named(path), nil
	}
	f, err := bounded.Open(a.ctx, path, limit)
	if err != nil {
		return nil, path, err
	}
	return pastBOM(f), path, nil
}

// readInput reads a document from a file, or from standard input for "-".
func (a *app) readInput(path string) ([]byte, error) {
	in, _, err := a.openInput(path, bounded.Document)
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

// byteOrderMark is what Windows puts before texts in UTF-8.
const byteOrderMark = "\uFEFF"

// pastBOM leaves out a mark at the beginning of the input.
func pastBOM(in io.ReadCloser) io.ReadCloser {
	r := bufio.NewReader(in)
	if head, _ := r.Peek(len(byteOrderMark)); string(head) == byteOrderMark {
		_, _ = r.Discard(len(byteOrderMark))
	}
	return struct {
		io.Reader
		io.Closer
	}{r, in}
}

// episodeLines gives the input as one object a line. Input that is so already passes through as it
// is, however long, and keeps its line numbers; a JSON array or an object over several lines is
// taken apart here, and a "line" is then the position in the array.
func episodeLines(ctx context.Context, in io.Reader, name string) (io.Reader, error) {
	r := bufio.NewReaderSize(bounded.New(ctx, in, name, bounded.Document), 64<<10)
	var head bytes.Buffer // what was read to look at it
	for {
		line, err := r.ReadBytes('\n')
		head.Write(line)
		line = bytes.TrimSpace(line)
		switch {
		case err != nil && err != io.EOF:
			return nil, err
		case len(line) == 0 && err == io.EOF:
			return nil, fmt.Errorf("%s holds no episode", name)
		case len(line) == 0:
			continue
		case line[0] != '[' && (json.Valid(line) || err == io.EOF):
			return io.MultiReader(&head, io.LimitReader(r, int64(r.Buffered())), in), nil
		}
		if _, err := head.ReadFrom(r); err != nil {
			return nil, err
		}
		break
	}
	whole := bytes.TrimSpace(head.Bytes())
	if !json.Valid(whole) {
		if whole[0] == '[' {
			return nil, fmt.Errorf("%s is neither a whole JSON array nor one object a line: %w", name, jsonAt(head.Bytes()))
		}
		return &head, nil // the server says which lines are wrong
	}
	values := []json.RawMessage{whole}
	if whole[0] == '[' {
		if err := json.Unmarshal(whole, &values); err != nil {
			return nil, err
		}
	}
	var lines bytes.Buffer
	for _, v := range values {
		if err := json.Compact(&lines, v); err != nil {
			return nil, err
		}
		lines.WriteByte('\n')
	}
	return &lines, nil
}
