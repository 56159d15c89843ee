package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"waymark/catalog"
)

// Validator checks values by a JSON Schema that somebody else wrote. It loads nothing but the schema itself, and does at
// most mostSteps steps for one value: a schema of some hundred bytes can ask for 2⁶⁰. Formats are not checked.
type Validator struct {
	mu    sync.Mutex // one value at a time: the steps are counted here
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

// NewValidator compiles a schema; nil for no schema.
func NewValidator(text json.RawMessage) (*Validator, error) { return newValidator(text, "") }

// newValidator compiles the place of a schema at a pointer.
func newValidator(text json.RawMessage, pointer string) (v *Validator, err error) {
	defer func() { // of the library, by a schema it was not made for
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
		return nil, fmt.Errorf("the schema is no JSON: %w", err)
	}
	if strange(doc, 0) {
		return nil, errTooComplex
	}
	v = new(Validator)
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // else a reference could read any file here
	for weight := range countSteps(doc, asSchema, map[int]bool{}) {
		c.RegisterFormat(&jsonschema.Format{Name: stepFormat(weight), Validate: func(any) error {
			if v.steps += weight; v.steps > mostSteps {
				panic(errTooComplex)
			}
			return nil
		}})
	}
	c.AssertFormat()
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	if v.root, err = c.Compile(schemaURL + "#" + pointer); err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	return v, nil
}

// The library has no limit on what it does, but it asks a format before it goes into the parts of a schema.
// So every schema in the document gets a format of ours, which counts; formats of its own are not checked,
// as the standard has it.
func stepFormat(weight int) string { return fmt.Sprintf("waymark-step-%d", weight) }

type position uint8

const (
	asSchema position = iota // an object is a schema
	asNames                  // an object holds schemas by name
	asValue                  // plain data
)

func under(p position, key string) position {
	switch {
	case p == asNames:
		return asSchema
	case p == asValue, slices.Contains(plainKeys, key):
		return asValue
	case slices.Contains(nameKeys, key):
		return asNames
	}
	return asSchema
}

var (
	plainKeys = []string{"const", "enum", "default", "examples", "example", "required", "type", "dependentRequired", "$vocabulary"}
	nameKeys  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)

// countSteps puts the counting format into all schemas of a document. It collects their weights: one for the
// schema itself, one for each alternative that is tried.
func countSteps(doc any, p position, weights map[int]bool) map[int]bool {
	switch v := doc.(type) {
	case []any:
		for _, e := range v {
			countSteps(e, p, weights)
		}
	case map[string]any:
		if p == asValue {
			break
		}
		weight := 1
		for key, e := range v {
			countSteps(e, under(p, key), weights)
			if list, ok := e.([]any); ok && p == asSchema {
				weight += len(list)
			}
		}
		if p == asSchema {
			v["format"] = stepFormat(weight)
			weights[weight] = true
		}
	}
	return weights
}

// strange reports what would escape the count: references into plain data, schemas nested too deep.
func strange(doc any, depth int) bool {
	if depth > 2*catalog.MaxSchemaDepth {
		return true
	}
	switch v := doc.(type) {
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return strange(e, depth+1) })
	case map[string]any:
		for key, e := range v {
			if ref, ok := e.(string); ok && (key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef") {
				for part := range strings.SplitSeq(ref, "/") {
					if slices.Contains(plainKeys, part) {
						return true
					}
				}
			}
			if strange(e, depth+1) {
				return true
			}
		}
	}
	return false
}

// Mismatch says what of a value does not fit a schema: where, and why.
type Mismatch struct {
	At, Detail string
	Absent     bool // members of an object that there must be are not there
}

func (m Mismatch) String() string { return strings.TrimPrefix(m.At+": "+m.Detail, ": ") }

// Check lists what of a value does not fit, at most eight places. An error means that this cannot be said.
func (v *Validator) Check(value json.RawMessage) (wrong []Mismatch, err error) {
	if v == nil {
		return nil, nil
	}
	if len(value) > checkedSize {
		return nil, errTooLarge
	}
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return []Mismatch{{Detail: "it is no JSON"}}, nil
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
	err = v.root.Validate(decoded)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil, err
	}
	return leaves(nil, invalid), nil
}

var english = message.NewPrinter(language.English)

// leaves appends the causes of an error that have no further cause.
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
