package endpoint

import "time"

// Standard sets an option that is not given, or not above 0, to its default.
func Standard[T int | int64 | time.Duration](option *T, value T) {
	if *option <= 0 {
		*option = value
	}
}
