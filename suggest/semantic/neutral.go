package semantic

import (
	"strings"
	"unicode"
)

// ProperNames returns, in lower case, the words that text writes with a capital in mid-sentence and never without one.
func ProperNames(text string) map[string]bool {
	names, plain := map[string]bool{}, map[string]bool{}
	begins := true // at the start of a sentence
	for len(text) > 0 {
		i := strings.IndexFunc(text, unicode.IsLetter)
		if i < 0 {
			break
		}
		begins = begins || strings.ContainsAny(text[:i], ".!?:\n")
		text = text[i:]
		n := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if n < 0 {
			n = len(text)
		}
		word := text[:n]
		text = text[n:]
		capital := strings.IndexFunc(word, unicode.IsUpper) == 0
		switch lower := strings.ToLower(word); {
		case capital && !begins:
			names[lower] = true
		case !capital:
			plain[lower] = true
		}
		begins = false
	}
	for word := range plain {
		delete(names, word)
	}
	return names
}

// neutralWords are words beyond the stop words that occur in requests of any kind: they describe neither the action nor
// its object.
var neutralWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`
		myself yours ours one ones someone anyone everyone nobody somebody anybody everybody something anything
		everything nothing thing things stuff else other others another off out over up down without above below
		under between before after since until till during while because across against along around behind
		beside beyond near plus minus like done doing ought cannot wants wanted needs needed wish likes liked
		love prefer hope thanks thank hi hello hey dear kindly sorry ok okay yes never none neither get gets got
		getting give gives gave given giving go goes going went gone let lets make makes made making take takes
		took taken taking put puts keep keeps kept keeping come comes came coming know knows knew known see sees
		saw seen seeing look looks looked looking tell tells told telling say says said saying ask asks asked
		asking think thinks thought try tries tried trying use uses used using help helps helped helping show
		shows showed shown work works worked working seem seems happen happens happened mean means now today
		tonight tomorrow yesterday day days week weeks weekend month months year years hour hours minute minutes
		second seconds morning afternoon evening night noon midnight time times date moment soon later ago
		already still yet again always often sometimes usually once twice recently currently monday tuesday
		wednesday thursday friday saturday sunday january february march april june july august september october
		november december first last next previous early earlier late latest recent new newest old oldest current
		final every few fewer many more most much less least little lot lots several enough half whole entire
		zero two three four five six seven eight nine ten eleven twelve hundred thousand million dozen third
		fourth fifth good better best bad worse worst big bigger biggest small smaller smallest large larger
		largest long longer short shorter high higher low lower great nice right wrong sure able possible really
		quite rather almost nearly maybe perhaps probably actually exactly approximately roughly even ever
		together away back instead therefore however though although otherwise quickly fast easily immediately
		urgent urgently directly simply especially way ways kind sort type part bit piece name number amount
		total people person man woman friend friends boss colleague colleagues team family guy guys`) {
		m[w] = true
	}
	return m
}()

// Neutral reports whether a word, other than a stop word, occurs in requests of any kind.
func Neutral(word string) bool { return neutralWords[word] }

// stemWeights holds the weights of stems for comparing requests with one another; all others have weight 1.
var stemWeights = func() map[string]float64 {
	m := map[string]float64{}
	for word := range neutralWords {
		m[stem(word)] = .3
	}
	for word := range stopWords {
		m[stem(word)] = .1
	}
	return m
}()

// Weight returns the weight of a stem for comparing requests with one another: .1 for a stop word, .3 for a neutral
// one, else 1. Requests that share only "let everybody know" are not for the same thing.
func Weight(stem string) float64 {
	if w, ok := stemWeights[stem]; ok {
		return w
	}
	return 1
}
