package catalog

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	nearMost     = 3 // suggestions for one spelling
	nearDistance = 3 // maximum edits; fewer for short spellings
)

// Near returns the ids that are spelled most like spelling, at most three, from a sequence of ids with their
// use counts. The order is edit distance, then use count (higher first), then id. The distance is that of
// Damerau and Levenshtein (optimal string alignment) between lower-case forms without separators, so that case
// and separators never count. A spelling also matches the name of a tool without its server.
func Near(spelling string, ids iter.Seq2[string, uint64]) []string {
	want := []rune(fold(strings.TrimPrefix(spelling, hostPrefix)))
	if len(want) == 0 || len(spelling) > MaxID {
		return nil
	}
	type match struct {
		id       string
		distance int
		uses     uint64
	}
	var best []match
	limit := min(nearDistance, (len(want)+1)/4)
	for id, uses := range ids {
		_, name, _ := strings.Cut(id, ":")
		for _, s := range []string{id, name} {
			have := []rune(fold(s))
			if longer := len(have) - len(want); id == spelling || longer > limit || -longer > limit {
				continue
			}
			if edits := distance(want, have); edits <= limit {
				best = append(best, match{id, edits, uses})
				break
			}
		}
	}
	slices.SortFunc(best, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(b.uses, a.uses), strings.Compare(a.id, b.id))
	})
	best = best[:min(len(best), nearMost)]
	if len(best) > 0 && best[0].distance == 0 { // exact match but for case and separators: others are not meant
		best = slices.DeleteFunc(best, func(m match) bool { return m.distance > 0 })
	}
	near := make([]string, len(best))
	for i, m := range best {
		near[i] = m.id
	}
	return near
}

// fold returns an id in lower case without separators.
func fold(id string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(":_-./ ", c) {
			return -1
		}
		return unicode.ToLower(c)
	}, id)
}

// distance is the number of insertions, deletions, substitutions and transpositions of neighbours between two texts.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			edit := 1
			if a[i] == b[j] {
				edit = 0
			}
			row[j+1] = min(last[j]+edit, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// UnknownMessage returns an error message for an unknown id, with the known ids that are spelled like it.
func UnknownMessage(kind Kind, id string, near []string) string {
	return fmt.Sprintf("unknown %s %s", kind, strconv.QuoteToASCII(Cut(id, shownID))) + DidYouMean(near)
}

// DidYouMean formats a question for similar ids as the end of a message; "" if there are none.
func DidYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	shown := make([]string, len(near))
	for i, n := range near {
		shown[i] = ShownID(n)
	}
	list := shown[len(shown)-1]
	if len(shown) > 1 {
		list = strings.Join(shown[:len(shown)-1], ", ") + " or " + list
	}
	return "; did you mean " + list + "?"
}

// shownID is the number of bytes of an id that a sentence shows.
const shownID = 96

// ShownID returns an id in a form that is safe in a sentence of this program. The author of a tool must not be
// able to add sentences to the program's messages, so an id with other characters than letters, digits and
// separators is quoted and cut.
func ShownID(id string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/@#"
	if id != "" && len(id) <= shownID && strings.Trim(id, plain) == "" {
		return id
	}
	return strconv.QuoteToASCII(Cut(id, shownID))
}
