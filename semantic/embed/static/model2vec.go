package static

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// Most bytes of a safetensors file and of a tokenizer.
const maxFile, maxTokenizer = 4 << 30, 256 << 20

// loadModel2Vec reads a model of model2vec: the tensor "embeddings" with a row for each token, and where there are
// such, "weights" of the tokens and a "mapping" from tokens to rows.
func loadModel2Vec(path string) (*Embeddings, error) {
	data, err := readFile(path, maxFile)
	if err != nil {
		return nil, err
	}
	tokenizerPath := filepath.Join(filepath.Dir(path), "tokenizer.json")
	written, err := readFile(tokenizerPath, maxTokenizer)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no tokenizer.json beside it")
	} else if err != nil {
		return nil, err
	}
	e, mapping, err := readSafetensors(data)
	if err != nil {
		return nil, err
	}
	t, err := readTokenizer(written)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tokenizerPath, err)
	}
	tokens := e.Len()
	if mapping != nil {
		tokens = len(mapping)
	}
	if t.size > tokens {
		return nil, fmt.Errorf("%s: model.vocab has %d tokens, the embeddings %d", tokenizerPath, t.size, tokens)
	}
	t.mapping = mapping
	e.split, e.sum = t, sumOf(data, written)
	return e, nil
}

// readFile checks the size first: a file that is too large is not read at all.
func readFile(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s has %d bytes: want a file of at most %d", path, info.Size(), most)
	}
	return os.ReadFile(path)
}

// tensor is an entry of the head of a safetensors file.
type tensor struct {
	Type   string   `json:"dtype"`
	Shape  []uint64 `json:"shape"`
	Places []uint64 `json:"data_offsets"`
}

// readSafetensors reads the tensors of a model: eight bytes with the length of the head, the head in JSON, the numbers.
func readSafetensors(b []byte) (e *Embeddings, mapping []int, err error) {
	const maxHead = 100 << 20
	if len(b) < 8 {
		return nil, nil, fmt.Errorf("%d bytes are no safetensors file", len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	if n > maxHead || n > uint64(len(b)-8) {
		return nil, nil, fmt.Errorf("no safetensors file: a head of %d bytes in a file of %d", n, len(b))
	}
	var head map[string]json.RawMessage
	if err := json.Unmarshal(b[8:8+n], &head); err != nil {
		return nil, nil, fmt.Errorf("the head of the safetensors file: %w", err)
	}
	numbers := b[8+n:]
	get := func(name string) ([]float32, tensor, error) {
		raw, ok := head[name]
		if !ok {
			return nil, tensor{}, nil
		}
		var t tensor
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, t, fmt.Errorf("tensor %q: %w", name, err)
		}
		x, err := t.read(numbers)
		if err != nil {
			return nil, t, fmt.Errorf("tensor %q: %w", name, err)
		}
		return x, t, nil
	}
	rows, shape, err := get("embeddings")
	if err != nil {
		return nil, nil, err
	}
	if len(shape.Shape) != 2 || shape.Shape[0] == 0 || shape.Shape[1] == 0 || shape.Shape[1] > maxDimension {
		return nil, nil, fmt.Errorf(`the tensor "embeddings" has the shape %v: want tokens and 1 to %d numbers`, shape.Shape, maxDimension)
	}
	if !finite(rows) {
		return nil, nil, errors.New(`the tensor "embeddings" has numbers that are not finite`)
	}
	e = &Embeddings{format: "model2vec", dimension: int(shape.Shape[1]), rows: rows}
	tokens := e.Len()
	rowOf, _, err := get("mapping")
	if err != nil {
		return nil, nil, err
	}
	for token, r := range rowOf {
		if r < 0 || int(r) >= e.Len() {
			return nil, nil, fmt.Errorf(`tensor "mapping": token %d has row %v of %d`, token, r, e.Len())
		}
		mapping = append(mapping, int(r))
	}
	if mapping != nil {
		tokens = len(mapping)
	}
	weight, _, err := get("weights")
	if err != nil {
		return nil, nil, err
	}
	if weight != nil {
		if len(weight) != tokens || !finite(weight) {
			return nil, nil, fmt.Errorf(`tensor "weights": %d numbers for %d tokens, or not finite ones`, len(weight), tokens)
		}
		// Weights are those of tokens. Several may share a row, so each gets its own.
		if mapping != nil {
			own := make([]float32, 0, tokens*e.dimension)
			if uint64(tokens)*uint64(e.dimension) > maxNumbers {
				return nil, nil, fmt.Errorf("%d tokens of dimension %d are too many", tokens, e.dimension)
			}
			for _, r := range mapping {
				own = append(own, e.rows[r*e.dimension:(r+1)*e.dimension]...)
			}
			e.rows, mapping = own, nil
		}
		e.weight = weight
	}
	return e, mapping, nil
}

// read returns the numbers of a tensor.
func (t *tensor) read(data []byte) ([]float32, error) {
	size := map[string]uint64{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I8": 1, "I32": 4, "I64": 8}[t.Type]
	if size == 0 {
		return nil, fmt.Errorf("unknown type %q: want F64, F32, F16, BF16, I8, I32 or I64", t.Type)
	}
	count := uint64(1)
	for _, n := range t.Shape {
		if n != 0 && count > maxNumbers/n {
			return nil, fmt.Errorf("the shape %v is too large", t.Shape)
		}
		count *= n
	}
	if len(t.Places) != 2 || t.Places[0] > t.Places[1] || t.Places[1] > uint64(len(data)) || t.Places[1]-t.Places[0] != count*size {
		return nil, fmt.Errorf("the shape %v of %s does not fit the place %v in %d bytes", t.Shape, t.Type, t.Places, len(data))
	}
	data = data[t.Places[0]:t.Places[1]]
	x := make([]float32, 0, count)
	for b := range slices.Chunk(data, int(size)) {
		x = append(x, number(t.Type, b))
	}
	return x, nil
}

func number(kind string, b []byte) float32 {
	switch kind {
	case "F64":
		return float32(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	case "F32":
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	case "BF16":
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
	case "F16":
		return half(binary.LittleEndian.Uint16(b))
	case "I32":
		return float32(int32(binary.LittleEndian.Uint32(b)))
	case "I64":
		return float32(int64(binary.LittleEndian.Uint64(b)))
	}
	return float32(int8(b[0]))
}

// half is the value of a number of IEEE 754 in 16 bits: sign, 5 bits of exponent, 10 bits of fraction.
func half(h uint16) float32 {
	sign, exponent, fraction := 1.0, int(h>>10&31), float64(h&1023)/1024
	if h>>15 == 1 {
		sign = -1
	}
	switch exponent {
	case 0:
		return float32(sign * math.Ldexp(fraction, -14))
	case 31:
		if fraction != 0 {
			return float32(math.NaN())
		}
		return float32(math.Inf(int(sign)))
	}
	return float32(sign * math.Ldexp(1+fraction, exponent-15))
}
