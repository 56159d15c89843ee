package evidence

import (
	_ "embed"
	"maps"
	"slices"
	"strings"

	"waymark/score/rubric"
)

//go:embed words.yaml
var wordsSource []byte

var tables = rubric.MustDecode[struct {
	Markers []marker            `json:"markers"`
	Forms   map[string][]string `json:"forms"`
	Against []string            `json:"against"`
	Denials []string            `json:"denials"`
	Words   map[string][]string `json:"words"`
	Verbs   struct {
		Pairs [][2]string       `json:"pairs"`
		Alone []string          `json:"alone"`
		Past  map[string]string `json:"past"` // irregular forms
	} `json:"verbs"`
}](wordsSource)

// wordSet returns the words of that name.
func wordSet(name string) map[string]bool {
	list, ok := tables.Words[name]
	if !ok {
		panic("evidence: words.yaml has no " + name)
	}
	return set(list...)
}

// A marker is a way to say that evidence speaks against something; words.yaml explains the pattern.
type marker struct {
	Name    string   `json:"name"`
	Pattern []string `json:"pattern"`
	Takes   bool     `json:"takes"` // what follows is what there is no evidence of, or what fails
}

// heads are the markers by the first two letters of their first word, in the order of the table: most
// words begin none. Those that begin with the negation of a verb are also under "n't".
var heads = func() map[string][]marker {
	heads := map[string][]marker{}
	for _, m := range tables.Markers {
		words := []string{strings.TrimSuffix(m.Pattern[0], "*")}
		if name, isForm := strings.CutPrefix(words[0], "<"); name == "not>" {
			words = []string{"not", "never", "cannot", "n't"}
		} else if isForm {
			words = slices.Sorted(maps.Keys(forms[strings.TrimSuffix(name, ">")]))
		}
		keys := map[string]bool{}
		for _, w := range words {
			keys[head(w)] = true
		}
		for k := range keys {
			heads[k] = append(heads[k], m)
		}
	}
	return heads
}()

func head(word string) string {
	if strings.HasSuffix(word, "n't") {
		return "n't"
	}
	return word[:min(2, len(word))]
}

// forms are the forms of a word in angle brackets.
var forms = func() map[string]map[string]bool {
	forms := map[string]map[string]bool{}
	for name, list := range tables.Forms {
		forms[name] = set(list...)
	}
	return forms
}()

func fits(pattern, word string) bool {
	if stem, open := strings.CutSuffix(pattern, "*"); open {
		return strings.HasPrefix(word, stem)
	}
	if pattern[0] != '<' {
		return pattern == word
	}
	if pattern == "<not>" {
		return word == "not" || word == "never" || word == "cannot" || strings.HasSuffix(word, "n't")
	}
	return forms[pattern[1:len(pattern)-1]][word]
}

// end returns where the marker that begins at word i ends, or 0.
func (m marker) end(words []string, i int) int {
	if !fits(m.Pattern[0], words[i]) || negators[words[i]] && !negates(words, i) {
		return 0
	}
	i++
	for p, pattern := range m.Pattern[1:] {
		if pattern == "~" {
			for skip := 0; skip <= 2 && i+skip < len(words) && !clauseEnds[words[i+skip]]; skip++ {
				if fits(m.Pattern[p+2], words[i+skip]) {
					i += skip
					break
				}
			}
			continue
		}
		if i >= len(words) || !fits(pattern, words[i]) {
			return 0
		}
		i++
	}
	return i
}

// A reading is a hypothesis as markers see it.
type reading struct {
	words  []string // distinct, of the claim
	denies bool
	turned bool            // denies, also by verbs and adjectives
	terms  map[string]bool // stems of the claim
	about  map[string]bool // and of the rationale
}

// read takes words and denial from the claim alone: a rationale may well speak of evidence.
func read(h Hypothesis) reading {
	words := spoken(h.Text)
	r := reading{denies: denies(words), turned: turned(words), terms: stems(h.Text), about: stems(h.Text + " " + h.Rationale)}
	slices.Sort(words)
	r.words = slices.Compact(words)
	return r
}

func stems(text string) map[string]bool {
	of := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		for _, stem := range stemmed.of(word) {
			of[stem] = true
		}
	}
	return of
}

func (r reading) has(pattern string) bool {
	return slices.ContainsFunc(r.words, func(w string) bool { return fits(pattern, w) })
}

// repeats reports whether the hypothesis contains all words of the marker.
func (r reading) repeats(m marker) bool {
	return !slices.ContainsFunc(m.Pattern, func(p string) bool { return p != "~" && !r.has(p) })
}

// contradiction returns the name of the marker by which a sentence speaks against the hypothesis, or "". A marker
// does not count
//
//	if it is negated                      "does not contradict", "no evidence that it fails", "fails to refute"
//	if the hypothesis itself contains it  "the job fails to start", of the hypothesis that it does
//	if its statement, after "that",       "contradicts the claim that caffeine does not raise it",
//	is the opposite of the hypothesis     of the hypothesis that caffeine does
//	if another clause of the sentence     "the log rules out a leak, which leaves the disk", of the
//	alone has words of the hypothesis     hypothesis of the disk
func contradiction(words []string, r reading) string {
	for i := range words {
		for _, m := range heads[head(words[i])] {
			if end := m.end(words, i); end > 0 && !r.repeats(m) && m.holds(words, i, end, r) && !r.elsewhere(words, i) {
				return m.Name
			}
		}
	}
	return ""
}

// elsewhere reports whether the clause of word i has nothing of the hypothesis and does not point to it, but
// another clause of the sentence has.
func (r reading) elsewhere(words []string, i int) bool {
	from, to := clauseOf(words, i)
	clause := words[from:to]
	return !points(clause) && r.share(clause, r.terms) == 0 && r.share(words, r.terms) > 0
}

// holds reports whether the marker words[i:end] says what it seems to say.
func (m marker) holds(words []string, i, end int, r reading) bool {
	if negatedBefore(words, i) {
		return false
	}
	if m.Takes {
		for j := end; j < min(end+3, len(words)) && !sentenceEnds[words[j]] && words[j] != "that"; j++ {
			for _, a := range tables.Against {
				if fits(a, words[j]) && !r.has(a) {
					return false
				}
			}
		}
	}
	claim := m.complement(words, end)
	return claim == nil || denies(claim) == r.denies
}

// negatedBefore reports whether an odd number of negators stands in the clause before word i.
func negatedBefore(words []string, i int) bool {
	odd := false
	for j := i - 1; j >= max(0, i-8) && !clauseEnds[words[j]]; j-- {
		switch {
		case words[j] == "nor": // neither confirms nor contradicts
			return !odd
		case words[j] == "without" || words[j] == "non":
			if i-j <= 3 {
				odd = !odd
			}
		case negates(words, j):
			odd = !odd
		case forms["fail"][words[j]] && words[j+1] == "to": // fails to contradict
			odd = !odd
		}
	}
	return odd
}

// complement returns the statement that a marker is about, the rest of the sentence after "that", or
// nil. In "contradicts that claim" and "inconsistent with that" the word points and begins no statement.
func (m marker) complement(words []string, end int) []string {
	for j := end; j < min(end+7, len(words)) && !sentenceEnds[words[j]]; j++ {
		if words[j] != "that" {
			continue
		}
		if j == end && !m.Takes || j > end && prepositions[words[j-1]] {
			return nil
		}
		rest := words[j+1:]
		if k := slices.IndexFunc(rest, func(w string) bool { return sentenceEnds[w] || w == "but" || w == "however" }); k >= 0 {
			rest = rest[:k]
		}
		return rest
	}
	return nil
}
