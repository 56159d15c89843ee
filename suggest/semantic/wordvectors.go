package semantic

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
)

// A wordTable holds words with vectors of eight bits per component.
type wordTable struct {
	dimension int
	number    map[string]int32
	weight    []float32
	codes     []int8 // 127 · vector / its largest component
	scale     []float32
}

// WordVectors map words to vectors, so that words with similar usage have similar vectors. They combine two tables: one
// trained on a public catalogue of tools, and one of general English for words of requests that no tool has (see
// NOTICE; make wordvectors makes both). They are immutable and safe for concurrent use; nil has no words.
//
// The vector of a word is the concatenation of its vectors in both tables, of length one in all; a table that lacks the
// word contributes zeros. Its weight is information·share:
//
//	information  ln(1 + texts/(1 + uses)) among the texts of public tools, [unusedInformation] for a word in none of them
//	share        0.01/(0.01 + Σ 1/rank) by how often English uses the word (Arora, Liang and Ma, ICLR 2017), 1 if unknown
type WordVectors struct{ tools, english *wordTable }

// unusedInformation is the information of a word that no tool uses. Between 4 and 8, the mean reciprocal rank of
// searches changes by less than 0.01.
const unusedInformation = 6

//go:embed tools.bin
var toolsData []byte

//go:embed english.bin
var englishData []byte

// DefaultWordVectors returns the vectors that are embedded in the program.
var DefaultWordVectors = sync.OnceValue(func() *WordVectors {
	v, err := ReadWordVectors(toolsData, englishData)
	if err != nil {
		panic(err) // a test reads them
	}
	return v
})

// ReadWordVectors reads and combines two tables. A table consists of a line with the format, the number of words, the
// dimension, the length of the stems, the stems, one per line, and for each word weight and scale as float32 and the
// vector in eight bits per component.
func ReadWordVectors(tools, english []byte) (v *WordVectors, err error) {
	v = &WordVectors{}
	if v.tools, err = readWords(tools); err == nil {
		v.english, err = readWords(english)
	}
	return v, err
}

const wordMagic = "words1\n"

func readWords(b []byte) (*wordTable, error) {
	const head = len(wordMagic) + 3*4
	if len(b) < head || string(b[:len(wordMagic)]) != wordMagic {
		return nil, errors.New("word vectors: not in the format of this program")
	}
	at := func(i int) int { return int(binary.LittleEndian.Uint32(b[len(wordMagic)+4*i:])) }
	words, dimension, length := at(0), at(1), at(2)
	row := 8 + dimension
	if length > len(b)-head || (len(b)-head-length)/row != words || (len(b)-head-length)%row != 0 {
		return nil, fmt.Errorf("word vectors: %d bytes for %d words of dimension %d", len(b), words, dimension)
	}
	stems := bytes.Split(bytes.TrimSuffix(b[head:head+length], []byte("\n")), []byte("\n"))
	if len(stems) != words {
		return nil, fmt.Errorf("word vectors: %d stems for %d words", len(stems), words)
	}
	v := &wordTable{dimension: dimension, number: make(map[string]int32, words), weight: make([]float32, words),
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

// add adds f times the vector of a word to dst.
func (t *wordTable) add(dst []float64, word int32, f float64) {
	unit := float64(f * float64(t.scale[word]))
	for k, c := range t.codes[int(word)*t.dimension : int(word+1)*t.dimension] {
		dst[k] += float64(unit * float64(c))
	}
}

// Dimension returns the length of a vector.
func (v *WordVectors) Dimension() int { return v.tools.dimension + v.english.dimension }

// Vector writes the vector of a stem, times its weight, to dst. It reports whether there is one.
func (v *WordVectors) Vector(dst []float64, stem string) bool {
	if v == nil {
		return false
	}
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

// Has reports whether the tool table has a stem.
func (v *WordVectors) Has(stem string) bool {
	_, ok := v.tools.number[stem]
	return ok
}
