package problem

import (
	"fmt"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"waymark/server/internal/jsonio"
)

// A problem names a field and says what is wrong with it, as one sentence: "limit must be a number of at least 1,
// got 0". huma's own messages have no verb ("limit expected number >= 1"); they are variables of its package, read
// when routes are registered.
func init() {
	validation.MsgUnexpectedProperty = "is no field of this request"
	validation.MsgExpectedRFC3339DateTime = "must be a time of RFC 3339, as in 2026-01-02T15:04:05Z"
	validation.MsgExpectedMatchAtLeastOneSchema = "must have one of the forms that are described"
	validation.MsgExpectedMatchExactlyOneSchema = "must have exactly one of the forms that are described"
	validation.MsgExpectedBoolean = "must be true or false"
	validation.MsgExpectedNumber = "must be a number"
	validation.MsgExpectedInteger = "must be a whole number"
	validation.MsgExpectedString = "must be a string"
	validation.MsgExpectedBase64String = "must be a string in base64"
	validation.MsgExpectedArray = "must be an array"
	validation.MsgExpectedObject = "must be an object"
	validation.MsgExpectedArrayItemsUnique = "must not hold an element twice"
	validation.MsgExpectedOneOf = `must be one of "%s"`
	validation.MsgExpectedMinimumNumber = "must be a number of at least %v"
	validation.MsgExpectedExclusiveMinimumNumber = "must be a number above %v"
	validation.MsgExpectedMaximumNumber = "must be a number of at most %v"
	validation.MsgExpectedExclusiveMaximumNumber = "must be a number below %v"
	validation.MsgExpectedNumberBeMultipleOf = "must be a multiple of %v"
	validation.MsgExpectedMinLength = "must have a length of at least %d"
	validation.MsgExpectedMaxLength = "must have a length of at most %d"
	validation.MsgExpectedBePattern = "must be %s"
	validation.MsgExpectedMatchPattern = "must match the pattern %s"
	validation.MsgExpectedMinItems = "must have at least %d elements"
	validation.MsgExpectedMaxItems = "must have at most %d elements"
	validation.MsgExpectedMinProperties = "must have at least %d fields"
	validation.MsgExpectedMaxProperties = "must have at most %d fields"
	validation.MsgExpectedRequiredProperty = "needs the field %s"
	validation.MsgExpectedDependentRequiredProperty = "needs the field %s, as it has %s"
}

// worded are the messages that huma has no variables for.
var worded = map[string]string{
	"unknown query parameter":             "is no parameter of this route",
	"required query parameter is missing": "is missing",
	"invalid integer":                     "must be a whole number",
	"invalid float":                       "must be a number",
	"invalid floating value":              "must be a number",
	"invalid boolean":                     "must be true or false",
}

// reword makes a sentence of what huma says of a field. Numbers are repeated; anything else that was sent may be a
// secret in the wrong field.
func reword(d *huma.ErrorDetail) {
	if says, ok := worded[d.Message]; ok {
		d.Message = says
	}
	switch d.Value.(type) {
	case int, int64, float64:
		if strings.HasPrefix(d.Message, "must be ") {
			d.Message += fmt.Sprintf(", got %v", d.Value)
		}
	}
	if name := d.Location[strings.LastIndexByte(d.Location, '.')+1:]; name == jsonio.WorkspaceField && strings.HasPrefix(d.Message, "is no ") {
		d.Message += "; " + jsonio.HowWorkspace
	}
	d.Value = nil
}
