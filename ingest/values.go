package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math"
)

// eachValue calls visit for every JSON value of a file, until visit returns false. If the first line is
// a JSON value, the file has one value per line, and a bad line is dropped alone. Any other file is one
// value or several in sequence, each over any number of lines. If apart is set, the elements of a list
// that is the whole file or line are visited one by one.
func eachValue(r io.Reader, apart bool, visit func(line) bool) error {
	limited := &io.LimitedReader{R: r, N: maxDocument + 1}
	b := bufio.NewReaderSize(limited, 64<<10)
	var head []byte
	number := 0
	for err := error(nil); err == nil && len(bytes.TrimSpace(head)) == 0; number++ {
		var l []byte
		if l, err = b.ReadBytes('\n'); err != nil && err != io.EOF {
			return err
		}
		head = append(head, l...)
	}
	head = bytes.TrimPrefix(head, []byte(bom))
	if first := bytes.TrimSpace(head); limited.N > 0 && json.Valid(first) {
		limited.N = math.MaxInt64
		each := func(l line) bool {
			for _, l := range elements(l, apart) {
				if !visit(l) {
					return false
				}
			}
			return true
		}
		if !each(line{number: number, data: first}) {
			return nil
		}
		return eachLineUpTo(maxTraceLine, number+1, b, each)
	}
	rest, err := io.ReadAll(b)
	if err != nil {
		return err
	}
	if limited.N <= 0 {
		return errTooLarge
	}
	text := append(head, rest...)
	d := json.NewDecoder(bytes.NewReader(text))
	inList := apart && bytes.HasPrefix(bytes.TrimSpace(text), []byte("["))
	if inList {
		_, _ = d.Token()
	}
	counted, line1 := 0, 1
	lineAt := func(at int) int {
		line1 += bytes.Count(text[counted:at], []byte("\n"))
		counted = at
		return line1
	}
	end := 0 // end of the previous value
	for first := true; d.More(); first = false {
		var v json.RawMessage
		switch err := d.Decode(&v); {
		case err != nil && !inList && end < len(head): // the file has one value per line, and the first line is damaged
			if first {
				number, head = 0, nil
			} else if !visit(line{number: number, problem: problemIn(text[end:])}) {
				return nil
			}
			return eachLineUpTo(maxTraceLine, number+1, bufio.NewReader(bytes.NewReader(text[len(head):])), visit)
		case err != nil:
			visit(line{number: lineAt(len(text)), problem: problemIn(text[d.InputOffset():])})
			return nil
		case !visit(line{number: lineAt(int(d.InputOffset()) - len(v)), data: v}):
			return nil
		}
		end = int(d.InputOffset())
	}
	return nil
}

// elements returns the elements of a line that is a list if apart is set, else the line itself.
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
