package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"waymark/internal/numeric"
	"waymark/suggest/semantic"
)

// Chosen as those of train.go were. With twice as many words or half as many again of the dimensions the mean reciprocal
// rank moves by less than 0.01; with half as many words hit@5 falls by 0.02.
const (
	spoken   = 20000 // stems of English, the commonest
	dropped  = 3     // directions that vectors of all words have in common
	frequent = 0.01  // Σ 1/rank at which a word has half of its weight
)

// readEnglish returns the commonest stems of vectors in the text format of GloVe: a word and its numbers a line, the
// commonest word first. The vector of a stem is the sum of those of its words, each of length one, times 1/√rank.
func readEnglish(path string) ([]Word, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var words []Word
	number := map[string]int{}
	in := bufio.NewScanner(f)
	for line := 1; in.Scan() && len(words) < spoken; line++ {
		fields := strings.Fields(in.Text())
		if len(fields) < 2 || len(fields[0]) < 2 || len(fields[0]) > longest || strings.Trim(fields[0], "abcdefghijklmnopqrstuvwxyz") != "" {
			continue
		}
		stems := semantic.Tokens(fields[0])
		if len(stems) != 1 {
			continue // not one word
		}
		vector := make([]float64, len(fields)-1)
		for i, s := range fields[1:] {
			if vector[i], err = strconv.ParseFloat(s, 64); err != nil {
				return nil, fmt.Errorf("%s line %d: %w", path, line, err)
			}
		}
		n, ok := number[stems[0]]
		if !ok {
			n = len(words)
			number[stems[0]] = n
			words = append(words, Word{Stem: stems[0], Vector: make([]float64, len(vector))})
		}
		if len(vector) != len(words[0].Vector) {
			return nil, fmt.Errorf("%s line %d: %d numbers, the lines before have %d", path, line, len(vector), len(words[0].Vector))
		}
		unit(vector)
		words[n].Weight += 1 / float64(line)
		numeric.Axpy(1/math.Sqrt(float64(line)), vector, words[n].Vector)
	}
	return words, in.Err()
}

// english returns words with the directions taken out that all have in common, the mean and the first of the principal
// components (Mu and Viswanath, ICLR 2018), in the next [dimension] of them.
func english(words []Word) ([]Word, error) {
	if len(words) == 0 || len(words[0].Vector) < dropped+dimension {
		return nil, errors.New("too few words or numbers")
	}
	mean := make([]float64, len(words[0].Vector))
	for i := range words {
		unit(words[i].Vector)
		numeric.Axpy(1/float64(len(words)), words[i].Vector, mean)
	}
	product := mat.NewSymDense(len(mean), nil)
	columns := make([]int32, len(mean))
	for k := range columns {
		columns[k] = int32(k)
	}
	for i := range words {
		numeric.Axpy(-1, mean, words[i].Vector)
		addProduct(product, columns, words[i].Vector)
	}
	sigma, right := rightVectors(product, dropped+dimension)
	if sigma == nil {
		return nil, errors.New("too few words")
	}
	for i := range words {
		v := make([]float64, dimension)
		for j, x := range words[i].Vector {
			numeric.Axpy(x, right[j*len(sigma)+dropped:(j+1)*len(sigma)], v)
		}
		unit(v)
		words[i].Vector, words[i].Weight = v, frequent/(frequent+words[i].Weight)
	}
	return words, nil
}
