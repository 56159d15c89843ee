package catalog

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// ParseStrings replaces strings in a value by the JSON values in them where the schema requires another type. Hosts send
//
//	{"ids": "[\"a\"]", "limit": "5", "deep": "true"}  for  {"ids": ["a"], "limit": 5, "deep": true}
//
// and 5.0 for the integer 5. A string stays if the schema allows a string. If nothing changes, value is returned
// unchanged.
func ParseStrings(value, schema json.RawMessage) json.RawMessage {
	v, err := Decode(value)
	if err != nil {
		return value
	}
	changed := false
	if v = fit(v, ReadSchema(schema), &changed); !changed {
		return value
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // was JSON before
	return bytes.TrimSpace(out.Bytes())
}

// Decode decodes exactly one JSON value. Numbers keep their digits, as json.Number.
func Decode(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&v); err == nil {
		if _, err := d.Token(); err != io.EOF {
			return nil, io.ErrUnexpectedEOF
		}
	}
	return v, err
}

func fit(v any, s Schema, changed *bool) any {
	switch of := v.(type) {
	case string:
		wants := s.Types()
		if wants&isString != 0 {
			return v
		}
		read, err := Decode([]byte(of))
		if err != nil || TypesOf(read)&wants == 0 {
			return v
		}
		*changed = true
		return fit(read, s, changed)
	case json.Number:
		if whole, _, pointed := strings.Cut(string(of), "."); pointed && isWholeNumber(of) && s.Types()&isNumber == isWhole {
			*changed = true
			return json.Number(whole)
		}
	case map[string]any:
		for name, inner := range of {
			member, _ := s.Member(name)
			of[name] = fit(inner, member, changed)
		}
	case []any:
		for i, inner := range of {
			of[i] = fit(inner, s.Element(), changed)
		}
	}
	return v
}

// isWholeNumber reports whether a number is written without an exponent, and without a fraction or with zeros only.
func isWholeNumber(n json.Number) bool {
	whole, fraction, _ := strings.Cut(string(n), ".")
	return strings.Trim(fraction, "0") == "" && !strings.ContainsAny(whole, "eE")
}
