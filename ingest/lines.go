package ingest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"waymark/internal/codec"
)

// maxLine is the maximum length of a line in bytes; a longer line is dropped.
const maxLine = 1 << 20

const bom = "\uFEFF"

// line is one line of a file without its line ending. data is valid until the next line is read.
type line struct {
	number  int
	data    []byte
	cut     bool   // the file ends here without a newline
	problem string // reason why the line cannot be used
}

// eachLine calls visit for every line that is not blank, until visit returns false.
func eachLine(r io.Reader, visit func(line) bool) error {
	return eachLineUpTo(maxLine, 1, bufio.NewReaderSize(r, 64<<10), visit)
}

// eachLineUpTo is [eachLine] for lines of at most most bytes, numbered from number.
func eachLineUpTo(most, number int, b *bufio.Reader, visit func(line) bool) error {
	var data []byte
	for ; ; number++ {
		data = data[:0]
		tooLong := false
		var err error
		for {
			var part []byte
			part, err = b.ReadSlice('\n')
			if len(data)+len(part) > most+2 { // with the line ending, \r\n
				tooLong = true
			} else {
				data = append(data, part...)
			}
			if err != bufio.ErrBufferFull {
				break
			}
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("line %d: %w", number, err)
		}
		l := line{number: number, cut: err == io.EOF, data: data}
		if number == 1 {
			l.data = bytes.TrimPrefix(l.data, []byte(bom))
		}
		l.data = bytes.TrimRight(l.data, "\r\n")
		switch {
		case tooLong || len(l.data) > most:
			l.problem = fmt.Sprintf("line is longer than %d bytes", most)
		case !utf8.Valid(l.data):
			l.problem = problemIn(l.data)
		}
		if (l.problem != "" || len(bytes.Trim(l.data, codec.Space)) > 0) && !visit(l) {
			return nil
		}
		if err == io.EOF {
			return nil
		}
	}
}

// decode reads the line as JSON of another program into v. The error text is suitable as the reason for dropping the
// line.
func (l line) decode(v any) error { return l.decodeBy(codec.UnmarshalForeign, v) }

// decodeOwn reads the line as the HTTP interface reads a body: unknown fields are errors.
func (l line) decodeOwn(v any) error { return l.decodeBy(codec.Unmarshal, v) }

func (l line) decodeBy(decode func([]byte, any) error, v any) error {
	if l.problem != "" {
		return errors.New(l.problem)
	}
	err := decode(l.data, v)
	var strict *codec.Error
	if errors.As(err, &strict) && strict.Cut && l.cut {
		return errCutOff
	}
	return err
}

// problemIn returns the reason why the value at the start of a text cannot be read.
func problemIn(text []byte) string {
	err := codec.CheckFile(text)
	var strict *codec.Error
	if errors.As(err, &strict) && strict.Cut {
		err = errCutOff
	}
	return cmp.Or(err, errors.New("malformed JSON")).Error()
}

var errCutOff = errors.New("the file is cut off in this line")

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // callers pass plain, normalised data only
	}
	return b
}
