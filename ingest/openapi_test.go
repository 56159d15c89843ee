package ingest

import (
	"iter"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"waymark/catalog"
)

const library30 = `openapi: 3.0.3
info: {title: "City Library", version: "1"}
servers: [{url: https://library.example}]
paths:
  /books:
    get:
      operationId: list books
      summary: List books
      description: Newest first.
      parameters:
        - $ref: '#/components/parameters/Limit'
        - {name: shelf, in: query, description: The shelf, schema: {type: string, nullable: true, example: sesame}}
        - {name: Authorization, in: header, schema: {type: string}}
      responses:
        200: {description: ok, content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Book'}}}}}
    post:
      operationId: add_book
      requestBody: {$ref: '#/components/requestBodies/Book'}
      responses: {'201': {description: ok}}
  /books/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer, minimum: 0, exclusiveMinimum: true}}
    delete: {summary: Remove a book, responses: {'204': {description: gone}}}
    put:
      operationId: replace_book
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Book'}}}}
      responses: {default: {description: error}}
    patch:
      operationId: patch_book
      parameters: [{$ref: 'other.yaml#/Limit'}]
      responses: {}
components:
  parameters:
    Limit: {name: limit, in: query, schema: {type: integer}}
  requestBodies:
    Book: {required: true, content: {'application/vnd.library+json': {schema: {$ref: '#/components/schemas/NewBook'}}}}
  schemas:
    NewBook: {type: object, required: [title], properties: {title: {type: string}, similar: {$ref: '#/components/schemas/Book'}}}
    Book:
      type: object
      required: [id]
      properties: {id: {type: integer}, sequel: {$ref: '#/components/schemas/Book'}}
`

func openAPITools(t *testing.T, items iter.Seq2[Item, error]) (map[string]catalog.Tool, Report) {
	t.Helper()
	tools, report := map[string]catalog.Tool{}, Report{}
	for it, err := range items {
		require.NoError(t, err)
		report.Add(it)
		if it.Tool != nil {
			tools[it.Tool.ID] = *it.Tool
		}
	}
	return tools, report
}

func TestOpenAPI(t *testing.T) {
	tools, report := openAPITools(t, ReadFrom(t.Context(), strings.NewReader(library30), Options{}))
	require.Len(t, tools, 4, report.Reasons)
	list := tools["city_library:list_books"]
	require.Equal(t, "List books\nNewest first.", list.Description)
	require.JSONEq(t, `{"type":"object","properties":{"limit":{"type":"integer"},"shelf":{"type":["string","null"],"description":"The shelf"}}}`, string(list.InputSchema))
	const book = `"$defs":{"Book":{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"sequel":{"$ref":"#/$defs/Book"}}}}`
	require.JSONEq(t, `{"type":"array","items":{"$ref":"#/$defs/Book"},`+book+`}`, string(list.OutputSchema))
	require.True(t, *list.Annotations.ReadOnly)

	add := tools["city_library:add_book"]
	require.JSONEq(t, `{"type":"object","required":["title"],"properties":{"title":{"type":"string"},"similar":{"$ref":"#/$defs/Book"}},`+book+`}`, string(add.InputSchema))
	require.Empty(t, add.OutputSchema)
	require.False(t, *add.Annotations.Destructive)

	remove := tools["city_library:delete_books_id"]
	require.JSONEq(t, `{"type":"object","required":["id"],"properties":{"id":{"type":"integer","minimum":0}}}`, string(remove.InputSchema))
	require.True(t, *remove.Annotations.Destructive)
	require.True(t, *remove.Annotations.Idempotent)

	// The body has an id of its own.
	require.JSONEq(t, `{"type":"object","required":["body","id"],"properties":{"id":{"type":"integer","minimum":0},
		"body":{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"sequel":{"$ref":"#/$defs/Book"}}}},`+book+`}`, string(tools["city_library:replace_book"].InputSchema))
	require.Equal(t, Counts{Tools: 1}, report.Dropped)
	require.Equal(t, `PATCH /books/{id}: reference "other.yaml#/Limit" cannot be read in the folder of the document: bundle the document first`, report.Reasons[0].Reason)
}

func TestOpenAPIRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"openapi: 4.0.0\npaths: {}":                    "OpenAPI 4.0.0 is not read; want 2.0, 3.0 or 3.1",
		"openapi: 3.0.0\n\tpaths: {}":                  "not YAML",
		`{"openapi":"3.0.0","info":{},"paths":{},"x":`: "ends early",
	} {
		var got error
		for _, err := range ReadFrom(t.Context(), strings.NewReader(text), Options{}) {
			got = err
		}
		require.ErrorContains(t, got, want)
	}
}

