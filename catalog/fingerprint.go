package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Fingerprint is a digest of the contract of a tool: name, description, schemas and annotations. It changes when any of
// them changes, but not when only the order of keys, of required names or of enum values changes. The location of the
// tool (id, server, domain) is not part of the contract.
type Fingerprint [sha256.Size]byte

// Fingerprint returns the fingerprint of the current contract of the tool.
func (t *Tool) Fingerprint() Fingerprint {
	var b bytes.Buffer
	part := func(name string, value []byte) { // the lengths keep adjacent parts distinct
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

// Canonical returns a JSON Schema in one form for all its orderings and spellings: without spaces, with sorted keys,
// with normalised numbers (1, 1.0 and 10e-1 are one number), and with sorted lists under the keys whose lists have no
// order in JSON Schema (required, enum, type, those in dependentRequired). An empty schema and null return an empty
// result. Text that is not JSON, or that has a duplicate key, which parsers resolve differently, is returned as it is.
func Canonical(schema json.RawMessage) []byte {
	v, err := Decode(schema)
	if err != nil || !jsontext.Value(schema).IsValid() {
		return bytes.Clone(bytes.TrimSpace(schema))
	}
	if v == nil {
		return nil
	}
	out, _ := json.Marshal(canonical(v, "")) // it was JSON
	return out
}

// canonical normalises the numbers of a decoded value and sorts sets. key is the keyword of the value.
func canonical(v any, key string) any {
	switch v := v.(type) {
	case json.Number:
		return normalNumber(v)
	case map[string]any:
		for name, inner := range v {
			role := name
			if key == "dependentRequired" {
				role = "required"
			}
			v[name] = canonical(inner, role)
		}
	case []any:
		texts := make([]json.RawMessage, len(v))
		for i, inner := range v {
			texts[i], _ = json.Marshal(canonical(inner, "")) // it was JSON
		}
		if key == "required" || key == "enum" || key == "type" {
			slices.SortFunc(texts, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
		}
		return texts
	}
	return v
}

// normalNumber writes a number without an exponent or trailing zeros. Integers keep all digits, and numbers beyond the
// range of a float64 stay as they are.
func normalNumber(n json.Number) json.Number {
	f, err := n.Float64()
	switch {
	case err == nil && f == 0:
		return "0"
	case err != nil || !strings.ContainsAny(string(n), ".eE"):
		return n
	}
	return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
}
