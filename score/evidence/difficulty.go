package evidence

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"waymark/semantic"
)

// A Difficulty says whether a question is worth hypotheses of its own.
type Difficulty struct {
	Words    int      `json:"words"`
	Entities []string `json:"entities"` // named things, each once, in order
	Easy     bool     `json:"easy"`     // fewer than EasyEntities and fewer than EasyWords
}

// A question below both is easy: it is answered by plain retrieval.
const easyEntities, easyWords = 3, 25

// Assess looks at the words of a question alone. A named entity is a run of words that begin with a
// capital or hold a digit beside letters (Lake Baikal, p53, HTTP/2); the first word of a sentence counts
// only if it is no stop word and has another capital, a digit, or is followed by such a word.
func Assess(question string) Difficulty {
	d := Difficulty{Entities: []string{}}
	var (
		run     []string
		starts  = true // a sentence
		bare    bool   // the run is the first word of a sentence with nothing but its capital
		entered = map[string]bool{}
	)
	end := func() {
		if len(run) > 0 && (!bare || len(run) > 1) {
			name := strings.Join(run, " ")
			if !entered[name] {
				entered[name] = true
				d.Entities = append(d.Entities, name)
			}
		}
		run, bare = nil, false
	}
	for field := range strings.FieldsSeq(question) {
		word := strings.TrimFunc(field, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
		if word == "" {
			end()
			continue
		}
		d.Words++
		if !named(word) || starts && isStop(word) {
			end()
		} else {
			if starts && len(run) == 0 {
				bare = !emphatic(word)
			}
			run = append(run, strings.TrimSuffix(strings.TrimSuffix(word, "'s"), "’s"))
		}
		starts = false
		if last := field[len(field)-1]; strings.IndexByte(".,;:!?)]", last) >= 0 {
			end()
			starts = strings.IndexByte(".:!?", last) >= 0
		}
	}
	end()
	d.Easy = len(d.Entities) < easyEntities && d.Words < easyWords
	return d
}

// named reports whether a word begins with a capital or is emphatic. I is no name.
func named(word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	return word != "I" && (unicode.IsUpper(first) || emphatic(word))
}

// emphatic reports whether a word has a capital after its first letter, or a digit beside letters.
func emphatic(word string) bool {
	letters, digits := false, false
	for i, c := range word {
		if i > 0 && unicode.IsUpper(c) {
			return true
		}
		letters = letters || unicode.IsLetter(c)
		digits = digits || unicode.IsDigit(c)
	}
	return letters && digits
}

// isStop reports whether a word is a stop word: beside another word, it is left out.
func isStop(word string) bool { return len(semantic.Tokens("x "+word)) == 1 }
