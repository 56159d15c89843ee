package jsonio

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
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
	err := strictjson.Unmarshal(raw, into)
	e, refused := errors.AsType[*Error](Malformed(err))
	strict, known := errors.AsType[*strictjson.Error](err)
	if !refused || !known {
		return err
	}
	if at := jsontext.Pointer(strict.Place); strict.Unknown != "" {
		e.Detail = "there is no such argument; there are " + strings.Join(argumentNames(reflect.TypeOf(into).Elem(), at.Parent()), ", ")
		if strict.Unknown == WorkspaceField {
			e.Detail += "; " + HowWorkspace
		}
	}
	if e.Field == "" {
		e.Detail = "arguments: " + e.Detail
	}
	return e
}

// fieldOf writes a JSON pointer as a reader would: /steps/0/tool becomes steps[0].tool.
func fieldOf(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch {
		case b.Len() == 0:
			b.WriteString(catalog.ShownID(token))
		case strings.Trim(token, "0123456789") == "":
			fmt.Fprintf(&b, "[%s]", token)
		default:
			b.WriteString("." + catalog.ShownID(token))
		}
	}
	return b.String()
}

// argumentNames lists the names allowed in the object that the pointer points to.
func argumentNames(t reflect.Type, p jsontext.Pointer) []string {
	for token := range p.Tokens() {
		if t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		} else if i := slices.IndexFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return Name(f) == token }); i >= 0 {
			t = reflect.VisibleFields(t)[i].Type
		}
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous {
			names = append(names, Name(f))
		}
	}
	return names
}

// Name is the name of a field in JSON.
func Name(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
