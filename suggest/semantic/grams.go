package semantic

import (
	"bytes"
	"cmp"
	"slices"
)

// grams finds the known words spelled most like an unknown one. A word, with ^ and $ as its ends,
// is the set of its substrings of 3 to 5 bytes; candidates are the words with most of them in common,
//
//	dice(a, b) = 2·|a ∩ b| / (|a| + |b|)
//
// and the best are compared letter by letter, since one slip in the middle of a short word spoils
// most of its n-grams (search and serach have a dice of .13 but are one transposition apart).
type grams struct {
	words []string // alphabetical
	terms []int32  // of each word
	sizes []int32  // |a|
	lists map[uint64]span
	post  []int32 // words with a gram, increasing
}

const (
	minGrammed = 4   // shorter words are like too many others
	maxGrammed = 32  // letters; longer ones are not words
	minLike    = 0.5 // likeness below which two words are taken for different ones
	shortlist  = 24  // candidates compared letter by letter
)

// like is a known term, and how much a word of it resembles the unknown word.
type like struct {
	term     int32
	likeness float64
}

// nearness is scratch space for [grams.corrected].
type nearness struct {
	grams   []uint64
	common  []int32 // per word
	touched []int32
	found   []like
	rows    [3][maxGrammed + 1]int32
}

// grammed reports whether a word has a spelling that can be compared: neither too short nor too long, and no
// digits, since v1 and v2 are spelled alike and mean different things.
func grammed(word []byte) bool {
	if len(word) < minGrammed || len(word) > maxGrammed {
		return false
	}
	return !bytes.ContainsFunc(word, func(r rune) bool { return '0' <= r && r <= '9' })
}

// gramsOf appends the distinct n-grams of word, packed into integers with their length on top.
func gramsOf(dst []uint64, word []byte) []uint64 {
	at := func(i int) uint64 {
		switch i {
		case 0:
			return '^'
		case len(word) + 1:
			return '$'
		}
		return uint64(word[i-1])
	}
	first := len(dst)
	for n := 3; n <= 5; n++ {
		for i := 0; i+n <= len(word)+2; i++ {
			g := uint64(n) << 40
			for j := range n {
				g |= at(i+j) << (8 * j)
			}
			dst = append(dst, g)
		}
	}
	slices.Sort(dst[first:])
	return dst[:first+len(slices.Compact(dst[first:]))]
}

// build indexes g.words.
func (g *grams) build() {
	var (
		own  []uint64
		all  []int32 // numbers of grams, word by word
		n    []int32 // words with each
		ends = make([]int32, len(g.words))
		at   = make(map[uint64]int32)
	)
	g.sizes = make([]int32, len(g.words))
	for w, word := range g.words {
		if grammed([]byte(word)) {
			own = gramsOf(own[:0], []byte(word))
			g.sizes[w] = int32(len(own))
			for _, x := range own {
				k, known := at[x]
				if !known {
					k = int32(len(n))
					at[x] = k
					n = append(n, 0)
				}
				n[k]++
				all = append(all, k)
			}
		}
		ends[w] = int32(len(all))
	}
	lists := make([]span, len(n))
	next := int32(0)
	for k := range n {
		lists[k].at, next = next, next+n[k]
	}
	g.post = make([]int32, len(all))
	i := int32(0)
	for w := range g.words {
		for ; i < ends[w]; i++ {
			l := &lists[all[i]]
			g.post[l.at+l.n] = int32(w)
			l.n++
		}
	}
	g.lists = make(map[uint64]span, len(n))
	for x, k := range at {
		g.lists[x] = lists[k]
	}
}

// corrected returns at most three terms that word is by slips of the hand, which seldom change the first letter, the
// likeliest first: of the words with the most n-grams in common those whose likeness letter by letter is within 0.1 of the
// best. Their likenesses are divided by their number, so that a word nobody knows never counts for more than a known one.
func (g *grams) corrected(word []byte, s *nearness) []like {
	if !grammed(word) {
		return nil
	}
	if len(s.common) < len(g.words) {
		s.common = make([]int32, len(g.words))
	}
	s.grams = gramsOf(s.grams[:0], word)
	s.touched = s.touched[:0]
	for _, x := range s.grams {
		l := g.lists[x]
		for _, w := range g.post[l.at : l.at+l.n] {
			if s.common[w] == 0 {
				s.touched = append(s.touched, w)
			}
			s.common[w]++
		}
	}
	// The shortlist: insertion by falling dice, then word, into a fixed array.
	var best [shortlist]like // term is a word number here
	n := 0
	for _, w := range s.touched {
		d := 2 * float64(s.common[w]) / float64(len(s.grams)+int(g.sizes[w]))
		s.common[w] = 0
		if n == shortlist && !(d > best[n-1].likeness || d == best[n-1].likeness && w < best[n-1].term) {
			continue
		}
		if n < shortlist {
			n++
		}
		i := n - 1
		for ; i > 0 && (best[i-1].likeness < d || best[i-1].likeness == d && best[i-1].term > w); i-- {
			best[i] = best[i-1]
		}
		best[i] = like{term: w, likeness: d}
	}
	s.found = s.found[:0]
	for _, b := range best[:n] {
		if likeness := spelling(word, g.words[b.term], &s.rows); g.words[b.term][0] == word[0] && likeness >= minLike {
			s.found = append(s.found, like{g.terms[b.term], likeness})
		}
	}
	slices.SortFunc(s.found, func(a, b like) int {
		return cmp.Or(cmp.Compare(b.likeness, a.likeness), cmp.Compare(a.term, b.term))
	})
	n = 0
	for _, f := range s.found {
		if n < 3 && f.likeness >= s.found[0].likeness-0.1 && !slices.ContainsFunc(s.found[:n], func(l like) bool { return l.term == f.term }) {
			s.found[n] = f
			n++
		}
	}
	for i := range s.found[:n] {
		s.found[i].likeness /= float64(n)
	}
	return s.found[:n]
}

// spelling is 1 - edits/length, where an edit inserts, drops or changes a byte or swaps two
// neighbours (optimal string alignment), and 0 if there are more edits than slips of the hand
// explain: one in a word of up to 7 letters, two in longer ones.
func spelling(a []byte, b string, rows *[3][maxGrammed + 1]int32) float64 {
	limit := int32(1)
	if len(a) > 7 {
		limit = 2
	}
	if d := int32(len(a) - len(b)); d > limit || -d > limit {
		return 0
	}
	two, one, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		one[j] = int32(j)
	}
	for i := 1; i <= len(a); i++ {
		row[0] = int32(i)
		for j := 1; j <= len(b); j++ {
			change := int32(1)
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one, row = one, row, two
	}
	if one[len(b)] > limit {
		return 0
	}
	return 1 - float64(one[len(b)])/float64(max(len(a), len(b)))
}