// Parameters are told apart by name and place, null is allowed where nullable says so, and files below the folder are read.
func TestOpenAPIField(t *testing.T) {
	document := `{"openapi":"3.0.3","info":{"title":"Shelf"},"paths":{"/books/{id}":{"put":{"operationId":"move",
		"parameters":[{"name":"id","in":"query","schema":{"type":"integer"}},{"name":"id","in":"path","schema":{"type":"string"}},{"name":"body","in":"query","schema":{"type":"boolean"}}],
		"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","properties":{"id":{"type":"string","nullable":true,"enum":["a"]}}}}}}}},
		"/trees":{"$ref":"paths/trees.yaml"},"/up":{"$ref":"../secret.yaml"},"/away":{"$ref":"https://example.com/x.yaml"}}}`
	fsys := fstest.MapFS{"api/openapi.json": {Data: []byte(document)}, "api/page.yaml": {Data: []byte("name: page\nin: query\nschema: {type: integer}\n")},
		"api/paths/trees.yaml": {Data: []byte("get:\n  operationId: trees\n  parameters: [{$ref: ../page.yaml}]\n")}}
	tools, report := openAPITools(t, ReadFS(t.Context(), fsys, Options{}))
	require.JSONEq(t, `{"type":"object","required":["body","id"],"properties":{"id":{"type":"string"},"id_query":{"type":"integer"},"body_query":{"type":"boolean"},
		"body":{"type":"object","properties":{"id":{"type":["string","null"],"enum":["a",null]}}}}}`, string(tools["shelf:move"].InputSchema))
	require.JSONEq(t, `{"type":"object","properties":{"page":{"type":"integer"}}}`, string(tools["shelf:trees"].InputSchema))
	require.Equal(t, 2, report.Dropped.Tools, report.Reasons)
}

// Of version 2 parameters are schemas themselves, and the body is one of them.
func TestOpenAPI2(t *testing.T) {
	tools, report := openAPITools(t, ReadFrom(t.Context(), strings.NewReader(`{"swagger":"2.0","info":{"title":"Shelf"},"paths":{"/books/{id}":{"parameters":[{"name":"id","in":"path","required":true,"type":"string"}],
		"get":{"operationId":"get","parameters":[{"name":"id","in":"query","type":"integer"},{"name":"tags","in":"query","type":"array","items":{"type":"string"}}],"responses":{"200":{"schema":{"$ref":"#/definitions/Book"}}}},
		"post":{"operationId":"set","parameters":[{"in":"body","name":"book","required":true,"schema":{"$ref":"#/definitions/Book"}}]},
		"put":{"operationId":"load","parameters":[{"in":"formData","name":"file","type":"string","required":true}]}}},
		"definitions":{"Book":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"kind":{"type":"string","enum":["a"],"x-nullable":true}}}}}`), Options{}))
	require.Zero(t, report.Dropped.Total(), report.Reasons)
	book := `"name":{"type":"string"},"kind":{"type":["string","null"],"enum":["a",null]}`
	require.JSONEq(t, `{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"id_query":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}}}}`, string(tools["shelf:get"].InputSchema))
	require.JSONEq(t, `{"$ref":"#/$defs/Book","$defs":{"Book":{"type":"object","required":["name"],"properties":{`+book+`}}}}`, string(tools["shelf:get"].OutputSchema))
	require.JSONEq(t, `{"type":"object","required":["id","name"],"properties":{"id":{"type":"string"},`+book+`}}`, string(tools["shelf:set"].InputSchema))
	require.JSONEq(t, `{"type":"object","required":["file","id"],"properties":{"id":{"type":"string"},"file":{"type":"string"}}}`, string(tools["shelf:load"].InputSchema))
}

// A schema that refers to many others keeps the nearest; null beside a reference is kept, and a reference that is not found is
// reported.
func TestOpenAPIReferences(t *testing.T) {
	tools, report := openAPITools(t, ReadFrom(t.Context(), strings.NewReader(`{"openapi":"3.1.0","info":{"title":"r"},"paths":{"/x":{"post":{"operationId":"x","requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/S"}}}}}}},
		"components":{"schemas":{"S":{"type":"object","properties":{"a":{"$ref":"#/components/schemas/A"},"d":{"$ref":"#/components/schemas/A","nullable":true},
			"b":{"$ref":"#/components/x~1y/A"},"c":{"$ref":"https://example.org/f"},"z":{"$ref":"#/components/schemas/Big"}}},
			"A":{"type":"integer"},"Big":{"description":"`+strings.Repeat("x", 40_000)+`"}},"x/y":{"A":{"type":"string"}}}}`), Options{}))
	require.JSONEq(t, `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"},"d":{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]},
		"b":{"$ref":"#/$defs/schema1"},"z":{"$ref":"#/$defs/Big"},"c":{"$ref":"#/$defs/schema2"}},
		"$defs":{"A":{"type":"integer"},"schema1":{"type":"string"},"Big":{},"schema2":{}}}`, string(tools["r:x"].InputSchema))
	require.Len(t, report.Reasons, 1)
	require.Equal(t, `what it names is left open: reference "https://example.org/f" cannot be read in the folder of the document: bundle the document first`, report.Reasons[0].Reason)
}
