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
// line of two whole numbers, as word2vec writes it, is the number of words and the dimension; of words that differ in
// capitals only the first counts.
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
	line, announced, count := 0, 0, 0
	for lines.Scan() {
		line++
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			continue
		}
		if n, dimension, ok := header(fields); ok && line == 1 {
			if dimension < 2 || dimension > maxDimension {
				return nil, fmt.Errorf("line 1: dimension %d: want 2 to %d", dimension, maxDimension)
			}
			announced, e.dimension = n, dimension
			continue
		}
		count++
		if err := e.readLine(fields, words); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", line+1, err)
	}
	if len(words) == 0 {
		return nil, errors.New("no words")
	}
	if announced > 0 && count != announced {
		return nil, fmt.Errorf("line 1 says %d words, %d follow", announced, count)
	}
	e.centre()
	e.weight = make([]float32, e.Len())
	for i := range e.weight {
		e.weight[i] = float32(frequent / (frequent + 1/float64(i+1)))
	}
	e.split = words
	return e, nil
}

// header reads the first line of word2vec: number of words, dimension.
func header(fields []string) (words, dimension int, ok bool) {
	if len(fields) != 2 {
		return 0, 0, false
	}
	words, err := strconv.Atoi(fields[0])
	dimension, err2 := strconv.Atoi(fields[1])
	return words, dimension, err == nil && err2 == nil
}

// readLine reads a word and its numbers.
func (e *Embeddings) readLine(fields []string, words wordRows) error {
	if e.dimension == 0 {
		e.dimension = len(fields) - 1
		if e.dimension < 2 || e.dimension > maxDimension {
			return fmt.Errorf("%d numbers after the word: want 2 to %d", e.dimension, maxDimension)
		}
	}
	if len(fields) < e.dimension+1 {
		return fmt.Errorf("%d numbers after the word: want %d as in the lines before", len(fields)-1, e.dimension)
	}
	at := len(fields) - e.dimension
	// A few words of GloVe have spaces in them, but none ends with a number.
	if _, err := strconv.ParseFloat(fields[at-1], 64); at > 1 && err == nil {
		return fmt.Errorf("more than %d numbers after the word", e.dimension)
	}
	word := strings.ToLower(strings.Join(fields[:at], " "))
	if _, known := words[word]; known {
		return nil
	}
	if len(words) == maxWords || len(e.rows)+e.dimension > maxNumbers {
		return errors.New("too many words")
	}
	for _, s := range fields[at:] {
		x, err := strconv.ParseFloat(s, 32)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%.40q is not a number", s)
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
	for word, stem := range semantic.Terms(text) {
		r, ok := w[word]
		if !ok { // a small file has refund where the text says refunds
			r, ok = w[stem]
		}
		if ok {
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
