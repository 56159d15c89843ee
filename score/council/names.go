package council

import (
	"regexp"
	"slices"
	"strings"
)

// names finds the response that a reviewer's word means.
type names struct {
	labels map[string]string // label → id
	ids    []string          // sorted
}

// id is the response behind a word: a label or else an id, exactly; else the same without case, without
// the word "Response" in front, and only if a single one is meant.
func (n names) id(word string) (string, bool) {
	if id, ok := n.labels[word]; ok {
		return id, true
	}
	if _, ok := slices.BinarySearch(n.ids, word); ok {
		return word, true
	}
	word = bare(word)
	meant := map[string]bool{}
	for label, id := range n.labels {
		if bare(label) == word {
			meant[id] = true
		}
	}
	if len(n.labels) == 0 {
		for _, id := range n.ids {
			if bare(id) == word {
				meant[id] = true
			}
		}
	}
	for id := range meant {
		return id, len(meant) == 1
	}
	return "", false
}

var prefix = regexp.MustCompile(`^(?:response|answer|candidate)[\s_-]+`)

func bare(word string) string {
	return prefix.ReplaceAllString(strings.ToLower(strings.TrimSpace(word)), "")
}
