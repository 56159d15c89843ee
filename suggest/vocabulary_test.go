package suggest

import (
	"math"
	"math/rand/v2"
	"sort"
	"strings"
)

// A tongue makes up the texts of a large catalog, seeded: 2,000 words that everybody uses and 400 of
// each of 32 trades, both by Zipf's law, and a dozen of each server's own. A description has 12 to 40
// words, half of them common, a request 3 to 8 words of the tool it is for.
type tongue struct {
	r      *rand.Rand
	verbs  []string
	common lexicon
	trades [32]lexicon
	own    [][]string // by server
	said   [][]string // by tool
}

func newTongue(tools int) *tongue {
	t := &tongue{r: rand.New(rand.NewPCG(3, 4)), said: make([][]string, tools), own: make([][]string, tools/15+1)}
	t.verbs = strings.Fields("read write list search create delete update send fetch merge deploy restart scale query export import")
	t.common = newLexicon(t.words(2000), 1)
	for i := range t.trades {
		t.trades[i] = newLexicon(t.words(400), .9)
	}
	for i := range t.own {
		t.own[i] = t.words(12)
	}
	return t
}

func (t *tongue) words(n int) []string {
	syllables := strings.Fields("ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu bra cle dri flo gru")
	all := make([]string, n)
	for i := range all {
		for range 2 + t.r.IntN(3) {
			all[i] += syllables[t.r.IntN(len(syllables))]
		}
	}
	return all
}

func (t *tongue) verb() string { return t.verbs[t.r.IntN(len(t.verbs))] }

func (t *tongue) noun(tool int) string { return t.own[tool/15][t.r.IntN(12)] }

func (t *tongue) describe(tool int) string {
	words := make([]string, 12+t.r.IntN(29))
	for i := range words {
		switch p := t.r.Float64(); {
		case p < .5:
			words[i] = t.common.draw(t.r)
		case p < .8:
			words[i] = t.trades[tool/120%len(t.trades)].draw(t.r)
		case p < .95:
			words[i] = t.noun(tool)
		default:
			words[i] = t.verb()
		}
	}
	t.said[tool] = words
	return strings.Join(words, " ")
}

func (t *tongue) ask(tool int) string {
	words := make([]string, 3+t.r.IntN(6))
	for i := range words {
		if said := t.said[tool]; t.r.IntN(5) > 0 {
			words[i] = said[t.r.IntN(len(said))]
		} else {
			words[i] = t.common.draw(t.r)
		}
	}
	return strings.Join(words, " ")
}

// A lexicon draws words by Zipf's law.
type lexicon struct {
	words []string
	upTo  []float64
}

func newLexicon(words []string, exponent float64) lexicon {
	l := lexicon{words, make([]float64, len(words))}
	sum := 0.0
	for i := range words {
		sum += math.Pow(float64(i+1), -exponent)
		l.upTo[i] = sum
	}
	return l
}

func (l lexicon) draw(r *rand.Rand) string {
	return l.words[sort.SearchFloat64s(l.upTo, r.Float64()*l.upTo[len(l.upTo)-1])]
}
