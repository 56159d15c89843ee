// Package wordvectors places the words of tool texts in a space in which words that stand beside the same words are
// close. [Default] was trained on a public catalogue of tools (see NOTICE); make wordvectors makes it anew.
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

	"waymark/numeric"
)

// Word is a word as its stem, with a vector of length one.
type Word struct {
	Stem        string
	Information float64 // ln(1 + texts/uses): what the word tells
	Vector      []float64
}

// Vectors are immutable and safe for concurrent use.
type Vectors struct {
	dimension   int
	number      map[string]int32
	information []float32
	codes       []int8 // 127 · vector / largest part of it
	scale       []float32
}

//go:embed vectors.bin
var data []byte

// Default are the vectors that come with the program.
var Default = sync.OnceValue(func() *Vectors {
	v, err := Decode(data)
	if err != nil {
		panic(err) // a test reads them
	}
	return v
})

const magic = "words1\n"

// Encode writes words in the format of [Decode]: magic, number of words, dimension, length of the stems, the stems one
// a line, and for each word information and scale as float32 and the vector in eight bits a number.
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
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(w.Information)))
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

// Decode reads vectors.
func Decode(b []byte) (*Vectors, error) {
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
	v := &Vectors{dimension: dimension, number: make(map[string]int32, words), information: make([]float32, words),
		codes: make([]int8, words*dimension), scale: make([]float32, words)}
	b = b[head+length:]
	for i, s := range stems {
		v.number[string(s)] = int32(i)
		v.information[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[i*row:]))
		v.scale[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[i*row+4:]))
		for k := range dimension {
			v.codes[i*dimension+k] = int8(b[i*row+8+k])
		}
	}
	return v, nil
}

// Len is the number of words.
func (v *Vectors) Len() int { return len(v.scale) }

// Dimension is the length of a vector.
func (v *Vectors) Dimension() int { return v.dimension }

// Vector writes the vector of a stem, times its information, to dst. It reports whether there is one.
func (v *Vectors) Vector(dst []float64, stem string) bool {
	n, ok := v.number[stem]
	if !ok {
		return false
	}
	unit := float64(v.information[n]) * float64(v.scale[n])
	for k, c := range v.codes[int(n)*v.dimension : int(n+1)*v.dimension] {
		dst[k] = unit * float64(c)
	}
	return true
}

// Cosine of two stems, 0 if one has no vector.
func (v *Vectors) Cosine(a, b string) float64 {
	x, y := make([]float64, v.dimension), make([]float64, v.dimension)
	if !v.Vector(x, a) || !v.Vector(y, b) {
		return 0
	}
	return numeric.Dot(x, y) / (numeric.Norm(x) * numeric.Norm(y))
}

// Has reports whether a stem has a vector: the tools of several servers use the word.
func (v *Vectors) Has(stem string) bool {
	_, ok := v.number[stem]
	return ok
}
