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

// Similarities of words, chosen on the development half of hand-written requests for single tools.
const (
	nearHead    = 0.8  // of the first word of a group and any other
	nearMembers = 0.48 // of two other words of a group
	looser      = 0.6  // factor for a loose group
)

// A Thesaurus relates words that mean the same in requests and in the texts of tools: people ask for their money back,
// and a tool says refund. The head of thesaurus.txt describes the format. It is immutable and safe for concurrent use;
// a nil thesaurus relates no words.
type Thesaurus struct {
	number  map[string]int32 // number of an entry, by its stems joined with spaces
	entries [][]string       // by number, the stems without stop words
	near    []map[int32]float64
	related [][]Relation // near, sorted by number of the related entry
	longest int          // most words of an entry
	sources []string     // names and hashes of the files
}

// String returns the number of entries and the files that the thesaurus was read from.
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

// Relation states that a text may express a word of a request by an entry of the thesaurus.
type Relation struct {
	Word  int // position in the list of stems
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

// read adds the lines of one source. It appends its name and hash to sources, which String shows and model
// hashes include.
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

// add parses one line.
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

// list returns the numbers of the entries of a comma-separated list and adds new entries.
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

// relate relates two entries. If several lines relate them, the largest similarity counts.
func (t *Thesaurus) relate(from, to int32, near float64) {
	if from != to {
		t.near[from][to] = max(t.near[from][to], near)
	}
}

// Entries returns the stems of all entries, without stop words unless an entry has no other words.
func (t *Thesaurus) Entries() [][]string {
	if t == nil {
		return nil
	}
	return t.entries
}

// Related appends the entries that may stand for words of a request, which is given as stems. An entry that stands for
// several words of the request is appended once for each of them.
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
