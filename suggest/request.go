package suggest

import (
	"fmt"
	"strings"
)

// Limits on a request.
const (
	MaxLimit   = 100
	MaxContext = 512
	MaxQuery   = 8 << 10
	MaxAllow   = 64
	MaxSteps   = 25
)

// allowed reports whether an id is not withheld and the patterns of the request allow it.
func (q *query) allowed(id string) bool {
	if _, held := q.withheld.Of(id); held {
		return false
	}
	return q.permitted(id)
}

// permitted reports whether the patterns of the request allow an id. Without patterns, every id is allowed.
func (q *query) permitted(id string) bool {
	if len(q.allow) == 0 {
		return true
	}
	for _, p := range q.allow {
		if matches(p, id) {
			return true
		}
	}
	return false
}

// matches reports whether the pattern, in which * stands for any run of characters, matches id.
func matches(pattern, id string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == id
	}
	if !strings.HasPrefix(id, head) {
		return false
	}
	id = id[len(head):]
	for {
		part, tail, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(id, part)
		}
		i := strings.Index(id, part)
		if i < 0 {
			return false
		}
		id, rest = id[i+len(part):], tail
	}
}

// limitOf checks a limit between 1 and most. 0 stands for preset.
func limitOf(field string, n, preset, most int) (int, error) {
	if n == 0 {
		return preset, nil
	}
	if n < 0 || n > most {
		return 0, &RequestError{Invalid, field, fmt.Sprintf("is %d, must be 1 to %d", n, most)}
	}
	return n, nil
}

func want(explain *bool) bool { return explain == nil || *explain }
