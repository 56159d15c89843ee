package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
)

// Fingerprint is a digest of the contract of a tool: name, description, schemas and annotations. It
// changes when any of them changes, and does not when only the order of keys, of required names or
// of enum values does. Where the tool stands (id, server, domain) is not part of the contract.
type Fingerprint [sha256.Size]byte

// Fingerprint of the tool as it is now.
func (t *Tool) Fingerprint() Fingerprint {
	var b bytes.Buffer
	part := func(name string, value []byte) { // lengths keep neighbouring parts from running together
		fmt.Fprintf(&b, "%s %d\n", name, len(value))
		b.Write(value)
		b.WriteByte('\n')
	}
	part("name", []byte(t.Name))
	part("description", []byte(t.Description))
	part("input_schema", Canonical(t.InputSchema))
	part("output_schema", Canonical(t.OutputSchema))
	var annotations []byte
	if t.Annotations != nil && *t.Annotations != (Annotations{}) {
		annotations, _ = json.Marshal(t.Annotations) // strings and bools: cannot fail
	}
	part("annotations", Canonical(annotations))
	return sha256.Sum256(b.Bytes())
}

// String is "sha256:" and 64 hexadecimal digits.
func (f Fingerprint) String() string { return "sha256:" + hex.EncodeToString(f[:]) }

func (f Fingerprint) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

func (f *Fingerprint) UnmarshalText(text []byte) error {
	digits, ok := bytes.CutPrefix(text, []byte("sha256:"))
	if !ok || len(digits) != 2*len(f) {
		return fmt.Errorf("fingerprint %.80q: want sha256: and 64 hexadecimal digits", text)
	}
	if _, err := hex.Decode(f[:], digits); err != nil {
		return fmt.Errorf("fingerprint %.80q: %w", text, err)
	}
	return nil
}

// Canonical writes a JSON Schema in one form for all its orderings and spellings: no space, keys
// sorted, numbers normalised (1, 1.0 and 10e-1 are one number), and the lists whose order JSON Schema
// gives no meaning (required, enum, type, dependentRequired) sorted. Lists inside default, const,
// examples and enum are values and keep their order. A key that occurs twice is kept twice, because
// readers differ in which one they believe. Nothing and null are empty; what is not JSON is itself.
func Canonical(schema json.RawMessage) []byte {
	if len(bytes.TrimSpace(schema)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	c, err := canonical(d, inSchema, 0)
	if err == nil {
		_, err = d.Token()
	}
	if err != io.EOF { // not JSON, or more than one value
		return bytes.Clone(schema)
	}
	if string(c) == "null" {
		return nil
	}
	return c
}

// place says how a value is read: as a schema, as a map from names to schemas or to sets, as a list
// whose order means nothing, or as plain data.
type place uint8

const (
	inSchema place = iota
	inNames
	inNamedSets
	inSet
	inData
)

// under is the place of the value of a key.
func (p place) under(key string) place {
	switch p {
	case inNames:
		return inSchema
	case inNamedSets:
		return inSet
	case inData, inSet:
		return inData
	}
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return inNames
	case "required", "enum", "type":
		return inSet
	case "dependentRequired":
		return inNamedSets
	case "default", "const", "examples":
		return inData
	}
	return inSchema
}

const canonicalDepth = 1000 // deeper documents are compared as they stand

func canonical(d *json.Decoder, p place, depth int) ([]byte, error) {
	if depth > canonicalDepth {
		return nil, errors.New("too deep")
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return canonicalObject(d, p, depth)
		}
		return canonicalList(d, p, depth)
	case json.Number:
		return []byte(normalNumber(t.String())), nil
	default: // string, bool, nil
		return json.Marshal(t)
	}
}

func canonicalObject(d *json.Decoder, p place, depth int) ([]byte, error) {
	type member struct {
		key   string
		value []byte
	}
	var members []member
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		key := token.(string) // the decoder admits nothing else here
		value, err := canonical(d, p.under(key), depth+1)
		if err != nil {
			return nil, err
		}
		members = append(members, member{key, value})
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	b := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		key, _ := json.Marshal(m.key) // a string: cannot fail
		b = append(append(append(b, key...), ':'), m.value...)
	}
	return append(b, '}'), nil
}

func canonicalList(d *json.Decoder, p place, depth int) ([]byte, error) {
	elements := p
	if p == inSet {
		elements = inData
	}
	var list [][]byte
	for d.More() {
		e, err := canonical(d, elements, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if p == inSet {
		slices.SortFunc(list, bytes.Compare)
	}
	return append(append([]byte{'['}, bytes.Join(list, []byte{','})...), ']'), nil
}

// normalNumber writes a JSON number as digits without leading or trailing zeros and an exponent.
func normalNumber(s string) string {
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	exponent := new(big.Int)
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exponent.SetString(strings.TrimPrefix(s[i+1:], "+"), 10)
		s = s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	exponent.Sub(exponent, big.NewInt(int64(len(fraction))))
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	stripped := strings.TrimRight(digits, "0")
	exponent.Add(exponent, big.NewInt(int64(len(digits)-len(stripped))))
	if exponent.Sign() == 0 {
		return sign + stripped
	}
	return sign + stripped + "e" + exponent.String()
}
