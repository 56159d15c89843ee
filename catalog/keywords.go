package catalog

// Role is the meaning of a JSON value inside a schema.
type Role uint8

const (
	asOther   Role = iota // of a keyword that is not known
	AsData                // plain data
	asSet                 // a list whose order means nothing
	asSets                // such lists by name
	AsSchema              // a schema
	AsLenient             // a schema that hosts may get as a boolean
	AsSchemas             // a list of schemas, or one
	AsNames               // schemas by name
)

// Keywords maps the keywords of JSON Schema that contain schemas, sets or data of any form to the role of their value.
var Keywords = map[string]Role{
	"properties": AsNames, "patternProperties": AsNames, "$defs": AsNames, "definitions": AsNames, "dependentSchemas": AsNames,
	"allOf": AsSchemas, "anyOf": AsSchemas, "oneOf": AsSchemas, "prefixItems": AsSchemas, "items": AsSchemas,
	"contains": AsSchema, "not": AsSchema, "if": AsSchema, "then": AsSchema, "else": AsSchema, "propertyNames": AsSchema, "contentSchema": AsSchema,
	"additionalProperties": AsLenient, "unevaluatedProperties": AsLenient, "unevaluatedItems": AsLenient, "additionalItems": AsLenient,
	"required": asSet, "enum": asSet, "type": asSet, "dependentRequired": asSets,
	"default": AsData, "const": AsData, "examples": AsData,
}
