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
func common(a, b []string) int {
	n := 0
	for len(a) > 0 && len(b) > 0 {
		switch c := strings.Compare(a[0], b[0]); {
		case c < 0:
			a = a[1:]
		case c > 0:
			b = b[1:]
		default:
			n, a, b = n+1, a[1:], b[1:]
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

// sentences splits a text into plain sentences.
func sentences(text string) (all []string) {
	for text != "" {
		end := len(text)
		if at := sentenceEnd.FindStringIndex(text); at != nil {
			end = at[0] + 1
		}
		if s := plain(text[:end]); s != "" {
			all = append(all, s)
		}
		text = text[end:]
	}
	return all
}
