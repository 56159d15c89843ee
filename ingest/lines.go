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

// maxLine is the longest line that is read, in bytes; a longer one is dropped.
const maxLine = 1 << 20

const bom = "\uFEFF"

// line of a file, without its end. The bytes are valid until the next line is read.
type line struct {
	number  int
	data    []byte
	cut     bool  // the file ends without a newline here
	problem error // why it cannot be used
}

// eachLine calls visit for every line that is not blank, while somebody reads.
func (in *input) eachLine(r io.Reader, visit func(line)) error {
	return in.eachLineUpTo(maxLine, 1, bufio.NewReaderSize(r, 64<<10), visit)
}

// eachLineUpTo is [input.eachLine] for lines of at most so many bytes, numbered from a number.
func (in *input) eachLineUpTo(most, number int, b *bufio.Reader, visit func(line)) error {
	var data []byte
	for end := false; !end && in.more(); number++ {
		data = data[:0]
		tooLong := false
		var err error
		for {
			var part []byte
			part, err = b.ReadSlice('\n')
			if len(data)+len(part) > most+2 { // with its end, \r\n
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
		end = err == io.EOF
		l := line{number: number, cut: end, data: data}
		if number == 1 {
			l.data = bytes.TrimPrefix(l.data, []byte(bom))
		}
		l.data = bytes.TrimRight(l.data, "\r\n")
		switch {
		case tooLong || len(l.data) > most:
			l.problem = fmt.Errorf("line is longer than %d bytes", most)
		case !utf8.Valid(l.data):
			l.problem = problemIn(l.data)
		}
		if l.problem != nil || len(bytes.Trim(l.data, codec.Space)) > 0 {
			visit(l)
		}
	}
	return nil
}

// decode reads the line as JSON of another program into v. The error reads as a reason to drop the line.
func (l line) decode(v any) error { return l.decodeBy(codec.UnmarshalForeign, v) }

// decodeOwn reads the line as the HTTP interface reads a body: unknown fields are errors.
func (l line) decodeOwn(v any) error { return l.decodeBy(codec.Unmarshal, v) }

func (l line) decodeBy(decode func([]byte, any) error, v any) error {
	if l.problem != nil {
		return l.problem
	}
	return cutOff(decode(l.data, v), l.cut)
}

// problemIn says why the value at the start of a text cannot be read.
func problemIn(text []byte) error {
	return cmp.Or(cutOff(codec.CheckFile(text), true), errors.New("malformed JSON"))
}

// cutOff is an error of reading a value, of which more may have stood in the file where it is the last.
func cutOff(err error, last bool) error {
	var strict *codec.Error
	if errors.As(err, &strict) && strict.Cut && last {
		return errCutOff
	}
	return err
}

var errCutOff = errors.New("the file is cut off in this line")

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only plain data comes here, after it was normalised
	}
	return b
}
