package evaluate

import (
	"cmp"
	"strings"
	"unicode"

	"waymark/episodic"
)

// groupOf names what an episode repeats: its request without numbers, quoted text, names and dates; the session of
// an episode without a request; else the episode alone. Episodes of one group are history together or held out
// together, for near copies on both sides measure memory alone.
func groupOf(e *episodic.Episode) string {
	return cmp.Or(template(e.Intent), e.Session, e.ID)
}

// template is a request without what changes from one instance to the next.
func template(request string) string {
	var kept []string
	quote := rune(0)
	begins := true // a sentence: its first word may be capitalised without being a name
	for _, field := range strings.Fields(request) {
		first, last := []rune(field)[0], []rune(field)[len([]rune(field))-1]
		if quote == 0 && strings.ContainsRune(opening, first) {
			quote = closing[first]
		}
		word := strings.TrimFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		name := unicode.IsUpper(first) && !begins || strings.ContainsFunc(word, unicode.IsDigit)
		if quote == 0 && !name && word != "" && !dates[strings.ToLower(word)] {
			kept = append(kept, strings.ToLower(word))
		}
		if quote != 0 && strings.ContainsRune(field[1:], quote) {
			quote = 0
		}
		begins = strings.ContainsRune(".!?:", last)
	}
	return strings.Join(kept, " ")
}

const opening = "\"'`\u201c\u2018\u00ab"

var closing = map[rune]rune{'"': '"', '\'': '\'', '`': '`', '\u201c': '\u201d', '\u2018': '\u2019', '\u00ab': '\u00bb'}

var dates = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields("monday tuesday wednesday thursday friday saturday sunday january february march april may june july " +
		"august september october november december today tomorrow yesterday") {
		m[w] = true
	}
	return m
}()

// spread marks about n of the examples as tests, evenly over all and whole groups at a time. Groups of more than n
// are history; where there are no others, single examples are spread.
func spread(examples []Example, n int) {
	size, small := map[string]int{}, 0
	for i := range examples {
		size[groupOf(&examples[i].Episode)]++
	}
	for _, k := range size {
		if k <= n {
			small += k
		}
	}
	if small < 2*n { // what repeats is all there is
		for i := range examples {
			if i*n/len(examples) != (i+1)*n/len(examples) {
				examples[i].Split = Test
			}
		}
		return
	}
	seen, taken := 0, 0
	held := map[string]bool{}
	for i := range examples {
		g := groupOf(&examples[i].Episode)
		if out, known := held[g]; known {
			if out {
				examples[i].Split = Test
			}
			continue
		}
		if size[g] > n {
			continue
		}
		if seen += size[g]; taken < seen*n/small {
			taken += size[g]
			held[g] = true
			examples[i].Split = Test
			continue
		}
		held[g] = false
	}
}
