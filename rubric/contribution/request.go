package contribution

import (
	"errors"
	"fmt"
)

// A RequestError is a request that cannot be answered; Field is its place, as in contributions[2].scores.potency.
type RequestError struct{ Field, Detail string }

func (e *RequestError) Error() string { return e.Field + ": " + e.Detail }

func refuse(field, format string, args ...any) error {
	return &RequestError{field, fmt.Sprintf(format, args...)}
}

// inside puts the place of a part before an error that knows only its own.
func inside(place string, err error) error {
	var request *RequestError
	if errors.As(err, &request) {
		return &RequestError{place + "." + request.Field, request.Detail}
	}
	return refuse(place, "%v", err)
}
