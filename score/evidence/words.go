package evidence

import (
	_ "embed"
	"math"
	"regexp"
	"slices"
	"strings"

	"waymark/score"
	"waymark/suggest/semantic"
)

//go:embed words.yaml
var wordsSource []byte

// tables are the words of words.yaml, which explains them.
var tables = score.MustDecode[struct {
	Signs []struct {
		Name    string `json:"name"`
		Turns   bool   `json:"turns"`
		Pattern string `json:"pattern"`
	} `json:"signs"`
	ClauseEnds  []string     `json:"clause_ends"`
	Pointers    []string     `json:"pointers"`
	Conditions  []string     `json:"conditions"`
	Auxiliaries []string     `json:"auxiliaries"`
	Opposites   [][][]string `json:"opposites"`

	Texts map[string]string `json:"texts"`
}](wordsSource)

var (
	clauseEnd = regexp.MustCompile(`(?:^| )(?:(?:[.,;:!?]|` + strings.Join(tables.ClauseEnds, "|") + `)(?: |$))+`)
	pointer   = regexp.MustCompile(`\b(?:` + strings.Join(tables.Pointers, "|") + `)\b`)
	without   = regexp.MustCompile(`\b(?:without|non|lack|lacks|lacked|lacking|absence)\b`)
	condition = regexp.MustCompile(`^(?:` + strings.Join(tables.Conditions, "|") + `)\b`)
	// anySign has one group for each of tables.Signs; the first one that matches counts.
	anySign = func() *regexp.Regexp {
		form := strings.NewReplacer("~ ", `(?:\S+ ){0,2}?`, "*", `\S*`, "<not>", `(?:not|never|cannot|\S+n't)`, "(", "(?:")
		var groups []string
		for _, s := range tables.Signs {
			groups = append(groups, "("+form.Replace(s.Pattern)+")")
		}
		return regexp.MustCompile(`\b(?:` + strings.Join(groups, "|") + `)\b`)
	}()
	// apartFromOthers starts a new clause at a contrast, and keeps "not because" from ending one.
	apartFromOthers = strings.NewReplacer(" rather than ", " , rather than ", " instead of ", " , instead of ",
		"not because", "not-because", "n't because", "n't-because")
)

// Names of signs that are not markers. A denial counts in a clause with half of the words of the hypothesis, and a
// contrast, "rather than X", in a clause with any of them.
const denial, contrast = "denied", "contrast"

// A stance is a hypothesis in the form in which statements are compared with it.
type stance struct {
	// Plain text of the hypothesis without its rationale, which may mention evidence.
	claim string
	// Stems of the claim (terms), and of claim and rationale (about).
	terms, about []string
	// denies is set if the claim denies something. without is set if it says "without X": this neither affirms nor
	// denies X plainly, so only markers contradict it.
	denies, without bool
	// Markers that the claim has itself.
	markers []string
}

func stanceOf(h Hypothesis) stance {
	s := stance{claim: plain(h.Text), terms: terms(h.Text), about: terms(h.Text + " " + h.Rationale)}
	s.denies, s.markers, _ = s.signs(s.claim)
	s.without = without.MatchString(s.claim)
	return s
}

// signs looks for negators, markers and other denials. Each of these signs reverses a statement, so the statement
// denies something if their number is odd. "No evidence" followed by "against" or "failure" is no sign, unless the
// claim has that last word. signs returns the markers that no sign before them negates.
//
//	does not contradict          not, contradict: even
//	no evidence of failure       no sign
//	no doubt it contradicts it   contradict: odd
func (s stance) signs(statement string) (odd bool, markers []string, contrasts bool) {
	for _, at := range anySign.FindAllStringSubmatchIndex(statement, -1) {
		group := 0
		for at[2*group+2] < 0 {
			group++
		}
		sign, words := tables.Signs[group], statement[at[0]:at[1]]
		last := words[strings.LastIndex(words, " ")+1:]
		if sign.Name == "" || sign.Turns && !strings.Contains(s.claim, last[:4]) {
			continue
		}
		contrasts = contrasts || sign.Name == contrast
		if !odd && sign.Name != denial && sign.Name != contrast && !slices.Contains(s.markers, sign.Name) {
			markers = append(markers, sign.Name)
		}
		odd = !odd
	}
	return odd, markers, contrasts
}

