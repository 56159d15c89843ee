package semantic

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

// How near words are. Chosen on the development half of hand-written requests for single tools.
const (
	nearHead    = 0.8  // the first word of a group and each other
	nearMembers = 0.48 // two others
	looser      = 0.6  // times these in a loose group
)

// A Thesaurus holds words that stand for one another in the language of tools: people ask for their money back where a
// tool says refund. The head of thesaurus.txt describes the format. It is immutable and safe for concurrent use; nil
// relates nothing.
type Thesaurus struct {
	number  map[string]int32 // of an entry, by its stems with spaces between
	entries [][]string       // its stems without stop words
	near    []map[int32]float64
	related [][]Relation // near, in order of entries
	longest int          // words of an entry
	sources []string     // names and hashes of the files
}

// String names the files that the thesaurus was read from, and how much it has.
func (t *Thesaurus) String() string {
	return fmt.Sprintf("%d entries of %s", len(t.entries), strings.Join(t.sources, " and "))
}

//go:embed thesaurus.txt
var thesaurusText string

// DefaultThesaurus is the thesaurus of this project.
var DefaultThesaurus = sync.OnceValue(func() *Thesaurus {
	t, err := new(Thesaurus).Extend("thesaurus.txt", strings.NewReader(thesaurusText))
	if err != nil {
		panic(err) // a test reads the file
	}
	return t
})

// Relation says that a word of a request may stand as an entry of the thesaurus in a text.
type Relation struct {
	Word  int // in the list of stems
	Entry int32
	Near  float64 // in (0, 1]
}

// Extend returns a thesaurus with the lines of r added. Errors name the file and the line.
func (t *Thesaurus) Extend(name string, r io.Reader) (*Thesaurus, error) {
	more := &Thesaurus{number: map[string]int32{}, entries: slices.Clone(t.entries), longest: t.longest, sources: slices.Clip(t.sources)}
	maps.Copy(more.number, t.number)
	for _, near := range t.near {
		more.near = append(more.near, maps.Clone(near))
	}
	if err := more.read(name, r); err != nil {
		return nil, err
	}
	more.related = make([][]Relation, len(more.near))
	for e, near := range more.near { // sorted, so that answers do not depend on the order of a map
		for _, to := range slices.Sorted(maps.Keys(near)) {
			more.related[e] = append(more.related[e], Relation{Entry: to, Near: near[to]})
		}
	}
	return more, nil
}

// read adds the lines of one source. Its name and hash go into sources, which String shows and model hashes
// include.
func (t *Thesaurus) read(name string, r io.Reader) error {
	h := sha256.New()
	in := bufio.NewScanner(io.TeeReader(r, h))
	line := 1
	for ; in.Scan(); line++ {
		if err := t.add(strings.TrimSpace(in.Text())); err != nil {
			return fmt.Errorf("%s line %d: %w", name, line, err)
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%s line %d: is longer than %d bytes", name, line, bufio.MaxScanTokenSize-1)
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	}
	t.sources = append(t.sources, fmt.Sprintf("%s (sha256 %.8x)", name, h.Sum(nil)))
	return nil
}

// add reads one line.
func (t *Thesaurus) add(line string) error {
	if line == "" || line[0] == '#' {
		return nil
	}
	share := 1.0
	if rest, loose := strings.CutPrefix(line, "~"); loose {
		line, share = rest, looser
	}
	left, right, oneWay := strings.Cut(line, ">")
	if strings.Contains(right, ">") {
		return fmt.Errorf("has more than one >")
	}
	from, err := t.list(left)
	if err != nil {
		return err
	}
	if !oneWay {
		if len(from) < 2 {
			return fmt.Errorf("a group has at least two entries, separated by commas")
		}
		for i, a := range from {
			for _, b := range from[i+1:] {
				near := nearMembers
				if i == 0 {
					near = nearHead
				}
				t.relate(a, b, float64(share*near))
				t.relate(b, a, float64(share*near))
			}
		}
		return nil
	}
	to, err := t.list(right)
	if err != nil {
		return err
	}
	for _, a := range from {
		for _, b := range to {
			t.relate(a, b, float64(share*nearHead))
		}
	}
	return nil
}

// list numbers the entries of a list.
func (t *Thesaurus) list(s string) ([]int32, error) {
	var numbers []int32
	for _, entry := range strings.Split(s, ",") {
		stems := Stems(entry)
		if len(stems) == 0 {
			if entry = strings.TrimSpace(entry); entry != "" {
				return nil, fmt.Errorf("the entry %.40q has no letters or digits", entry)
			}
			return nil, fmt.Errorf("an entry is empty")
		}
		key := strings.Join(stems, " ")
		n, known := t.number[key]
		if !known {
			n = int32(len(t.entries))
			t.number[key] = n
			t.entries, t.near = append(t.entries, Tokens(entry)), append(t.near, map[int32]float64{})
			t.longest = max(t.longest, len(stems))
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// relate keeps the largest nearness where several lines relate two entries.
func (t *Thesaurus) relate(from, to int32, near float64) {
	if from != to {
		t.near[from][to] = max(t.near[from][to], near)
	}
}

// Entries lists all entries as the stems of their words, stop words left out where there are others.
func (t *Thesaurus) Entries() [][]string {
	if t == nil {
		return nil
	}
	return t.entries
}

// Related appends the entries that may stand for words of a request, given as stems. What stands for an entry of
// several words stands for each of them.
func (t *Thesaurus) Related(dst []Relation, stems []string) []Relation {
	if t == nil {
		return dst
	}
	var key []byte
	for from := range stems {
		key = key[:0]
		for to := from; to < len(stems) && to < from+t.longest; to++ {
			if to > from {
				key = append(key, ' ')
			}
			key = append(key, stems[to]...)
			n, ok := t.number[string(key)]
			if !ok {
				continue
			}
			for _, r := range t.related[n] {
				for r.Word = from; r.Word <= to; r.Word++ {
					dst = append(dst, r)
				}
			}
		}
	}
	return dst
}
