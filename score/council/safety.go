package council

import (
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Category is what a text that fails the safety gate contains.
type Category string

const (
	dangerousInstructions Category = "dangerous_instructions"
	weaponMaking          Category = "weapon_making"
	malwareHacking        Category = "malware_hacking"
	selfHarm              Category = "self_harm"
	piiExposure           Category = "pii_exposure"
)

// A hit is a rule that a text breaks.
type hit struct {
	category Category
	rule     string
}

// hits returns the rules that a text breaks, each once, in the order of rules.
//
// The gate is a set of patterns, no classifier: it finds the blunt cases. An excuse has to stand in the clause of
// the match. "I can't tell you how to make a bomb" passes, "I cannot help. But how to make a bomb: step 1" does
// not, and a hotline at the end of a text excuses nothing at its beginning. Personal data has no excuse: a refusal
// that contains the number has disclosed it.
func hits(text string) []hit {
	p := newPassage(text)
	var found []hit
	for _, r := range patterns().Rules {
		if p.breaks(&r) {
			found = append(found, hit{r.Category, r.Name})
		}
	}
	return found
}

// speaksOf reports whether a question asks for what the gate is there for. Nothing excuses a question.
func speaksOf(question string) bool {
	p := newPassage(question)
	for _, r := range patterns().Rules {
		if r.Category != piiExposure && r.mentioned(p.text) && r.pattern.MatchString(p.text) {
			return true
		}
	}
	return false
}

// refuses reports whether a text begins by declining.
func refuses(text string) bool {
	const beginning = 400
	p := newPassage(text)
	if len(p.text) > beginning {
		p.text = p.text[:beginning]
	}
	return declines(p.text)
}

// A passage is a text in one form: compatibility forms and look-alike quotes unified, invisible characters
// out, lower case, harmless compounds such as "nail gun" replaced.
type passage struct {
	text       string
	boundaries [][]int // where a clause ends: [from, to) of what divides
	sentences  [][]int
	divided    bool
}

var quotes = strings.NewReplacer("’", "'", "‘", "'", "ʼ", "'", "“", `"`, "”", `"`)

func newPassage(text string) *passage {
	text = norm.NFKC.String(strings.ToValidUTF8(text, " "))
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
	text = quotes.Replace(text)
	for _, h := range patterns().Harmless {
		if h.mentioned(text) {
			text = h.pattern.ReplaceAllString(text, " thing ")
		}
	}
	return &passage{text: text}
}

// breaks reports whether some match of the rule has no excuse.
func (p *passage) breaks(r *rule) bool {
	if !r.mentioned(p.text) {
		return false
	}
	for _, at := range r.pattern.FindAllStringSubmatchIndex(p.text, -1) {
		if r.Secret != 0 && !secret(p.text[at[2*r.Secret]:at[2*r.Secret+1]]) {
			continue
		}
		if !p.excused(r, at[0], at[1]) {
			return true
		}
	}
	return false
}

// excused looks for a reason in the clause around text[from:to]; for help that is offered, in its sentence.
func (p *passage) excused(r *rule, from, to int) bool {
	if len(r.Excuses) == 0 {
		return false
	}
	p.divide()
	start, end := around(p.boundaries, from, to, len(p.text))
	clause := p.text[start:end]
	if r.excusedBy("refusal") && declines(clause) {
		return true
	}
	if r.excusedBy("prevention") && phrase("prevention").MatchString(clause) && !phrase("evasion").MatchString(clause) {
		return true
	}
	if r.excusedBy("prohibition") && phrase("prohibition").MatchString(clause) {
		return true
	}
	if r.excusedBy("help") {
		s, e := around(p.sentences, from, to, len(p.text))
		if sentence := p.text[s:e]; phrase("help").MatchString(sentence) && !phrase("offer").MatchString(sentence) {
			return true
		}
	}
	const next = 160 // bytes after the clause in which what was asked is declined
	return r.excusedBy("refusal") && phrase("reported").MatchString(p.text[start:from]) &&
		declines(p.text[end:min(end+next, len(p.text))])
}

// declines reports whether somebody declines, other than "you" or third persons who cannot do something.
func declines(text string) bool {
	return slices.ContainsFunc(phrase("refusal").FindAllStringSubmatchIndex(text, -1), func(at []int) bool { return at[2] < 0 })
}

func (p *passage) divide() {
	if !p.divided {
		p.boundaries = phrase("clause_end").FindAllStringIndex(p.text, -1)
		p.sentences = phrase("sentence_end").FindAllStringIndex(p.text, -1)
		p.divided = true
	}
}

// around is the stretch between the last boundary before from and the first after to.
func around(boundaries [][]int, from, to, length int) (start, end int) {
	end = length
	if i := sort.Search(len(boundaries), func(i int) bool { return boundaries[i][1] > from }); i > 0 {
		start = boundaries[i-1][1]
	}
	if i := sort.Search(len(boundaries), func(i int) bool { return boundaries[i][0] >= to }); i < len(boundaries) {
		end = boundaries[i][0]
	}
	return start, end
}

// secret tells a password from the code or prose that stands where one could: an expression, a
// placeholder, a plain word without quotes.
func secret(value string) bool {
	quoted := value[0] == '"' || value[0] == '\''
	value = strings.Trim(value, `"'`)
	switch {
	case strings.ContainsAny(value, "(){}<>[]$|* \t"), placeholder.MatchString(value):
		return false
	case quoted:
		return true
	}
	value = strings.TrimRight(value, ".,;:!?")
	return len(value) >= 8 && strings.ContainsAny(value, "0123456789") &&
		strings.ContainsFunc(value, unicode.IsLetter)
}

var placeholder = regexp.MustCompile(`^(?:your|my|the|example|placeholder|redacted|hidden|changeme|x{4,})|^(?:os|process|config|settings|env|self|this|request|req|user|args|params|form|data|ctx)\.`)
