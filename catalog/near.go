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
// and separators never count. A spelling also matches the name of a tool without its server. 100,000 ids of
// similar length take .25 s.
func Near(spelling string, ids iter.Seq2[string, uint64]) []string {
	if len(spelling) > MaxID {
		return nil
	}
	want, _ := fold(nil, strings.TrimPrefix(spelling, hostPrefix))
	if len(want) == 0 {
		return nil
	}
	type match struct {
		id       string
		distance int
		uses     uint64
	}
	var best []match
	var have []rune
	limit := min(nearDistance, (len(want)+1)/4)
	for id, uses := range ids {
		if len(id) < len(want)-limit {
			continue
		}
		var name int
		have, name = fold(have, id)
		if edits := min(distance(want, have, limit), distance(want, have[name:], limit)); edits <= limit && id != spelling {
			best = append(best, match{id, edits, uses})
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

// fold writes the lower-case letters of an id without separators into buffer, and returns the position at which
// the name after the server begins; 0 without a server.
func fold(buffer []rune, id string) (folded []rune, name int) {
	buffer = buffer[:0]
	for _, r := range id {
		switch r {
		case ':':
			if name == 0 {
				name = len(buffer)
			}
		case '_', '-', '.', '/', ' ':
		default:
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			} else if r >= unicode.MaxASCII {
				r = unicode.ToLower(r)
			}
			buffer = append(buffer, r)
		}
	}
	return buffer, name
}

// distance is the number of insertions, deletions, substitutions and transpositions of neighbours between two
// texts, or limit+1 if there are more than limit.
func distance(a, b []rune, limit int) int {
	if len(a) > len(b)+limit || len(b) > len(a)+limit {
		return limit + 1
	}
	var rows [3][MaxID + nearDistance + 1]int // b is at most limit runes longer than a spelling
	before, last, row := rows[0][:len(b)+1], rows[1][:len(b)+1], rows[2][:len(b)+1]
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		least := row[0]
		for j := range b {
			edit := 1
			if a[i] == b[j] {
				edit = 0
			}
			row[j+1] = min(last[j]+edit, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
			least = min(least, row[j+1])
		}
		if least > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit+1)
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
