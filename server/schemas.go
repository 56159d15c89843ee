package server

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"waymark/catalog"
	"waymark/score"
	"waymark/server/internal/jsonio"
)

// mend corrects schemas. It lets what is behind a pointer be null in the description, and in requests: huma takes the alias of a type
// for what a pointer to it is, and a pointer to an object for the object.
func mend(r huma.Registry) {
	decimal := reflect.TypeFor[*score.Decimal]()
	for name, schema := range r.Map() {
		if schema.AdditionalProperties == false { // the strict reader names the neighbour of an unknown field
			schema.AdditionalProperties = nil
		}
		t := r.TypeFromRef("#/components/schemas/" + name)
		if t == reflect.TypeFor[catalog.Capability]() { // its tools may follow from its tasks
			schema.Required = []string{"id"}
		}
		if t == nil || t.Kind() != reflect.Struct {
			continue
		}
		for _, f := range reflect.VisibleFields(t) {
			property := schema.Properties[jsonio.Name(f)]
			switch {
			case property == nil:
			case property.Ref != "" && f.Type.Kind() == reflect.Pointer && !strings.Contains(f.Tag.Get("json"), ",omit"):
				schema.Properties[jsonio.Name(f)] = &huma.Schema{AnyOf: []*huma.Schema{{Ref: property.Ref}, {Type: "null"}}, Description: f.Tag.Get("doc")}
			case f.Type == decimal:
				property.Nullable = true
			case f.Type.Kind() == reflect.Map && f.Type.Elem() == decimal:
				if values, ok := property.AdditionalProperties.(*huma.Schema); ok {
					values.Nullable = true
				}
			}
		}
	}
}
