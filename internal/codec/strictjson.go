package codec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits of one value.
const (
	MaxDepth = 64
	MaxArray = 10_000
)

// Space is the white space of JSON. Other white space of Unicode is part of a value, or an error.
const Space = " \t\r\n"

// Error is the reason why an input is rejected. Place is a JSON pointer into the input.
type Error struct {
	Syntax  bool // the text is not acceptable JSON; otherwise the value does not fit the type
	Cut     bool // the text ends before the value does
	Place   string
	Reason  string
	Unknown string   // the name of a field that the type does not have
	Known   []string // the fields that it has, beside Unknown
	Err     error    // of the UnmarshalJSON method of a type; nil: none
}

func (e *Error) Error() string {
	if e.Place == "" {
		return e.Reason
	}
	return e.Place + ": " + e.Reason
}

func (e *Error) Unwrap() error { return e.Err }

// Check reports whether data is one JSON value of valid UTF-8, without duplicate names, at most MaxDepth levels deep
// and with at most MaxArray elements in any array.
func Check(data []byte) error { return check(data, MaxArray) }

// CheckFile is [Check] without a limit on arrays: a file may hold a catalog of any size.
func CheckFile(data []byte) error { return check(data, math.MaxInt64) }

// check reads tokens without building values, so its memory does not grow with the data.
func check(data []byte, maxArray int64) error {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	for values := 0; ; {
		if dec.StackDepth() == 0 && values > 0 {
			if _, err := dec.ReadToken(); err != io.EOF {
				return &Error{Syntax: true, Reason: fmt.Sprintf("data after the end of the JSON value (byte %d)", dec.InputOffset())}
			}
			return nil
		}
		token, err := dec.ReadToken()
		if err != nil {
			return syntaxError(dec, err)
		}
		depth := dec.StackDepth()
		if kind := token.Kind(); (kind == '{' || kind == '[') && depth > MaxDepth {
			return &Error{Syntax: true, Place: string(dec.StackPointer()), Reason: fmt.Sprintf("nested more than %d levels deep", MaxDepth)}
		}
		if kind, n := dec.StackIndex(depth); kind == '[' && n > maxArray {
			return &Error{Syntax: true, Place: string(dec.StackPointer()), Reason: fmt.Sprintf("an array has more than %d elements", maxArray)}
		}
		if depth == 0 {
			values++
		}
	}
}

// syntaxError distinguishes a value that ends early, which may continue, from a malformed one.
func syntaxError(dec *jsontext.Decoder, err error) error {
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Syntax: true, Cut: true, Reason: fmt.Sprintf("the JSON value ends early (byte %d)", dec.InputOffset())}
	case errors.As(err, &syntactic):
		reason := "malformed"
		if syntactic.Err != nil {
			reason = syntactic.Err.Error()
		}
		if strings.HasPrefix(reason, "invalid surrogate pair") { // the rest quotes what follows, which depends on the buffer
			reason = "invalid surrogate pair in string"
		}
		return &Error{Syntax: true, Place: string(syntactic.JSONPointer), Reason: fmt.Sprintf("%s (byte %d)", reason, syntactic.ByteOffset)}
	}
	return &Error{Syntax: true, Reason: "malformed JSON"}
}

// Decode reads one value of type T and nothing else. A field that T does not have, in exactly this spelling, is an error.
func Decode[T any](data []byte) (T, error) {
	var v T
	err := Unmarshal(data, &v)
	return v, err
}

// Unmarshal is [Decode] into the value that v points to.
func Unmarshal(data []byte, v any) error {
	if err := Check(data); err != nil {
		return err
	}
	return Fit(data, v, json.RejectUnknownMembers(true))
}

// UnmarshalForeign reads a document of another program, which may have fields beyond those of the type, and numbers and
// booleans in place of texts, such as a port in the environment of a process.
func UnmarshalForeign(data []byte, v any) error {
	if err := CheckFile(data); err != nil {
		return err
	}
	return Fit(data, v, json.WithUnmarshalers(json.UnmarshalFromFunc(scalarText)))
}

func scalarText(d *jsontext.Decoder, s *string) error {
	if kind := d.PeekKind(); kind != '0' && kind != 't' && kind != 'f' {
		return errors.ErrUnsupported
	}
	text, err := d.ReadValue()
	*s = string(text)
	return err
}

// Fit decodes data that has been checked before.
func Fit(data []byte, v any, opts ...json.Options) error {
	if k := reflect.TypeOf(v).Elem().Kind(); jsontext.Value(data).Kind() == 'n' && (k == reflect.Struct || k == reflect.Slice || k == reflect.Map) {
		return &Error{Reason: "a JSON null does not fit here"}
	}
	return fitError(json.Unmarshal(data, v, opts...))
}

// fitError converts an error of decoding into an [Error] with the place as a JSON pointer. It returns an error of this
// package from the decoder of a field unchanged. It compares an unknown field with the fields of the type at that
// place, to suggest the intended one.
func fitError(err error) error {
	var inner *Error
	var semantic *json.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &inner):
		return inner
	case !errors.As(err, &semantic):
		return &Error{Reason: "the JSON value does not fit", Err: err}
	}
	e := &Error{Place: string(semantic.JSONPointer), Err: semantic.Err}
	switch {
	case errors.Is(err, json.ErrUnknownName):
		e.Unknown = semantic.JSONPointer.LastToken()
		e.Reason = fmt.Sprintf("unknown field %q", e.Unknown)
		for _, f := range reflect.VisibleFields(semantic.GoType) {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if e.Known = append(e.Known, tag); strings.EqualFold(tag, e.Unknown) {
				e.Reason += fmt.Sprintf("; its name is written %q", tag)
			}
		}
	case semantic.GoType == reflect.TypeFor[time.Time]():
		e.Reason = "not a time of RFC 3339, as in 2026-01-02T15:04:05Z"
	default:
		e.Reason = fmt.Sprintf("a JSON %s does not fit here%s", cmp.Or(kindNames[semantic.JSONKind], "value"), wanted(semantic.GoType))
	}
	return e
}

// wanted names the JSON type that fits a Go type; it is empty for other types.
func wanted(t reflect.Type) string {
	if t == nil {
		return ""
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return ", want a list"
	case reflect.Struct, reflect.Map:
		return ", want an object"
	case reflect.String:
		return ", want a string"
	case reflect.Bool:
		return ", want true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return ", want a whole number"
	case reflect.Float32, reflect.Float64:
		return ", want a number"
	}
	return ""
}

// kindNames are the type names of the JSON standard. Errors use them and no names of Go types, because a caller knows
// the standard, not this program. All numbers are of the kind '0', whatever digit they begin with.
var kindNames = map[jsontext.Kind]string{
	'n': "null", 't': "boolean", 'f': "boolean", '"': "string", '0': "number", '{': "object", '[': "array",
}
