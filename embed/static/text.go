package static

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"waymark/semantic"
)

const (
	maxDimension = 4096
	maxWords     = 4 << 20
	maxNumbers   = 1 << 29 // 2 GiB
	maxLine      = 1 << 17

	common   = 20_000 // words from which the common directions are learned
	dropped  = 3      // directions
	frequent = 0.01   // 1/rank at which a word has half of its weight
)

// loadText reads vectors in the text format of GloVe: a word and its numbers a line, the commonest word first. A first
// line of two whole numbers, as word2vec writes it, is skipped; of words written differently in capitals the first counts.
//
// Vectors of plain words all point in much the same direction, and words like "the" say nothing. So the mean and the
// first principal components are taken out (Mu and Viswanath, ICLR 2018), and a word of rank r weighs 0.01/(0.01 + 1/r)
// (Arora, Liang and Ma, ICLR 2017).
func loadText(path string) (*Embeddings, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	e, err := readText(io.TeeReader(f, h))
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(h, f); err != nil { // what the decoder left
		return nil, err
	}
	e.sum = hex.EncodeToString(h.Sum(nil))
	return e, nil
}

func readText(r io.Reader) (*Embeddings, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReaderSize(z, 1<<16)
	}
	e, words := &Embeddings{format: "glove"}, wordRows{}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 1<<16), maxLine)
	line := 0
	for lines.Scan() {
		line++
		if err := e.readLine(lines.Text(), words, line == 1); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", line+1, err)
	}
	if len(words) == 0 {
		return nil, errors.New("no words")
	}
	e.centre()
	e.weight = make([]float32, e.Len())
	for i := range e.weight {
		e.weight[i] = float32(frequent / (frequent + 1/float64(i+1)))
	}
	e.split = words
	return e, nil
}

// readLine reads a word and its numbers.
func (e *Embeddings) readLine(line string, words wordRows, first bool) error {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return nil
	}
	if first && len(fields) == 2 {
		_, a := strconv.Atoi(fields[0])
		_, b := strconv.Atoi(fields[1])
		if a == nil && b == nil {
			return nil // word2vec: number of words, dimension
		}
	}
	if e.dimension == 0 {
		e.dimension = len(fields) - 1
		if e.dimension < 2 || e.dimension > maxDimension {
			return fmt.Errorf("%d numbers after the word: want 2 to %d", e.dimension, maxDimension)
		}
	}
	if len(fields) < e.dimension+1 {
		return fmt.Errorf("%d numbers after the word: want %d as in the lines before", len(fields)-1, e.dimension)
	}
	// A few words of GloVe have spaces in them.
	word := strings.ToLower(strings.Join(fields[:len(fields)-e.dimension], " "))
	if _, known := words[word]; known {
		return nil
	}
	if len(words) == maxWords || len(e.rows)+e.dimension > maxNumbers {
		return errors.New("too many words")
	}
	for _, s := range fields[len(fields)-e.dimension:] {
		x, err := strconv.ParseFloat(s, 32)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%q is not a number", s)
		}
		e.rows = append(e.rows, float32(x))
	}
	words[word] = e.Len() - 1
	return nil
}

// centre takes out of all vectors, each made one long, what the commonest have in common.
func (e *Embeddings) centre() {
	d, n := e.dimension, e.Len()
	for i := range n {
		unit(e.rows[i*d : (i+1)*d])
	}
	learned := min(n, common)
	mean := make([]float64, d)
	for i := range learned {
		for k, x := range e.rows[i*d : (i+1)*d] {
			mean[k] += float64(x) / float64(learned)
		}
	}
	for i := range n {
		for k := range d {
			e.rows[i*d+k] -= float32(mean[k])
		}
	}
	if learned < 2*d { // too few words to tell a direction
		return
	}
	sample := make([][]semantic.Entry, learned)
	for i := range sample {
		for k, x := range e.rows[i*d : (i+1)*d] {
			sample[i] = append(sample[i], semantic.Entry{Column: int32(k), Value: float64(x)})
		}
	}
	sigma, right := semantic.TruncatedSVD(sample, d, min(dropped, d))
	for i := range n {
		row := e.rows[i*d : (i+1)*d]
		for c := range sigma {
			along := 0.0
			for k, x := range row {
				along += float64(float64(x) * right[k*len(sigma)+c])
			}
			for k := range row {
				row[k] -= float32(along * right[k*len(sigma)+c])
			}
		}
	}
}

// wordRows finds the rows of words.
type wordRows map[string]int

func (w wordRows) rows(text string) []int {
	var rows []int
	for word := range semantic.Terms(text) {
		if r, ok := w[word]; ok {
			rows = append(rows, r)
		}
	}
	return rows
}

func unit(x []float32) {
	norm := 0.0
	for _, y := range x {
		norm += float64(float64(y) * float64(y))
	}
	if norm == 0 {
		return
	}
	norm = math.Sqrt(norm)
	for i, y := range x {
		x[i] = float32(float64(y) / norm)
	}
}
