package jsonio

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"waymark/catalog"
	"waymark/internal/strictjson"
)

// DecodeArguments reads the arguments of a call as strictly as an HTTP body: unknown, repeated and
// wrongly spelt names and wrong types are errors that name the argument, in words a model can act on.
// No arguments at all are none given.
func DecodeArguments(raw json.RawMessage, into any) error {
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	err := Malformed(strictjson.Unmarshal(raw, into))
	if e, ok := errors.AsType[*Error](err); ok && e.Field == "" {
		e.Detail = "arguments: " + e.Detail
	}
	return err
}

// fieldOf writes a JSON pointer as a reader would: /steps/0/tool becomes steps[0].tool.
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

// Name is the name of a field in JSON.
func Name(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
