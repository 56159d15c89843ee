package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math"
)

// eachValue calls visit for every JSON value of a file, while somebody reads. A file whose first
// line is a value has one a line, and a bad line loses only itself; any other file is one value, or
// several one after the other, over as many lines as they take. The elements of a list that is the
// whole file are visited one by one if apart is set.
func (in *input) eachValue(r io.Reader, apart bool, visit func(line)) error {
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
		each := func(l line) {
			var list []json.RawMessage
			if !apart || !bytes.HasPrefix(l.data, []byte("[")) || l.problem != nil || json.Unmarshal(l.data, &list) != nil {
				visit(l)
			}
			for _, v := range list {
				visit(line{number: l.number, data: v})
			}
		}
		each(line{number: number, data: first})
		return in.eachLineUpTo(maxTraceLine, number+1, b, each)
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
	for in.more() && d.More() {
		var v json.RawMessage
		err := d.Decode(&v)
		switch end := int(d.InputOffset()); {
		case err == nil:
			visit(line{number: lineAt(end - len(v)), data: v})
		case !inList && end < len(head): // lines, of which the first is damaged
			return in.eachLineUpTo(maxTraceLine, 1, bufio.NewReader(bytes.NewReader(text)), visit)
		default:
			visit(line{number: lineAt(len(text)), problem: problemIn(text[end:])})
			return nil
		}
	}
	return nil
}
