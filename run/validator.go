package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"waymark/catalog"
)

// Validator checks values against an untrusted JSON Schema. It loads no document besides the schema itself, and makes
// at most mostSteps steps for one value: a schema of a few hundred bytes can require 2⁶⁰. Formats are not checked.
type Validator struct {
	mu    sync.Mutex // one value is checked at a time, as steps is shared
	steps int
	root  *jsonschema.Schema
}

const (
	mostSteps   = 30_000
	checkedSize = 1 << 20 // bytes of the longest value that is checked
)

var (
	errTooComplex = errors.New("the schema asks for too much work")
	errTooLarge   = fmt.Errorf("the value is longer than %d bytes", checkedSize)
)

const schemaURL = "waymark:schema"

// NewValidator compiles a schema. It returns nil if there is none.
func NewValidator(text json.RawMessage) (v *Validator, err error) {
	defer func() { // the library panics on some unexpected schemas
		if p := recover(); p != nil {
			v, err = nil, fmt.Errorf("the schema cannot be read: %v", p)
		}
	}()
	text = bytes.TrimSpace(text)
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	if len(text) > catalog.MaxSchema {
		return nil, fmt.Errorf("the schema is longer than %d bytes", catalog.MaxSchema)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	allowNull(doc)
	v = new(Validator)
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // otherwise a reference could read any local file
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	if v.root, err = c.Compile(schemaURL); err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	v.count(reflect.ValueOf(v.root), map[*jsonschema.Schema]bool{})
	return v, nil
}

// allowNull replaces nullable of OpenAPI 3.0, which servers copy into their schemas, by the type null.
func allowNull(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if kind, ok := s["type"].(string); ok && s["nullable"] == true {
			s["type"] = []any{kind, "null"}
			if values, ok := s["enum"].([]any); ok {
				s["enum"] = append(values, nil)
			}
		}
		for _, inner := range s {
			allowNull(inner)
		}
	case []any:
		for _, inner := range s {
			allowNull(inner)
		}
	}
}

// count makes every schema that is reachable from a compiled one count its applications. The library has no limit on
// its work, but it calls the format of a schema before it descends into the parts. Therefore each schema gets a format
// that counts, and its own format is not checked, which is the default of the standard. A schema weighs 1, plus 1 for
// each schema in allOf, anyOf and oneOf.
func (v *Validator) count(at reflect.Value, seen map[*jsonschema.Schema]bool) {
	switch at.Kind() {
	case reflect.Interface, reflect.Pointer:
		s, isSchema := at.Interface().(*jsonschema.Schema)
		if at.IsNil() || isSchema && seen[s] {
			return
		}
		if isSchema {
			seen[s] = true
			weight := 1 + len(s.AllOf) + len(s.AnyOf) + len(s.OneOf)
			s.Format = &jsonschema.Format{Validate: func(any) error {
				if v.steps += weight; v.steps > mostSteps {
					panic(errTooComplex)
				}
				return nil
			}}
		}
		v.count(at.Elem(), seen)
	case reflect.Struct:
		for i := range at.NumField() {
			if at.Type().Field(i).IsExported() {
				v.count(at.Field(i), seen)
			}
		}
	case reflect.Slice:
		for i := range at.Len() {
			v.count(at.Index(i), seen)
		}
	case reflect.Map:
		for it := at.MapRange(); it.Next(); {
			v.count(it.Value(), seen)
		}
	}
}

// Mismatch is a part of a value that does not fit a schema: its place and the reason.
type Mismatch struct {
	At, Detail string
	Absent     bool // required members of an object are missing
}

func (m Mismatch) String() string { return strings.TrimPrefix(m.At+": "+m.Detail, ": ") }

// Check returns the parts of a value that do not fit, at most eight. An error means that the value could not be
// checked. With a path, value is that of the property at its end; a schema that does not define the property accepts
// it.
func (v *Validator) Check(value json.RawMessage, path ...string) (wrong []Mismatch, err error) {
	if v == nil {
		return nil, nil
	}
	at := v.root
	for _, name := range path {
		if at = at.Properties[name]; at == nil {
			return nil, nil
		}
	}
	if len(value) > checkedSize {
		return nil, errTooLarge
	}
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return []Mismatch{{Detail: "it is not JSON"}}, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.steps = 0
	defer func() {
		if p := recover(); p != nil {
			if err = errTooComplex; p != any(errTooComplex) {
				err = fmt.Errorf("the schema cannot be applied: %v", p)
			}
		}
	}()
	err = at.Validate(decoded)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil, err
	}
	return leaves(nil, invalid), nil
}

var english = message.NewPrinter(language.English)

// leaves appends the causes of an error that have no further cause, up to eight.
func leaves(to []Mismatch, e *jsonschema.ValidationError) []Mismatch {
	const most = 8
	if len(e.Causes) == 0 && len(to) < most {
		_, absent := e.ErrorKind.(*kind.Required)
		to = append(to, Mismatch{strings.Join(e.InstanceLocation, "."), e.ErrorKind.LocalizedString(english), absent})
	}
	for _, c := range e.Causes {
		to = leaves(to, c)
	}
	return to
}
