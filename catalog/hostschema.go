package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// HostSchema returns the input or output schema of a tool in the form that every MCP host accepts. The official
// TypeScript SDK refuses a whole tools/list if one value under properties is a boolean schema, so true becomes {}
// and false becomes {"not":{}} wherever a schema can stand; additionalProperties and its relatives keep their
// booleans, which hosts expect there. A missing schema or type means an object. The error says why a schema
// cannot be published. Key order and numbers stay as they are.
func HostSchema(schema json.RawMessage) (json.RawMessage, error) {
	if k := typeOf(schema); k == "" || k == "null" {
		return json.RawMessage(`{"type":"object"}`), nil
	} else if k != "object" {
		return nil, fmt.Errorf("the schema is a JSON %s, want an object", k)
	}
	var out bytes.Buffer
	w := hostWriter{jsontext.NewDecoder(bytes.NewReader(schema)), jsontext.NewEncoder(&out)}
	if err := w.object(asTool); err != nil {
		return nil, err
	}
	if _, err := w.in.ReadToken(); err != io.EOF {
		return nil, errors.New("the schema has data after its end")
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// role is the meaning of a JSON value inside a schema. Unlike [place] it tells keywords that contain schemas from
// all others: uniqueItems and deprecated have booleans too.
type role uint8

const (
	asValue   role = iota // plain data
	asTool                // the schema of a tool: an object of type object
	asSchema              // a schema
	asLenient             // a schema that may stay a boolean
	asSchemas             // a list of schemas, or one
	asNames               // schemas by name
)

// keywords maps the keywords that contain schemas to the role of their value.
var keywords = map[string]role{
	"properties": asNames, "patternProperties": asNames, "$defs": asNames, "definitions": asNames, "dependentSchemas": asNames,
	"allOf": asSchemas, "anyOf": asSchemas, "oneOf": asSchemas, "prefixItems": asSchemas, "items": asSchemas,
	"contains": asSchema, "not": asSchema, "if": asSchema, "then": asSchema, "else": asSchema, "propertyNames": asSchema, "contentSchema": asSchema,
	"additionalProperties": asLenient, "unevaluatedProperties": asLenient, "unevaluatedItems": asLenient, "additionalItems": asLenient,
}

type hostWriter struct {
	in  *jsontext.Decoder
	out *jsontext.Encoder
}

// value copies the next value.
func (w hostWriter) value(r role) error {
	kind := w.in.PeekKind()
	switch {
	case kind == '{' && r != asValue:
		return w.object(r)
	case kind == '[' && r == asSchemas:
		return w.list()
	}
	at := w.in.StackPointer()
	v, err := w.in.ReadValue()
	switch {
	case err != nil:
		return fmt.Errorf("the schema cannot be decoded: %w", err)
	case r == asValue, r == asLenient && typeOf(json.RawMessage(v)) == "boolean":
		return w.out.WriteValue(v)
	case r != asNames && kind == 't':
		return w.out.WriteValue(jsontext.Value(`{}`))
	case r != asNames && kind == 'f':
		return w.out.WriteValue(jsontext.Value(`{"not":{}}`))
	}
	return fmt.Errorf("%s in the schema is a JSON %s, want an object", at, typeOf(json.RawMessage(v)))
}

func (w hostWriter) list() error {
	if err := w.bracket(); err != nil {
		return err
	}
	for w.in.PeekKind() != ']' {
		if err := w.value(asSchema); err != nil {
			return err
		}
	}
	return w.bracket()
}

// object copies an object: a schema, or schemas by name.
func (w hostWriter) object(r role) error {
	if err := w.bracket(); err != nil {
		return err
	}
	typed := r != asTool
	for w.in.PeekKind() != '}' {
		token, err := w.in.ReadToken()
		if err != nil {
			return fmt.Errorf("the schema cannot be decoded: %w", err)
		}
		key := token.String()
		if err := w.out.WriteToken(jsontext.String(key)); err != nil {
			return err
		}
		switch {
		case r == asNames:
			err = w.value(asSchema)
		case r == asTool && (key == "type" || key == "required"):
			typed = typed || key == "type"
			err = w.restricted(key)
		default:
			err = w.value(keywords[key])
		}
		if err != nil {
			return err
		}
	}
	if !typed {
		if err := errors.Join(w.out.WriteToken(jsontext.String("type")), w.out.WriteToken(jsontext.String("object"))); err != nil {
			return err
		}
	}
	return w.bracket()
}

// restricted copies type or required of a tool's schema, for each of which hosts accept one form only.
func (w hostWriter) restricted(keyword string) error {
	v, err := w.in.ReadValue()
	if err != nil {
		return fmt.Errorf("the schema cannot be decoded: %w", err)
	}
	var kind string
	if keyword == "type" && (json.Unmarshal(v, &kind) != nil || kind != "object") {
		return fmt.Errorf("the type of the schema is %s, want \"object\"", Cut(string(v), 100))
	}
	var names []*string
	if keyword == "required" && (v.Kind() != '[' || json.Unmarshal(v, &names) != nil || slices.Contains(names, nil)) {
		return fmt.Errorf("required in the schema is %s, want a list of strings", Cut(string(v), 100))
	}
	return w.out.WriteValue(v)
}

// bracket copies the beginning or end of an object or list.
func (w hostWriter) bracket() error {
	t, err := w.in.ReadToken()
	if err != nil {
		return fmt.Errorf("the schema cannot be decoded: %w", err)
	}
	return w.out.WriteToken(t)
}
