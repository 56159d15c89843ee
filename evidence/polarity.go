package evidence

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// spoken splits a text into lower-case words and the punctuation that separates clauses: one of
// . , ; : ! ? each as a word of its own. An apostrophe stays inside a word, everything else separates.
func spoken(text string) []string {
	var (
		words []string
		word  []byte
	)
	cut := func() {
		if w := strings.Trim(string(word), "'"); w != "" {
			words = append(words, w)
		}
		word = word[:0]
	}
	for i, c := range text {
		switch {
		case unicode.IsLetter(c), unicode.IsDigit(c), unicode.IsMark(c):
			word = utf8.AppendRune(word, unicode.ToLower(c))
		case c == '\'' || c == '’':
			word = append(word, '\'')
		case c == '.' && i+1 < len(text) && '0' <= text[i+1] && text[i+1] <= '9':
			word = append(word, '.') // of a number
		case strings.ContainsRune(".,;:!?", c):
			cut()
			words = append(words, string(c))
		default:
			cut()
		}
	}
	cut()
	return words
}

var (
	sentenceEnds = set(".", ";", ":", "!", "?")
	// What stands before one of these is another statement.
	clauseEnds = set(".", ",", ";", ":", "!", "?", "and", "but", "however", "yet", "although", "though", "whereas", "while",
		"because", "since", "so", "therefore", "nevertheless", "nonetheless")
	negators = set("not", "no", "never", "none", "nothing", "nobody", "nowhere", "neither", "nor", "cannot", "without",
		"hardly", "scarcely", "rarely", "barely", "non", "lack", "lacks", "lacked", "lacking", "absence")
	// not only, no doubt: the negator denies nothing.
	notNegating  = set("only", "just", "merely", "simply", "doubt", "least")
	prepositions = set("with", "to", "of", "for", "on", "in", "by", "at", "from", "about")
)

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

func negates(words []string, i int) bool {
	if !negators[words[i]] && !strings.HasSuffix(words[i], "n't") {
		return false
	}
	return i+1 >= len(words) || !notNegating[words[i+1]]
}

// denies reports whether a statement denies something: an odd number of negators and failures.
func denies(words []string) bool {
	odd := false
	for i := range words {
		if negates(words, i) || forms["fail"][words[i]] {
			odd = !odd
		}
	}
	return odd
}
