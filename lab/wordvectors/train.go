package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"waymark/catalog"
	"waymark/internal/numeric"
	"waymark/suggest/semantic"
)

// Chosen on the development half of hand-written requests for single tools; twice or half of each moves the mean
// reciprocal rank by less than 0.01.
const (
	window    = 8    // words apart within which two words stand near one another
	dimension = 64   // of each table
	smoothing = 0.75 // exponent of the counts of contexts (Levy, Goldberg and Dagan, TACL 3, 2015)
	servers   = 3    // that must use a word: what fewer do may be a name or a secret
	longest   = 20   // letters of a word
)

func readTools(path string) ([]catalog.Tool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var tools []catalog.Tool
	in := bufio.NewScanner(bytes.NewReader(data))
	in.Buffer(nil, len(data)+1)
	for in.Scan() {
		var t catalog.Tool
		if err := json.Unmarshal(in.Bytes(), &t); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		tools = append(tools, t)
	}
	return tools, in.Err()
}

// without leaves out all tools of servers that offer one of others. Descriptions may have been cut.
func without(tools, others []catalog.Tool) []catalog.Tool {
	key := func(t *catalog.Tool) string { return t.Name + "\x00" + t.Description[:min(len(t.Description), 200)] }
	known, gone := map[string]bool{}, map[string]bool{}
	for i := range others {
		known[key(&others[i])] = true
	}
	for i := range tools {
		if known[key(&tools[i])] {
			gone[tools[i].Server] = true
		}
	}
	return slices.DeleteFunc(tools, func(t catalog.Tool) bool { return gone[t.Server] })
}

// text is what a tool says of itself, as stems in order without stop words.
type text struct {
	server string
	words  []string
}

// textsOf lists the texts of tools, equal ones once.
func textsOf(tools []catalog.Tool) []text {
	var texts []text
	seen := map[string]bool{}
	for i := range tools {
		t := &tools[i]
		parts := []string{t.Name, t.Description}
		for _, p := range catalog.Properties(t.InputSchema) {
			parts = append(parts, p.Name)
		}
		words := semantic.Tokens(strings.Join(parts, " . "))
		if k := strings.Join(words, " "); !seen[k] {
			seen[k] = true
			texts = append(texts, text{t.Server, words})
		}
	}
	return texts
}

// vocabulary lists the words of enough servers by alphabet: letters a to z only. A word that stands in the id of a
// server is not counted there: it may be the name of who made it.
func vocabulary(texts []text) []string {
	by := map[string]map[string]bool{}
	for _, t := range texts {
		own := semantic.Tokens(t.server)
		for _, w := range t.words {
			if slices.Contains(own, w) {
				continue
			}
			if by[w] == nil {
				by[w] = map[string]bool{}
			}
			by[w][t.server] = true
		}
	}
	var words []string
	for w, in := range by {
		if len(in) >= servers && len(w) > 1 && len(w) <= longest && strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") == "" {
			words = append(words, w)
		}
	}
	slices.Sort(words)
	return words
}

// near counts how often words stand near one another, and how often each stands anywhere.
func near(texts []text, words []string) (counts []map[int32]float64, said []float64) {
	number := map[string]int32{}
	for i, w := range words {
		number[w] = int32(i)
	}
	counts, said = make([]map[int32]float64, len(words)), make([]float64, len(words))
	for i := range counts {
		counts[i] = map[int32]float64{}
	}
	for _, t := range texts {
		ids := make([]int32, len(t.words))
		for i, w := range t.words {
			n, ok := number[w]
			if !ok {
				n = -1
			}
			ids[i] = n
		}
		for i, a := range ids {
			if a < 0 {
				continue
			}
			said[a]++
			for _, b := range ids[i+1 : min(len(ids), i+1+window)] {
				if b >= 0 && b != a {
					counts[a][b]++
					counts[b][a]++
				}
			}
		}
	}
	return counts, said
}

// addProduct adds the products of the values of a row of A in some columns, which is what the row adds to AᵀA.
func addProduct(sum *mat.SymDense, columns []int32, values []float64) {
	slices.Sort(columns)
	for k, i := range columns {
		for _, j := range columns[k:] {
			sum.SetSym(int(i), int(j), sum.At(int(i), int(j))+values[i]*values[j])
		}
	}
}

// rightVectors returns the k largest singular values of A and their right singular vectors, one row for each column of A, from
// AᵀA; nil if there are fewer.
func rightVectors(product *mat.SymDense, k int) (sigma, right []float64) {
	var e mat.EigenSym
	n := product.SymmetricDim()
	if n < k || !e.Factorize(product, true) {
		return nil, nil
	}
	values, vectors := e.Values(nil), mat.NewDense(n, n, nil)
	e.VectorsTo(vectors)
	for c := range k {
		if values[n-1-c] <= 1e-10*values[n-1] { // lost in rounding
			return nil, nil
		}
		sigma = append(sigma, math.Sqrt(values[n-1-c]))
	}
	for i := range n {
		for c := range k {
			right = append(right, vectors.At(i, n-1-c))
		}
	}
	return sigma, right
}

// train returns the words of texts with their vectors,
//
//	ppmi(w, c) = max(0, ln n(w,c)·Σn^s / (n(w)·n(c)^s))      PPMI ≈ U·diag(σ)·Vᵀ      vector = row of V·diag(√σ)
//
// of length one, with what all have in common taken out: the mean, each word weighted as often as it is said and by its
// information.
func train(texts []text) ([]Word, error) {
	vocabulary := vocabulary(texts)
	counts, said := near(texts, vocabulary)
	n := len(vocabulary)
	if n < dimension {
		return nil, errors.New("too few texts")
	}
	sums, smoothed, total := make([]float64, n), make([]float64, n), 0.0
	for i, row := range counts {
		for _, c := range row {
			sums[i] += c // whole numbers: any order
		}
		if sums[i] > 0 {
			smoothed[i] = numeric.Exp(smoothing * numeric.Ln(sums[i]))
		}
		total += smoothed[i]
	}
	product := mat.NewSymDense(n, nil)
	columns := make([]int32, 0, n)
	values := make([]float64, n)
	for i, row := range counts {
		for j, c := range row {
			if x := numeric.Ln(c / sums[i] * (total / smoothed[j])); x > 0 {
				columns, values[j] = append(columns, j), x
			}
		}
		addProduct(product, columns, values)
		columns = columns[:0]
	}
	sigma, right := rightVectors(product, dimension)
	if sigma == nil {
		return nil, errors.New("too few texts")
	}
	words, mean := make([]Word, n), make([]float64, dimension)
	for i := range words {
		v := right[i*dimension : (i+1)*dimension]
		for k := range v {
			v[k] *= math.Sqrt(sigma[k])
		}
		unit(v)
		words[i] = Word{Stem: vocabulary[i], Weight: numeric.Ln(1 + float64(len(texts))/(1+said[i])), Vector: v}
		numeric.Axpy(float64(said[i]*words[i].Weight), v, mean)
	}
	whole := 0.0
	for i := range words {
		whole += float64(said[i] * words[i].Weight)
	}
	for i := range words {
		numeric.Axpy(-1/whole, mean, words[i].Vector)
		unit(words[i].Vector)
	}
	return words, nil
}

// unit makes x one long, or leaves it zero.
func unit(x []float64) {
	if n := numeric.Norm(x); n > 0 {
		for i := range x {
			x[i] /= n
		}
	}
}
