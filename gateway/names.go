package gateway

import (
	"regexp"

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
