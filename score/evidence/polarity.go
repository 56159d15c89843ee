package evidence

import (
	"strings"
	"unicode"
)

// spoken splits a text into lower-case words and the punctuation that separates clauses: one of
// . , ; : ! ? each as a word of its own. An apostrophe stays inside a word, everything else separates.
func spoken(text string) []string {
	words := make([]string, 0, len(text)/5)
	from := -1 // where the word being read begins
	cut := func(to int) {
		if from < 0 {
			return
		}
		word := text[from:to]
		from = -1
		if strings.ContainsFunc(word, func(c rune) bool { return unicode.IsUpper(c) || c == '’' }) {
			word = strings.ReplaceAll(strings.ToLower(word), "’", "'")
		}
		if word = strings.Trim(word, "'"); word != "" {
			words = append(words, word)
		}
	}
	for i, c := range text {
		switch {
		case 'a' <= c && c <= 'z', c == '\'', c == '’', unicode.IsLetter(c), unicode.IsDigit(c), unicode.IsMark(c),
			c == '.' && i+1 < len(text) && '0' <= text[i+1] && text[i+1] <= '9': // of a number
			if from < 0 {
				from = i
			}
			continue
		}
		cut(i)
		if strings.ContainsRune(".,;:!?", c) {
			words = append(words, string(c))
		}
	}
	cut(len(text))
	return words
}

var (
	sentenceEnds = wordSet("sentence_ends")
	// What stands before one of these is another statement.
	clauseEnds = wordSet("clause_ends")
	negators   = wordSet("negators")
	// not only, no doubt, no other: the negator does not deny the claim.
	notNegating  = wordSet("not_negating")
	prepositions = wordSet("prepositions")
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
