package rubric

import (
	"errors"
	"fmt"
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
