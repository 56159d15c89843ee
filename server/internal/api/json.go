package api

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"waymark/catalog"
	"waymark/internal/bounded"
	"waymark/internal/codec"
	"waymark/score"
)

// BodyError is an error in a body: text that is not acceptable JSON (Status 400), or JSON that the operation does not
// accept (422). Field is a path such as steps[0].tool; empty: the whole value.
type BodyError struct {
	Status        int
	Field, Detail string
}

func (e *BodyError) Error() string {
	if e.Field == "" {
		return e.Detail
	}
	return e.Field + ": " + e.Detail
}

// WrongField returns the error for a field.
func WrongField(field, detail string) error {
	return &BodyError{http.StatusUnprocessableEntity, field, detail}
}

// Decode decodes exactly one value of type T.
func Decode[T any](data []byte) (T, error) {
	v, err := codec.Decode[T](data)
	return v, Malformed(err)
}

// Malformed converts an error of the strict reader to a [BodyError]. It returns other errors unchanged.
func Malformed(err error) error {
	var strict *codec.Error
	var decimal *score.DecimalError
	if !errors.As(err, &strict) {
		return err
	}
	e := &BodyError{http.StatusUnprocessableEntity, fieldOf(jsontext.Pointer(strict.Place)), strict.Reason}
	switch {
	case strict.Syntax:
		e.Status = http.StatusBadRequest
	case strict.Unknown == WorkspaceField:
		e.Detail += "; " + HowWorkspace
	case strict.Unknown != "" && !strings.Contains(e.Detail, ";"): // the detail does not yet name the right spelling
		known := slices.DeleteFunc(slices.Clone(strict.Known), func(name string) bool { return name == "" || name == "-" })
		near := catalog.DidYouMean(catalog.Near(strict.Unknown, func(yield func(string, uint64) bool) {
			for _, name := range known {
				if !yield(name, 0) {
					return
				}
			}
		}))
		if near == "" && len(known) <= 3 { // so few that they can be listed
			near = "; known are " + strings.Join(known, ", ")
		}
		e.Detail += near
	case errors.As(strict.Err, &decimal):
		e.Detail = decimal.Detail
	}
	return e
}

// ReadLine reads to the end of a line. If the line has more than most bytes, tooLong is true and the rest is dropped.
func ReadLine(r *bufio.Reader, most int) (line []byte, tooLong bool, err error) {
	for read := 0; ; {
		part, err := r.ReadSlice('\n')
		if read += len(part); read > bounded.Stream {
			return nil, true, &bounded.LimitError{Name: "one line", Limit: bounded.Stream}
		}
		if tooLong = tooLong || len(line)+len(part) > most; !tooLong {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

// Encode encodes v as encoding/json would, so that HTTP, MCP and the command line agree, but with [] and {} for nil
// slices and maps, and with sorted map keys. Not-a-number is an error.
func Encode(v any, more ...json.Options) ([]byte, error) {
	if p, ok := v.(*huma.ErrorModel); ok { // every problem has errors[], even if it is empty
		v = struct {
			Type     string              `json:"type"`
			Title    string              `json:"title"`
			Status   int                 `json:"status"`
			Detail   string              `json:"detail"`
			Instance string              `json:"instance,omitempty"`
			Errors   []*huma.ErrorDetail `json:"errors"`
		}{p.Type, p.Title, p.Status, p.Detail, p.Instance, p.Errors}
	}
	data, err := json.Marshal(v, append([]json.Options{jsonv1.DefaultOptionsV1(), json.FormatNilSliceAsNull(false),
		json.FormatNilMapAsNull(false), json.Deterministic(true), jsontext.EscapeForHTML(false), jsontext.EscapeForJS(false)}, more...)...)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return data, nil
}

// A request cannot name its workspace, although many clients try.
const (
	WorkspaceField = "workspace"
	HowWorkspace   = "the workspace comes from the credential: an API key opens one (waymark keys create --workspace NAME), " +
		"and the command line chooses one with --workspace"
)

// fourDigits encodes fractions with four significant digits: a model needs no more, and each digit costs tokens.
var fourDigits = json.WithMarshalers(json.MarshalToFunc(func(to *jsontext.Encoder, x float64) error {
	if _, fraction := math.Modf(x); fraction == 0 || math.IsNaN(fraction) {
		return errors.ErrUnsupported
	}
	x, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	return cmp.Or(err, to.WriteToken(jsontext.Float(x)))
}))

// DecodeArguments decodes the arguments of a call as strictly as an HTTP body: unknown, repeated and misspelt names and
// wrong types are errors that name the argument, in words a model can act on. Missing arguments count as {}.
func DecodeArguments(raw []byte, into any) error {
	if len(raw) == 0 || string(raw) == "null" {
		raw = []byte("{}")
	}
	err := Malformed(codec.Unmarshal(raw, into))
	if e, ok := errors.AsType[*BodyError](err); ok && e.Field == "" {
		e.Detail = "arguments: " + e.Detail
	}
	return err
}

// fieldOf converts a JSON pointer to a readable path: /steps/0/tool becomes steps[0].tool.
func fieldOf(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch {
		case strings.Trim(token, "0123456789") == "":
			fmt.Fprintf(&b, "[%s]", token)
		case b.Len() == 0:
			b.WriteString(catalog.ShownID(token))
		default:
			b.WriteString("." + catalog.ShownID(token))
		}
	}
	return b.String()
}

// FieldName returns the name of a field in JSON.
func FieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
