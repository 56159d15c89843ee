package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// eachValue calls visit for every JSON value of a file, until visit reports false. A file whose first
// line is a value has one a line, and a bad line loses only itself; any other file is one value, or
// several one after the other, over as many lines as they take. The elements of a list that is the
// whole file are visited one by one if apart is set.
func eachValue(r io.Reader, apart bool, visit func(line) bool) error {
	limited := &io.LimitedReader{R: r, N: maxDocument + 1}
	b := bufio.NewReaderSize(limited, 64<<10)
	var head []byte
	number := 0
	for len(bytes.TrimSpace(head)) == 0 {
		l, err := b.ReadBytes('\n')
		head = append(head, l...)
		number++
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if limited.N <= 0 {
		return errTooLarge
	}
	head = bytes.TrimPrefix(head, []byte(bom))
	if first := bytes.TrimSpace(head); json.Valid(first) {
		limited.N = 1<<63 - 1
		more := true
		for _, l := range elements(line{number: number, data: first}, apart) {
			if more = more && visit(l); !more {
				return nil
			}
		}
		return eachLineUpTo(maxTraceLine, number+1, b, func(l line) bool {
			for _, l := range elements(l, apart) {
				if !visit(l) {
					return false
				}
			}
			return true
		})
	}
	rest, err := io.ReadAll(b)
	if err != nil {
		return err
	}
	if limited.N <= 0 {
		return errTooLarge
	}
	text := append(head, rest...)
	d := documentReader{text: text, apart: apart, visit: visit}
	if ok := d.read(); ok {
		return nil
	}
	return eachLineUpTo(maxTraceLine, 1, bufio.NewReader(bytes.NewReader(text)), visit)
}

// elements of a line that is a list, else the line itself.
func elements(l line, apart bool) []line {
	var list []json.RawMessage
	if !apart || l.problem != "" || len(l.data) == 0 || l.data[0] != '[' || json.Unmarshal(l.data, &list) != nil {
		return []line{l}
	}
	lines := make([]line, len(list))
	for i, v := range list {
		lines[i] = line{number: l.number, data: v}
	}
	return lines
}

type documentReader struct {
	text        []byte
	apart       bool
	visit       func(line) bool
	from, lines int
}

// read visits the values of the text, and reports false if not even the first one can be read.
func (r *documentReader) read() bool {
	d := json.NewDecoder(bytes.NewReader(r.text))
	if first := bytes.TrimSpace(r.text); r.apart && len(first) > 0 && first[0] == '[' {
		if _, err := d.Token(); err != nil {
			return false
		}
		for d.More() {
			if ok, more := r.value(d, true); !ok || !more {
				return true
			}
		}
		return true
	}
	for n := 0; ; n++ {
		ok, more := r.value(d, n > 0)
		if n == 0 && !ok {
			return false
		}
		if !ok || !more {
			return true
		}
	}
}

// value visits the next value; a bad one is visited as a problem, if it is to be told.
func (r *documentReader) value(d *json.Decoder, tell bool) (ok, more bool) {
	var v json.RawMessage
	err := d.Decode(&v)
	if err == io.EOF || err != nil && !tell {
		return false, false
	}
	if err != nil {
		r.visit(line{number: r.lineAt(len(r.text)), problem: problemIn(r.text[d.InputOffset():])})
		return false, false
	}
	return true, r.visit(line{number: r.lineAt(int(d.InputOffset()) - len(v)), data: v})
}

func (r *documentReader) lineAt(at int) int {
	r.lines += bytes.Count(r.text[r.from:at], []byte("\n"))
	r.from = at
	return r.lines + 1
}
