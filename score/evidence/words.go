package evidence

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"waymark/semantic"
)

// terms returns the distinct stems of a text in alphabetical order. Stop words count only if there is nothing else.
func terms(text string) []string {
	return slices.Compact(slices.Sorted(slices.Values(semantic.Tokens(text))))
}

// stems returns the stems of a word, none for a stop word: beside another word it is left out.
func stems(word string) []string {
	return slices.Compact(slices.Sorted(slices.Values(semantic.Tokens("x " + word)[1:])))
}

// common counts what two increasing lists share.
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

// plain writes a text as lower-case words with one space between them, and each of . , ; : ! ? as a word of its own. An
// apostrophe stays inside a word.
func plain(text string) string {
	var words []string
	for _, w := range spokenWord.FindAllString(strings.ReplaceAll(strings.ToLower(text), "’", "'"), -1) {
		words = append(words, strings.Fields(strings.Trim(w, "'"))...)
	}
	return strings.Join(words, " ")
}

// sentenceEnd is a place where a sentence ends; before a small letter a point ends an abbreviation.
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
