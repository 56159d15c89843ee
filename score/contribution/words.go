package contribution

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	protocolWords = regexp.MustCompile(`(?i)\bbrenner(?:'s)? (?:protocol|method|transcript|rubric|session|bot)s?\b`)
	indefinite    = regexp.MustCompile(`^(?:|indeterminate|unknown|unclear|undetermined|no prediction|not applicable|n/?a|either|tbd|[-–—?]+)$`)
)

// plain is a text for comparison: lower case, single spaces, no punctuation at its ends.
func plain(s string) string {
	return strings.Trim(strings.Join(strings.Fields(strings.ToLower(s)), " "), " .;,!")
}

// longWords are the words of four letters and more, in lower case.
func longWords(s string) []string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.DeleteFunc(words, func(w string) bool { return len([]rune(w)) < 4 })
}

// listed joins the first few of a list.
func listed(list []string) string {
	switch {
	case len(list) == 0:
		return "nothing"
	case len(list) > 8:
		return strings.Join(list[:8], ", ") + ", …"
	}
	return strings.Join(list, ", ")
}

func signs(operators []string) []string {
	out := make([]string, len(operators))
	for i, o := range operators {
		out[i] = sign(o)
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
