package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"waymark/internal/bounded"
	"waymark/internal/codec"
)

// Limits in bytes of a line of our own formats, and of a line or document of another program.
const (
	maxLine     = 1 << 20
	maxDocument = bounded.Document
)

var errTooLarge = errors.New("file is larger than 64 MiB")

const bom = "\uFEFF"

// line is one line of a file without its line ending, or a JSON value over several lines. data is valid until the next
// line is read.
type line struct {
	number  int
	data    []byte
	problem error // reason why the line cannot be used
}

// eachLine calls visit for every line that is not blank, until visit returns false. A line of more than most bytes has
// no data.
func eachLine(r io.Reader, most int, visit func(line) bool) error {
	b := bufio.NewReaderSize(r, 64<<10)
	var data []byte
	for number := 1; ; number++ {
		l, err := line{number: number}, bufio.ErrBufferFull
		for data = data[:0]; err == bufio.ErrBufferFull; {
			var part []byte
			if part, err = b.ReadSlice('\n'); len(data)+len(bytes.TrimRight(part, "\r\n")) > most {
				l.problem = fmt.Errorf("line is longer than %d bytes", most)
			} else if l.problem == nil {
				data = append(data, part...)
			}
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if number == 1 {
			data = bytes.TrimPrefix(data, []byte(bom))
		}
		l.data = bytes.Trim(data, codec.Space)
		if (l.problem != nil || len(l.data) > 0) && !visit(l) || err == io.EOF {
			return nil
		}
	}
}

// eachValue calls visit for every JSON value of a file, until visit returns false. A file has one value a line if the
// first or the second line is a JSON value. Any other file is one value or several in sequence, each over any number of
// lines.
func eachValue(r io.Reader, visit func(line) bool) error {
	limited := &io.LimitedReader{R: r, N: maxDocument + 1}
	b := bufio.NewReaderSize(limited, 64<<10)
	var head []byte
	var err error
	for lines := 0; lines < 2 && err == nil; {
		var l []byte
		l, err = b.ReadBytes('\n')
		head = append(head, l...)
		switch l = bytes.Trim(bytes.TrimPrefix(l, []byte(bom)), codec.Space); {
		case len(l) == 1: // the bracket of a list or object that is not alone in its line
			lines = 2
		case json.Valid(l):
			limited.N = math.MaxInt64
			return eachLine(io.MultiReader(bytes.NewReader(head), b), maxDocument, visit)
		case len(l) > 0:
			lines++
		}
	}
	if err != nil && err != io.EOF {
		return err
	}
	text, err := io.ReadAll(io.MultiReader(bytes.NewReader(head), b))
	switch {
	case err != nil:
		return err
	case limited.N <= 0:
		return errTooLarge
	}
	text = bytes.TrimPrefix(text, []byte(bom))
	d := json.NewDecoder(bytes.NewReader(text))
	for number, counted := 1, 0; d.More(); {
		begin := int(d.InputOffset())
		begin += len(text[begin:]) - len(bytes.TrimLeft(text[begin:], codec.Space))
		number, counted = number+bytes.Count(text[counted:begin], []byte("\n")), begin
		var v json.RawMessage
		if d.Decode(&v) != nil {
			visit(line{number: number, problem: codec.CheckFile(text[begin:])})
			return nil
		}
		if !visit(line{number: number, data: v}) {
			return nil
		}
	}
	return nil
}

// decode reads the line as JSON of another program into v. The error is suitable as the reason for dropping the line.
func (l line) decode(v any) error { return l.decodeBy(codec.UnmarshalForeign, v) }

// decodeOwn reads the line as the HTTP interface reads a body: unknown fields are errors.
func (l line) decodeOwn(v any) error { return l.decodeBy(codec.Unmarshal, v) }

func (l line) decodeBy(decode func([]byte, any) error, v any) error {
	if l.problem != nil {
		return l.problem
	}
	return decode(l.data, v)
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // callers pass plain, normalised data only
	}
	return b
}
