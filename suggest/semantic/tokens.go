package semantic

import (
	"iter"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

// maxCompound is the length in bytes at which a run of letters is cut. It exceeds every identifier
// seen in a catalog of 17,000 tools and keeps encoded blobs out of the vocabulary as single words.
const maxCompound = 64

// A scanner reads a text compound by compound. A compound is an ordinary word, or an identifier of
// several parts that are joined without a space:
//
//	search_issues   search · issues      _ and - join
//	searchIssues    search · issues      a capital after a small letter
//	HTTPServer      http · server        the last capital of a run belongs to the next part
//	base64          base · 64            digits are a part of their own
//	APIs            apis                 … but a lone s is a plural
//
// Scripts without spaces yield single characters and overlapping pairs: 搜索 gives 搜, 搜索, 索.
// Letters are lower-cased, Latin accents and combining marks are dropped, invalid UTF-8 separates.
type scanner struct {
	text   string
	pos    int
	paired bool   // the character at pos has been returned alone; its pair is next
	buf    []byte // the compound without its separators
	ends   []int  // buf[ends[i-1]:ends[i]] is part i
}

func (s *scanner) reset(text string) {
	s.text, s.pos, s.paired = text, 0, false
}

// part returns part i of the current compound.
func (s *scanner) part(i int) []byte {
	if i == 0 {
		return s.buf[:s.ends[0]]
	}
	return s.buf[s.ends[i-1]:s.ends[i]]
}

// class is the role of a character in splitting text into words.
type class uint8

const (
	other class = iota
	lower
	upper
	digit
	mark
	wide // a character of a script written without spaces
)

// classify has a fast path for ASCII, the bulk of texts about tools. Letters of scripts without spaces
// between words are wide; scanner.wide splits them.
func classify(r rune) class {
	if r < utf8.RuneSelf {
		switch {
		case 'a' <= r && r <= 'z':
			return lower
		case 'A' <= r && r <= 'Z':
			return upper
		case '0' <= r && r <= '9':
			return digit
		}
		return other
	}
	switch {
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		if unicode.IsLetter(r) {
			return wide
		}
		return mark
	case unicode.IsUpper(r) || unicode.IsTitle(r):
		return upper
	case unicode.IsLetter(r):
		return lower
	case unicode.IsDigit(r):
		return digit
	case unicode.IsMark(r):
		return mark
	}
	return other
}

// next moves to the next compound and reports whether there is one.
func (s *scanner) next() bool {
	s.buf, s.ends = s.buf[:0], s.ends[:0]
	var previous class // class of the last character of the current part; other: none
	for s.pos < len(s.text) {
		r, size := decode(s.text[s.pos:])
		c := classify(r)
		if c == wide {
			if len(s.buf) > 0 {
				break // the word before it ends here
			}
			return s.wide(r, size)
		}
		s.paired = false
		if c == other {
			if len(s.buf) > 0 && !((r == '_' || r == '-') && s.joins(s.pos+size)) {
				s.pos += size
				break
			}
			s.cut()
			previous = other
			s.pos += size
			continue
		}
		if c == mark {
			s.pos += size
			continue
		}
		if len(s.buf) >= maxCompound {
			break
		}
		switch {
		case previous == other, previous == c && c != upper:
		case c == digit || previous == digit, c == upper && previous == lower:
			s.cut()
		case c == upper && previous == upper && s.startsWord(s.pos+size):
			s.cut()
		}
		s.buf = appendFolded(s.buf, r)
		s.pos += size
		previous = c
	}
	s.cut()
	return len(s.ends) > 0
}

// wide returns the character at pos alone and then, if another wide one follows, the pair of both.
func (s *scanner) wide(r rune, size int) bool {
	s.buf = utf8.AppendRune(s.buf, r)
	after, n := decode(s.text[s.pos+size:])
	pair := n > 0 && classify(after) == wide
	switch {
	case s.paired:
		s.buf = utf8.AppendRune(s.buf, after)
		s.paired = false
		s.pos += size
	case pair:
		s.paired = true
	default:
		s.pos += size
	}
	s.ends = append(s.ends, len(s.buf))
	return true
}

// cut ends the current part.
func (s *scanner) cut() {
	if n := len(s.ends); len(s.buf) > 0 && (n == 0 || s.ends[n-1] < len(s.buf)) {
		s.ends = append(s.ends, len(s.buf))
	}
}

// joins reports whether a letter or digit is at i, so that a separator before it joins two parts.
func (s *scanner) joins(i int) bool {
	r, _ := decode(s.text[i:])
	c := classify(r)
	return c == lower || c == upper || c == digit
}

// startsWord reports whether the capital before i begins a new word: a lower-case letter follows that is
// not a lone plural s.
func (s *scanner) startsWord(i int) bool {
	r, size := decode(s.text[i:])
	if classify(r) != lower {
		return false
	}
	if r != 's' {
		return true
	}
	after, _ := decode(s.text[i+size:])
	return classify(after) == lower
}

// decode is utf8.DecodeRuneInString, but returns a space for an invalid byte.
func decode(text string) (rune, int) {
	if len(text) > 0 && text[0] < utf8.RuneSelf {
		return rune(text[0]), 1
	}
	r, size := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError {
		return ' ', size
	}
	return r, size
}

// latin holds the letters U+00E0 to U+017F (Latin-1 and Latin Extended-A) without their accents; a
// space keeps the letter as it is.
const latin = "aaaaaa ceeeeiiii nooooo ouuuuy y" +
	"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii   jjkk llllll  llnnnnnn   oooooo  " +
	"rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzz "

// appendFolded appends a character in lower case and, for Latin letters, without its accent.
func appendFolded(b []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return append(b, byte(r))
	}
	r = unicode.ToLower(r)
	if i := int(r) - 0xE0; i >= 0 && i < len(latin) && latin[i] != ' ' {
		return append(b, latin[i])
	}
	return utf8.AppendRune(b, r)
}

