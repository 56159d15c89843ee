package catalog

import (
	"crypto/sha256"
	"slices"
	"strings"
	"unicode"
)

// A description that is stuffed for search repeats words, or lists many words without the function words of a
// sentence.
const (
	listedWords   = 40   // minimum number of words for the test for a keyword list
	listedSmall   = 0.04 // share of function words below which the text is a keyword list
	repeatedTimes = 8    // minimum repetitions of one word
	repeatedShare = 0.2  // minimum share of that word in all words
)

var smallWords = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("a an the and or of to in on for with by from as at is are be was it its this that these not no if when you your can will which into use used using e g i per has have all any each " +
		"de la el los las le les des et du un una une en y para con por que o os do da e em um uma no na com der die das und von zu den dem ein eine mit auf im in ist di il per che") {
		m[w] = true
	}
	return m
}()

// Stuffed reports whether a description is a list of keywords rather than a text.
func Stuffed(description string) bool {
	foreign := 0
	for _, c := range description {
		if unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
			return false // scripts without spaces between words
		}
		if c > unicode.MaxASCII && unicode.IsLetter(c) {
			foreign++
		}
	}
	words := strings.FieldsFunc(strings.ToLower(description), func(c rune) bool { return !unicode.IsLetter(c) && c != '-' && c != '_' })
	small, most, count := 0, 0, map[string]int{}
	for _, w := range words {
		if smallWords[w] {
			small++
			continue
		}
		if count[w]++; len(w) > 2 {
			most = max(most, count[w])
		}
	}
	n := len(words)
	return most >= repeatedTimes && float64(most) >= repeatedShare*float64(n) ||
		n >= listedWords && foreign < n/4 && float64(small) < listedSmall*float64(n)
}

// mostCopies is the number of tools of one server that may share a description; ordinary servers have a few
// aliases.
const mostCopies = 4

// Shape returns the same value for descriptions that differ only in digits, case, punctuation and word order.
// It is empty for a text of fewer than five words, because such texts are often alike by chance.
func Shape(description string) string {
	words := strings.FieldsFunc(strings.ToLower(description), func(c rune) bool { return !unicode.IsLetter(c) })
	if len(words) < 5 {
		return ""
	}
	slices.Sort(words)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(words), " ")))
	return string(sum[:8])
}

// Copies returns the indices of the tools, given by server and shape in order, that are copies beyond the first
// mostCopies.
func Copies(n int, of func(i int) (server, shape string)) map[int]bool {
	type family struct{ server, shape string }
	members := map[family]int{}
	copies := map[int]bool{}
	for i := range n {
		server, shape := of(i)
		if shape == "" || server == "" {
			continue
		}
		f := family{server, shape}
		if members[f]++; members[f] > mostCopies {
			copies[i] = true
		}
	}
	return copies
}