// opposed returns the sign by which a snippet contradicts the hypothesis: a marker, "denied", or "" for none. It reads
// each sentence by itself. A sentence counts if it has at least half as many words of the hypothesis as any other, or
// if it refers to such a sentence just before it, as in "This was refuted".
func (s stance) opposed(snippet string) string {
	all := sentences(snippet)
	shares := []float64{0}
	for _, sentence := range all {
		shares = append(shares, overlap(terms(sentence), s.about))
	}
	most := slices.Max(shares)
	for i, sentence := range all {
		if 2*shares[i+1] >= most || i > 0 && 2*shares[i] >= most && pointer.MatchString(sentence) {
			if m := s.against(sentence); m != "" {
				return m
			}
		}
	}
	return ""
}

// against returns the sign by which one sentence contradicts the hypothesis. A clause with half of its words denies it
// if only one of the two denies something, unless another clause with more of its words affirms it. A clause with a
// marker contradicts it even with fewer words, if it refers to the hypothesis or if no other clause is about it. Of a
// contrast, "not A but B" or "rather than A, B", the part with more of the hypothesis counts. Questions and conditions
// deny nothing.
func (s stance) against(sentence string) string {
	if strings.HasSuffix(sentence, "?") {
		return ""
	}
	// Shares of the words of the hypothesis: in a clause that denies it, and in one that affirms what it denies.
	const half, all = .5, .75
	denied, affirmed, least := 0.0, 0.0, half
	for _, clause := range clauseEnd.Split(apartFromOthers.Replace(sentence), -1) {
		share := overlap(terms(clause), s.terms)
		odd, markers, contrasts := s.signs(clause)
		about := share > 0 || pointer.MatchString(clause) || overlap(terms(sentence), s.terms) == 0
		if len(markers) > 0 && about && odd != (s.denies && share >= half) {
			return markers[0]
		}
		if odd == s.denies {
			affirmed = max(affirmed, share)
			continue
		}
		denied = max(denied, share)
		if contrasts && share > 0 {
			least = min(least, share)
		}
	}
	switch {
	case s.without, condition.MatchString(sentence):
	case !s.denies && denied >= least && denied >= affirmed, s.denies && denied >= all && denied > affirmed:
		return denial
	}
	return ""
}

// terms returns the distinct stems of a text in alphabetical order. Stop words count only if there is nothing else.
func terms(text string) []string {
	return slices.Compact(slices.Sorted(slices.Values(semantic.Tokens(text))))
}

// stems returns the stems of a word, or none for a stop word, which is left out beside another word.
func stems(word string) []string {
	return slices.Compact(slices.Sorted(slices.Values(semantic.Tokens("x " + word)[1:])))
}

// common counts the elements that two increasing lists share.
func common(a, b []string) (n int) {
	for _, w := range a {
		if _, both := slices.BinarySearch(b, w); both {
			n++
		}
	}
	return n
}

// overlap is |snippet ∩ hypothesis| / |hypothesis|: the share of the hypothesis that the snippet mentions. Dividing by
// the hypothesis alone keeps long snippets comparable; dividing by its own stems keeps long hypotheses from winning.
func overlap(snippet, hypothesis []string) float64 {
	return float64(common(snippet, hypothesis)) / float64(max(1, len(hypothesis)))
}

// cosine is |a ∩ b| / √(|a|·|b|).
func cosine(a, b []string) float64 {
	return float64(common(a, b)) / math.Sqrt(float64(max(1, len(a)*len(b))))
}

// jaccard is |a ∩ b| / |a ∪ b|.
func jaccard(a, b []string) float64 {
	n := common(a, b)
	return float64(n) / float64(max(1, len(a)+len(b)-n))
}

var spokenWord = regexp.MustCompile(`(?:[\pL\p{Nd}\pM']|\.\d)+|[.,;:!?]`)

// plain returns a text as lower-case words with one space between them, and each of . , ; : ! ? as a word of its own.
// An apostrophe stays inside a word.
func plain(text string) string {
	var words []string
	for _, w := range spokenWord.FindAllString(strings.ReplaceAll(strings.ToLower(text), "’", "'"), -1) {
		words = append(words, strings.Fields(strings.Trim(w, "'"))...)
	}
	return strings.Join(words, " ")
}

// sentenceEnd matches the end of a sentence. A point before a lower-case letter ends an abbreviation instead.
var sentenceEnd = regexp.MustCompile(`[.!?][ \t]+[^a-z \t]|\n`)

// sentences splits a text into plain sentences.
func sentences(text string) (all []string) {
	from := 0
	for _, at := range append(sentenceEnd.FindAllStringIndex(text, -1), []int{len(text) - 1}) {
		if s := plain(text[from : at[0]+1]); s != "" {
			all = append(all, s)
		}
		from = at[0] + 1
	}
	return all
}
