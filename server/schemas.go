package server

import (
	_ "embed"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"waymark/catalog"
	"waymark/score"
	"waymark/server/internal/api"
)

// fixSchemas corrects schemas. It makes values behind pointers nullable, in the description and in requests: huma uses the
// alias of a type also for a pointer to it, and the schema of an object also for a pointer to the object.
func fixSchemas(r huma.Registry) {
	decimal := reflect.TypeFor[*score.Decimal]()
	for name, schema := range r.Map() {
		if schema.AdditionalProperties == false { // the strict reader suggests the nearest name for an unknown field
			schema.AdditionalProperties = nil
		}
		t := r.TypeFromRef("#/components/schemas/" + name)
		if t == reflect.TypeFor[catalog.Capability]() { // its tools may be derived from its tasks
			schema.Required = []string{"id"}
			schema.PrecomputeMessages()
		}
		if t == nil || t.Kind() != reflect.Struct {
			continue
		}
		for _, f := range reflect.VisibleFields(t) {
			property := schema.Properties[api.FieldName(f)]
			switch {
			case property == nil:
			case property.Ref != "" && f.Type.Kind() == reflect.Pointer && !strings.Contains(f.Tag.Get("json"), ",omit"):
				schema.Properties[api.FieldName(f)] = &huma.Schema{AnyOf: []*huma.Schema{{Ref: property.Ref}, {Type: "null"}}, Description: f.Tag.Get("doc")}
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

// examples are the parameters and bodies of requests by operation. Run one after another, they work on the sample
// history.
//
//go:embed examples.json
var examples []byte

// illustrate adds the examples to the description.
func illustrate(api *huma.OpenAPI) {
	var all map[string]map[string]any
	if err := json.Unmarshal(examples, &all); err != nil {
		panic(err) // it is embedded in this program
	}
	for _, op := range operationsOf(api) {
		example := all[op.OperationID]
		for _, p := range op.Parameters {
			p.Example = example[p.Name]
		}
		kind := "application/json"
		if _, lines := example["body"].(string); lines {
			kind = ndjson
		}
		if op.RequestBody != nil && op.RequestBody.Content[kind] != nil {
			op.RequestBody.Content[kind].Example = example["body"]
		}
	}
}

// operationsOf returns the operations of a description, sorted by path.
func operationsOf(api *huma.OpenAPI) (all []*huma.Operation) {
	for _, path := range slices.Sorted(maps.Keys(api.Paths)) {
		item := api.Paths[path]
		all = append(all, item.Get, item.Put, item.Post, item.Delete)
	}
	return slices.DeleteFunc(all, func(op *huma.Operation) bool { return op == nil })
}
