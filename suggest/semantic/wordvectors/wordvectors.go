// Package wordvectors places words in a space in which words that are used alike are close. [Default] joins two tables:
// one trained on a public catalogue of tools, and one of general English for the words that people ask in and that no
// tool has (see NOTICE). make wordvectors makes both.
package wordvectors

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"waymark/internal/numeric"
)

// Word is one row of a table: a stem, its weight and a vector of length one.
type Word struct {
	Stem   string
	Weight float64
	Vector []float64
}

// A Table holds words with vectors in eight bits a number. It is immutable.
type Table struct {
	dimension int
	number    map[string]int32
	weight    []float32
	codes     []int8 // 127 · vector / largest part of it
	scale     []float32
}

// Vectors join the words of tools with general English. They are immutable and safe for concurrent use.
//
// The vector of a word is what the tables have for it, one after the other and of length one in all; a table that lacks
// the word leaves zeros. Its weight is information·share:
//
//	information  ln(1 + texts/(1 + uses)) among the texts of public tools, [unusedInformation] for a word of none
//	share        0.01/(0.01 + Σ 1/rank) by how often English uses the word (Arora, Liang and Ma, ICLR 2017), 1 if unknown
type Vectors struct{ tools, english *Table }

// unusedInformation is the information of a word that no tool uses. Between 4 and 8 the mean reciprocal rank of searches
// moves by less than 0.01.
const unusedInformation = 6

//go:embed tools.bin
var toolsData []byte

//go:embed english.bin
var englishData []byte

// Default are the vectors that come with the program.
var Default = sync.OnceValue(func() *Vectors {
	tools, err := Decode(toolsData)
	if err != nil {
		panic(err) // a test reads them
	}
	english, err := Decode(englishData)
	if err != nil {
		panic(err)
	}
	return Join(tools, english)
})

// Join returns the vectors of two tables.
func Join(tools, english *Table) *Vectors { return &Vectors{tools, english} }

const magic = "words1\n"

// Encode writes words in the format of [Decode]: magic, number of words, dimension, length of the stems, the stems one
// a line, and for each word weight and scale as float32 and the vector in eight bits a number.
func Encode(words []Word) ([]byte, error) {
	if len(words) == 0 {
		return nil, errors.New("no words")
	}
	dimension := len(words[0].Vector)
	var stems strings.Builder
	for _, w := range words {
		if len(w.Vector) != dimension || strings.Contains(w.Stem, "\n") {
			return nil, fmt.Errorf("the word %q does not fit", w.Stem)
		}
		stems.WriteString(w.Stem + "\n")
	}
	b := []byte(magic)
	for _, n := range []int{len(words), dimension, stems.Len()} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	b = append(b, stems.String()...)
	for _, w := range words {
		most := 0.0
		for _, x := range w.Vector {
			most = max(most, math.Abs(x))
		}
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(w.Weight)))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(most/127)))
		for _, x := range w.Vector {
			if most > 0 {
				x = math.Round(x / most * 127)
			}
			b = append(b, byte(int8(x)))
		}
	}
	return b, nil
}

// Decode reads a table.
func Decode(b []byte) (*Table, error) {
	const head = len(magic) + 3*4
	if len(b) < head || string(b[:len(magic)]) != magic {
		return nil, errors.New("word vectors: not in the format of this program")
	}
	at := func(i int) int { return int(binary.LittleEndian.Uint32(b[len(magic)+4*i:])) }
	words, dimension, length := at(0), at(1), at(2)
	row := 8 + dimension
	if length > len(b)-head || (len(b)-head-length)/row != words || (len(b)-head-length)%row != 0 {
		return nil, fmt.Errorf("word vectors: %d bytes for %d words of dimension %d", len(b), words, dimension)
	}
	stems := bytes.Split(bytes.TrimSuffix(b[head:head+length], []byte("\n")), []byte("\n"))
	if len(stems) != words {
		return nil, fmt.Errorf("word vectors: %d stems for %d words", len(stems), words)
	}
	v := &Table{dimension: dimension, number: make(map[string]int32, words), weight: make([]float32, words),
		codes: make([]int8, words*dimension), scale: make([]float32, words)}
	b = b[head+length:]
	for i, s := range stems {
		v.number[string(s)] = int32(i)
		v.weight[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[i*row:]))
		v.scale[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[i*row+4:]))
		for k := range dimension {
			v.codes[i*dimension+k] = int8(b[i*row+8+k])
		}
	}
	return v, nil
}

// Len is the number of words.
func (t *Table) Len() int { return len(t.scale) }

// add adds f times the vector of a word to dst.
func (t *Table) add(dst []float64, word int32, f float64) {
	unit := float64(f * float64(t.scale[word]))
	for k, c := range t.codes[int(word)*t.dimension : int(word+1)*t.dimension] {
		dst[k] += float64(unit * float64(c))
	}
}

// Dimension is the length of a vector.
func (v *Vectors) Dimension() int { return v.tools.dimension + v.english.dimension }

// Vector writes the vector of a stem, times its weight, to dst. It reports whether there is one.
func (v *Vectors) Vector(dst []float64, stem string) bool {
	t, used := v.tools.number[stem]
	e, spoken := v.english.number[stem]
	if !used && !spoken {
		return false
	}
	clear(dst[:v.Dimension()])
	weight, part := float64(unusedInformation), 1.0
	if used {
		weight = float64(v.tools.weight[t])
	}
	if spoken {
		weight *= float64(v.english.weight[e])
	}
	if used && spoken {
		part = math.Sqrt(0.5)
	}
	if used {
		v.tools.add(dst, t, float64(weight*part))
	}
	if spoken {
		v.english.add(dst[v.tools.dimension:], e, float64(weight*part))
	}
	return true
}

// Cosine of two stems, 0 if one has no vector.
func (v *Vectors) Cosine(a, b string) float64 {
	x, y := make([]float64, v.Dimension()), make([]float64, v.Dimension())
	if !v.Vector(x, a) || !v.Vector(y, b) {
		return 0
	}
	return numeric.Dot(x, y) / (numeric.Norm(x) * numeric.Norm(y))
}

// Has reports whether the tool table has a stem.
func (v *Vectors) Has(stem string) bool {
	_, ok := v.tools.number[stem]
	return ok
}