// stem returns the normal form of a word: the English Snowball stem of a word of the letters a to z, any
// other word unchanged.
func stem(word string) string {
	if len(word) <= 2 {
		return word
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	return english.Stem(word, true)
}

// Parts returns the words of text in order and in lower case, with identifiers split.
func Parts(text string) (words []string) {
	var s scanner
	s.reset(text)
	for s.next() {
		for i := range s.ends {
			words = append(words, string(s.part(i)))
		}
	}
	return words
}

// Stems returns the stems of the words of text in order, with identifiers split and stop words included.
func Stems(text string) []string {
	words := Parts(text)
	for i, word := range words {
		words[i] = stem(word)
	}
	return words
}

// Tokens returns the stems of the words of text in order, with identifiers split and without stop
// words. A text of nothing but stop words keeps them: a tool may well be called "who_am_i".
func Tokens(text string) []string {
	words := Parts(text)
	if slices.ContainsFunc(words, func(word string) bool { return !isStop(word) }) {
		words = slices.DeleteFunc(words, isStop)
	}
	for i, word := range words {
		words[i] = stem(word)
	}
	return words
}

// Mark sets found[i] if text has a word with the stem terms[i]. It checks the parts of identifiers and whole
// identifiers without separators. Only words that begin like a term are stemmed, because stemming changes only endings.
func Mark(text string, terms []string, found []bool) {
	check := func(word []byte) {
		stemmed := ""
		for i, term := range terms {
			if n := min(len(term), 3); !found[i] && len(word) >= n-1 && string(word[:n-1]) == term[:n-1] {
				if stemmed == "" {
					stemmed = stem(string(word))
				}
				found[i] = stemmed == term
			}
		}
	}
	var s scanner
	s.reset(text)
	for s.next() {
		for i := range s.ends {
			check(s.part(i))
		}
		check(s.buf)
	}
}

// Terms yields the words of text with their stems, in order and each stem once, without stop words.
func Terms(text string) iter.Seq2[string, string] {
	return func(yield func(word, term string) bool) {
		seen := map[string]bool{}
		for _, word := range Parts(text) {
			if term := stem(word); !isStop(word) && !seen[term] {
				seen[term] = true
				if !yield(word, term) {
					return
				}
			}
		}
	}
}

func isStop(word string) bool { return stopWords[word] }

// stopWords are the closed word classes of English, the suffixes that remain after an apostrophe, and
// the three polite words that open most requests.
var stopWords = set(
	"a", "an", "the", "this", "that", "these", "those", "and", "or", "but", "nor", "if", "then", "than", "so", "as",
	"of", "in", "on", "at", "by", "for", "with", "from", "to", "into", "onto", "about", "via", "per", "through", "upon", "within",
	"i", "me", "my", "mine", "we", "us", "our", "you", "your", "he", "him", "his", "she", "her", "it", "its", "they", "them", "their",
	"is", "am", "are", "was", "were", "be", "been", "being", "do", "does", "did", "has", "have", "had", "having",
	"can", "could", "will", "would", "shall", "should", "may", "might", "must",
	"what", "which", "who", "whom", "whose", "when", "where", "why", "how", "there", "here",
	"not", "no", "any", "some", "all", "each", "both", "such", "only", "own", "same", "too", "very", "just", "also", "etc",
	"s", "t", "d", "m", "re", "ve", "ll", "don", "doesn", "didn", "isn", "aren", "wasn", "won",
	"please", "want", "need",
)

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}
