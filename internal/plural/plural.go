// Package plural writes numbers with their nouns.
package plural

import (
	"fmt"
	"strings"
)

// Of is a number with its noun in singular or plural: "1 task", "2 tasks", "0 hypotheses".
func Of[N ~int | ~int64 | ~uint32 | ~uint64](n N, noun string) string {
	switch stem, is := strings.CutSuffix(noun, "is"); {
	case n == 1:
		return "1 " + noun
	case is:
		return fmt.Sprintf("%d %ses", n, stem)
	case strings.HasSuffix(noun, "ty"), strings.HasSuffix(noun, "ry"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
