package gateway

import (
	"regexp"
	"slices"

	"waymark/catalog/inspect"
)

// toolName is what the protocol allows a tool to be called.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// alike reports which of the names could be taken for name, if it is another.
func alike(name string, names []string) (string, bool) {
	s := inspect.Skeleton(name)
	for _, other := range names {
		if other != name && inspect.Skeleton(other) == s {
			return other, true
		}
	}
	return "", false
}

// Alike reports whether a server's id could be taken for one of others, or for one that is reserved.
func Alike(id string, others []string) bool {
	_, found := alike(id, slices.Concat(reserved, others))
	return found || slices.Contains(others, id) || slices.Contains(reserved, id)
}
