package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"waymark/catalog"
)

// schema checks values by a JSON Schema that somebody else wrote. It reads nothing but the schema itself,
// and does no more than mostSteps steps for one value: a schema of some hundred bytes can ask for 2⁶⁰.
type schema struct {
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

// compile returns nil for no schema.
func compile(text json.RawMessage) (s *schema, err error) {
	defer func() { // of the library, by a schema it was not made for
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("the schema cannot be read: %v", p)
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
	s = new(schema)
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	for weight := range s.count(doc, asSchema, map[int]bool{}) {
		c.RegisterFormat(&jsonschema.Format{Name: stepFormat(weight), Validate: func(any) error {
			if s.steps += weight; s.steps > mostSteps {
				panic(errTooComplex)
			}
			return nil
		}})
	}
	c.AssertFormat()
	if err := c.AddResource("waymark:schema", doc); err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	if s.root, err = c.Compile("waymark:schema"); err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	return s, nil
}

// nowhere is where schemas of schemas are loaded from.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("schemas are not fetched: %s", catalog.Cut(url, 100))
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

// count puts the counting format into all schemas of a document. It collects their weights: one for the
// schema itself, one for each alternative that is tried.
func (s *schema) count(doc any, p position, weights map[int]bool) map[int]bool {
	switch v := doc.(type) {
	case []any:
		for _, e := range v {
			s.count(e, p, weights)
		}
	case map[string]any:
		if p == asValue {
			break
		}
		weight := 1
		for key, e := range v {
			s.count(e, under(p, key), weights)
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

// check returns nil for a value that fits, a mismatch for one that does not, another error if that
// cannot be said.
func (s *schema) check(value json.RawMessage) (err error) {
	if s == nil {
		return nil
	}
	if len(value) > checkedSize {
		return errTooLarge
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return mismatch("it is no JSON")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = 0
	defer func() {
		if p := recover(); p != nil {
			if err = errTooComplex; p != any(errTooComplex) {
				err = fmt.Errorf("the schema cannot be applied: %v", p)
			}
		}
	}()
	err = s.root.Validate(v)
	var wrong *jsonschema.ValidationError
	if errors.As(err, &wrong) {
		return mismatch(reasons(wrong))
	}
	return err
}

// mismatch says where a value does not fit its schema.
type mismatch string

func (m mismatch) Error() string { return string(m) }

var english = message.NewPrinter(language.English)

// reasons names up to three places.
func reasons(e *jsonschema.ValidationError) string {
	var all []string
	var visit func(e *jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			visit(cause)
		}
		if len(e.Causes) == 0 && len(all) < 3 {
			at := strings.Join(e.InstanceLocation, ".")
			if at == "" {
				at = "the whole"
			}
			all = append(all, catalog.Cut(at+": "+e.ErrorKind.LocalizedString(english), 200))
		}
	}
	visit(e)
	return strings.Join(all, "; ")
}
