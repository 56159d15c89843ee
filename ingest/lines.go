package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

// MaxLine is the longest line that is read, in bytes; a longer one is dropped.
const MaxLine = 1 << 20

const bom = "\uFEFF"

// line of a file, without its end. The bytes are valid until the next line is read.
type line struct {
	number  int
	data    []byte
	cut     bool   // the file ends without a newline here
	problem string // why it cannot be used
}

// eachLine calls visit for every line that is not blank, until visit reports false.
func eachLine(r io.Reader, visit func(line) bool) error {
	return eachLineUpTo(MaxLine, 1, bufio.NewReaderSize(r, 64<<10), visit)
}

// eachLineUpTo is [eachLine] for lines of at most so many bytes, numbered from a number.
func eachLineUpTo(most, number int, b *bufio.Reader, visit func(line) bool) error {
	var data []byte
	for ; ; number++ {
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
		l := line{number: number, cut: err == io.EOF, data: data}
		if number == 1 {
			l.data = bytes.TrimPrefix(l.data, []byte(bom))
		}
		l.data = bytes.TrimRight(l.data, "\r\n")
		switch {
		case tooLong || len(l.data) > most:
			l.problem = fmt.Sprintf("line is longer than %d bytes", most)
		case !utf8.Valid(l.data):
			l.problem = "line is not valid UTF-8"
		}
		if (l.problem != "" || len(bytes.TrimSpace(l.data)) > 0) && !visit(l) {
			return nil
		}
		if err == io.EOF {
			return nil
		}
	}
}

// decode reads the line as JSON into v. The error reads as a reason to drop the line.
func (l line) decode(v any) error {
	if l.problem != "" {
		return errors.New(l.problem)
	}
	err := json.Unmarshal(l.data, v)
	if err != nil && l.cut && !json.Valid(l.data) {
		return errors.New("the file is cut off in this line")
	}
	return readable(err)
}

// readable words an error of encoding/json without the names of our types.
func readable(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		want := "a " + wrong.Type.Kind().String()
		switch wrong.Type.Kind() {
		case reflect.Slice:
			want = "a list"
		case reflect.Struct, reflect.Map, reflect.Pointer:
			want = "an object"
		case reflect.Int64, reflect.Int, reflect.Float64:
			want = "a number"
		}
		if wrong.Field == "" {
			return fmt.Errorf("is a JSON %s, want %s", wrong.Value, want)
		}
		field := strings.TrimPrefix(wrong.Field, "Episode.") // embedded
		return fmt.Errorf("field %q is a %s, want %s", field, wrong.Value, want)
	}
	if err != nil {
		return fmt.Errorf("not JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only plain data comes here, after it was normalised
	}
	return b
}
