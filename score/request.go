package score

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A RequestError is a request that cannot be scored. Field is its place, as in hypotheses[2].scores.novelty;
// errors of a single card name the dimension or gate alone.
type RequestError struct{ Field, Detail string }

func (e *RequestError) Error() string {
	if e.Field == "" {
		return e.Detail
	}
	return e.Field + ": " + e.Detail
}

// Refuse returns a [RequestError].
func Refuse(field, format string, args ...any) error {
	return &RequestError{field, fmt.Sprintf(format, args...)}
}

// Within returns err as a [RequestError] of a part of the request: place is put before the field that err names.
func Within(place string, err error) error {
	var request *RequestError
	if errors.As(err, &request) {
		return &RequestError{place + "." + request.Field, request.Detail}
	}
	return &RequestError{place, err.Error()}
}

// Distinct checks the names of the elements of a list by [CheckName]: no two are equal.
func Distinct[T any](list, field string, elements []T, limit int, name func(T) string) error {
	first := make(map[string]int, len(elements))
	for i, e := range elements {
		place := fmt.Sprintf("%s[%d].%s", list, i, field)
		if err := CheckName(place, name(e), limit); err != nil {
			return err
		}
		if j, twice := first[name(e)]; twice {
			return Refuse(place, "%s is also the %s of %s[%d]", quoted(name(e)), field, list, j)
		}
		first[name(e)] = i
	}
	return nil
}

// AtMost refuses a list of more than limit elements.
func AtMost(field string, n, limit int) error {
	if n > limit {
		return Refuse(field, "%d are more than %d", n, limit)
	}
	return nil
}

// CheckText refuses a text of more than limit bytes, or that is not valid UTF-8.
func CheckText(field, text string, limit int) error {
	switch {
	case len(text) > limit:
		return Refuse(field, "%d bytes are more than %d", len(text), limit)
	case !utf8.ValidString(text):
		return Refuse(field, "is not valid UTF-8")
	}
	return nil
}

// CheckName refuses an id or name that is blank, has invisible characters, or violates [CheckText].
func CheckName(field, name string, limit int) error {
	switch err := CheckText(field, name, limit); {
	case err != nil:
		return err
	case strings.TrimSpace(name) == "":
		return Refuse(field, "is required")
	case strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsGraphic(c) }):
		return Refuse(field, "%q has an invisible character", name)
	}
	return nil
}
