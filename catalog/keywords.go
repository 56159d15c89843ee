package catalog

// Role is the meaning of a JSON value inside a schema.
type Role uint8

const (
	asOther   Role = iota // value of an unknown keyword
	AsData                // plain data
	asSet                 // a list whose order has no meaning
	asSets                // lists of that kind by name
	AsSchema              // a schema
	AsLenient             // a schema that hosts also accept as a boolean
	AsSchemas             // a list of schemas, or one schema
	AsNames               // schemas by name
)

// Keywords maps the keywords of JSON Schema whose values are schemas, sets or arbitrary data to the role of the
// value.
var Keywords = map[string]Role{
	"properties": AsNames, "patternProperties": AsNames, "$defs": AsNames, "definitions": AsNames, "dependentSchemas": AsNames,
	"allOf": AsSchemas, "anyOf": AsSchemas, "oneOf": AsSchemas, "prefixItems": AsSchemas, "items": AsSchemas,
	"contains": AsSchema, "not": AsSchema, "if": AsSchema, "then": AsSchema, "else": AsSchema, "propertyNames": AsSchema, "contentSchema": AsSchema,
	"additionalProperties": AsLenient, "unevaluatedProperties": AsLenient, "unevaluatedItems": AsLenient, "additionalItems": AsLenient,
	"required": asSet, "enum": asSet, "type": asSet, "dependentRequired": asSets,
	"default": AsData, "const": AsData, "examples": AsData,
}
