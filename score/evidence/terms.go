package evidence

import (
	"math"
	"slices"
	"strings"
	"sync"

	"waymark/semantic"
)

// A lexicon numbers stems. Reading the same word twice costs one look, which matters because the
// snippets of a round are about one subject.
type lexicon struct {
	words map[string][]int32 // by the word as it stands in a text: its stems, none for a stop word
	ids   map[string]int32   // by stem
}

func newLexicon() *lexicon {
	return &lexicon{words: make(map[string][]int32, 512), ids: make(map[string]int32, 512)}
}

// set returns the numbers of the distinct stems of a text, in increasing order. Stop words count only if
// there is nothing else.
func (l *lexicon) set(text string) []int32 {
	set := make([]int32, 0, len(text)/6)
	for word := range strings.FieldsSeq(text) {
		set = append(set, l.word(word)...)
	}
	if len(set) == 0 {
		set = l.number(semantic.Tokens(text))
	}
	slices.Sort(set)
	return slices.Compact(set)
}

// word returns the stems of what stands between two spaces. A compound never reaches over a space, so
// the stems of a text are those of its words.
func (l *lexicon) word(word string) []int32 {
	ids, known := l.words[word]
	if !known {
		ids = l.number(stemmed.of(word))
		l.words[strings.Clone(word)] = ids
	}
	return ids
}

// stemmed remembers the stems of common words, since finding them is most of the work of a round. It is
// shared by all sessions, changes no result, and forgets everything when it is full.
var stemmed = memo{max: 1 << 15, stems: map[string][]string{}}

type memo struct {
	max   int // words
	mu    sync.RWMutex
	stems map[string][]string // by the word as it stands in a text
}

// maxStemmedWord is the length in bytes above which a word is not remembered.
const maxStemmedWord = 40

func (m *memo) of(word string) []string {
	m.mu.RLock()
	stems, known := m.stems[word]
	m.mu.RUnlock()
	if known {
		return stems
	}
	stems = semantic.Tokens("x " + word)[1:] // beside a word that is no stop word, stop words are left out
	if len(word) <= maxStemmedWord {
		m.mu.Lock()
		if len(m.stems) >= m.max {
			clear(m.stems)
		}
		m.stems[strings.Clone(word)] = stems
		m.mu.Unlock()
	}
	return stems
}

func (l *lexicon) number(stems []string) []int32 {
	ids := make([]int32, len(stems))
	for i, s := range stems {
		id, known := l.ids[s]
		if !known {
			id = int32(len(l.ids))
			l.ids[s] = id
		}
		ids[i] = id
	}
	return ids
}

// common counts what two increasing lists share.
func common(a, b []int32) int {
	n := 0
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			n++
			a, b = a[1:], b[1:]
		}
	}
	return n
}

// overlap is |snippet ∩ hypothesis| / |hypothesis| over distinct stems, stop words left out: the share of the
// hypothesis that the snippet mentions. Dividing by the hypothesis alone keeps long snippets comparable;
// dividing by its own stems keeps long hypotheses from winning.
func overlap(snippet, hypothesis []int32) float64 {
	if len(hypothesis) == 0 {
		return 0
	}
	return float64(common(snippet, hypothesis)) / float64(len(hypothesis))
}

// cosine is |a ∩ b| / √(|a|·|b|) over distinct stems.
func cosine(a, b []int32) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	return float64(common(a, b)) / math.Sqrt(float64(len(a)*len(b)))
}

// A pool holds the snippets read so far, by the words they have.
type pool struct {
	sets     [][]int32
	having   [][]int32 // by stem: the snippets with it
	shared   []int32   // by snippet: stems shared with the one that is read; zero in between
	touching []int32
}

// add puts a snippet in and returns its novelty: 1 - max |a ∩ b| / |a ∪ b| over all snippets b before it.
func (p *pool) add(set []int32) float64 {
	if n := len(set); n > 0 && int(set[n-1]) >= len(p.having) { // the largest number is the last
		p.having = append(p.having, make([][]int32, int(set[n-1])+1-len(p.having))...)
	}
	p.touching = p.touching[:0]
	for _, t := range set {
		for _, b := range p.having[t] {
			if p.shared[b] == 0 {
				p.touching = append(p.touching, b)
			}
			p.shared[b]++
		}
	}
	jaccard := 0.0
	for _, b := range p.touching {
		n := int(p.shared[b])
		jaccard = max(jaccard, float64(n)/float64(len(set)+len(p.sets[b])-n))
		p.shared[b] = 0
	}
	number := int32(len(p.sets))
	p.sets = append(p.sets, set)
	p.shared = append(p.shared, 0)
	for _, t := range set {
		p.having[t] = append(p.having[t], number)
	}
	return 1 - jaccard
}
