package rubric

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"waymark/internal/strictjson"
)

// maxSource is the size of a definition as text, maxDepth how deep it may nest.
const (
	maxSource = 256 << 10
	maxDepth  = 16
)

// Load reads a definition, checks it and makes it a Rubric.
func Load(data []byte) (*Rubric, error) {
	def, err := Parse(data)
	if err != nil {
		return nil, err
	}
	return New(def)
}

// MustLoad is Load for definitions that are part of the program.
func MustLoad(data []byte) *Rubric {
	r, err := Load(data)
	if err != nil {
		panic(err)
	}
	return r
}

// Parse reads a definition from JSON or YAML: one document, no unknown or repeated fields, numbers as
// they are written. YAML has JSON in it, and both are read by the same rules; anchors, aliases and tags
// of YAML are refused. It does not check what the definition says, which New does.
func Parse(data []byte) (Definition, error) {
	var def Definition
	if len(data) > maxSource {
		return def, fmt.Errorf("rubric: the definition is larger than %d bytes", maxSource)
	}
	text := data
	if b := bytes.TrimLeft(data, " \t\r\n"); len(b) == 0 || b[0] != '{' {
		var err error
		if text, err = FromYAML(data); err != nil {
			return def, fmt.Errorf("rubric: %w", err)
		}
	}
	if err := strictjson.Unmarshal(text, &def); err != nil {
		return Definition{}, fmt.Errorf("rubric: %w", readable(err))
	}
	return def, nil
}

// MustDecode reads a table that is part of the program from YAML, strictly.
func MustDecode[T any](data []byte) (table T) {
	text, err := FromYAML(data)
	if err == nil {
		err = strictjson.Unmarshal(text, &table)
	}
	if err != nil {
		panic(fmt.Sprintf("rubric: table %T: %v", table, readable(err)))
	}
	return table
}

// readable names the place of a fault in words of the definition, not of Go.
func readable(err error) error {
	var strict *strictjson.Error
	var decimal *DecimalError
	if !errors.As(err, &strict) || strict.Syntax {
		return err
	}
	place := cmp.Or(strings.ReplaceAll(strings.TrimPrefix(strict.Place, "/"), "/", "."), "definition")
	if errors.As(strict.Err, &decimal) {
		return fmt.Errorf("%s: %w", place, decimal)
	}
	return fmt.Errorf("%s: %s", place, strict.Reason)
}

// FromYAML returns one YAML document as JSON. Times are strings.
func FromYAML(data []byte) ([]byte, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var document, more yaml.Node
	if err := dec.Decode(&document); err != nil {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	if dec.Decode(&more) == nil {
		return nil, errors.New("more than one YAML document")
	}
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out)
	if len(document.Content) != 1 {
		return nil, errors.New("the document is empty")
	}
	if err := writeNode(enc, document.Content[0], 0); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func writeNode(enc *jsontext.Encoder, n *yaml.Node, depth int) error {
	fault := func(what string) error { return fmt.Errorf("line %d: %s", n.Line, what) }
	switch {
	case depth > maxDepth:
		return fault("nested too deeply")
	case n.Anchor != "" || n.Kind == yaml.AliasNode:
		return fault("anchors and aliases are not taken")
	case n.Style&yaml.TaggedStyle != 0:
		return fault("tags are not taken")
	}
	write := func(t jsontext.Token) error {
		if err := enc.WriteToken(t); err != nil {
			return fault(plain(err))
		}
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		if err := write(jsontext.BeginObject); err != nil {
			return err
		}
		for i, c := range n.Content {
			if i%2 == 0 && (c.Kind != yaml.ScalarNode || c.Tag != "!!str") {
				return fault("a field has no plain name")
			}
			if err := writeNode(enc, c, depth+1); err != nil {
				return err
			}
		}
		return write(jsontext.EndObject)
	case yaml.SequenceNode:
		if err := write(jsontext.BeginArray); err != nil {
			return err
		}
		for _, c := range n.Content {
			if err := writeNode(enc, c, depth+1); err != nil {
				return err
			}
		}
		return write(jsontext.EndArray)
	case yaml.ScalarNode:
		return writeScalar(enc, n, write)
	}
	return fault("not a value")
}

func writeScalar(enc *jsontext.Encoder, n *yaml.Node, write func(jsontext.Token) error) error {
	switch n.Tag {
	case "!!str", "!!timestamp":
		return write(jsontext.String(n.Value))
	case "!!null":
		return write(jsontext.Null)
	case "!!bool":
		return write(jsontext.Bool(strings.EqualFold(n.Value, "true")))
	case "!!int", "!!float":
		if err := enc.WriteValue(jsontext.Value(n.Value)); err == nil { // 3.50 stays 3.50
			return nil
		}
		return fmt.Errorf("line %d: %s is not a decimal number", n.Line, shown(n.Value))
	}
	return fmt.Errorf("line %d: %s is not taken", n.Line, shown(n.Value))
}

// plain shortens an error of the encoder, such as a repeated field, to its reason.
func plain(err error) string {
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) && syntactic.Err != nil {
		return syntactic.Err.Error()
	}
	return err.Error()
}
