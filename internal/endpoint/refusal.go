package endpoint

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Error is a refusal by the endpoint. It contains no text of the endpoint, which may repeat keys, requests and
// instructions.
type Error struct{ Status int }

func (e *Error) Error() string {
	return fmt.Sprintf("endpoint answers %d %s", e.Status, http.StatusText(e.Status))
}

// AboutInput reports whether the endpoint refused the input, not the caller.
func (e *Error) AboutInput() bool {
	return e.Status == http.StatusBadRequest || e.Status == http.StatusRequestEntityTooLarge || e.Status == http.StatusUnprocessableEntity
}

// Transient reports whether another attempt may help.
func (e *Error) Transient() bool {
	return e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout || e.Status >= 500
}

// RetryAfter returns the delay of the header of that name: seconds, at most a day, or the time until a date (RFC 9110,
// section 10.2.3). It is 0 without a valid header.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), 24*3600)) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}
