// Command wordvectors makes the two tables of package suggest/semantic:
//
//	tools.jsonl ─▶ stems of names, descriptions, parameters ─▶ who stands near whom ─▶ PPMI ─▶ truncated SVD ─▶ tools.bin
//	GloVe       ─▶ stems of the commonest English words ─▶ common directions out ─▶ principal components ─▶ english.bin
//
// Only words and numbers leave it. Equal input gives equal bytes.
package main

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	tools := flag.String("tools", "", "`file` of tools, one JSON object a line")
	exclude := flag.String("exclude", "", "`file` of tools; servers that offer one of the same name and description are left out")
	glove := flag.String("english", "", "`file` of English word vectors in the text format of GloVe")
	out := flag.String("out", "suggest/semantic", "`folder` to write to")
	flag.Parse()
	if err := run(*tools, *exclude, *glove, *out); err != nil {
		fmt.Fprintln(os.Stderr, "wordvectors:", err)
		os.Exit(1)
	}
}

func run(tools, exclude, glove, out string) error {
	if tools != "" {
		all, err := readTools(tools)
		if err != nil {
			return err
		}
		if exclude != "" {
			others, err := readTools(exclude)
			if err != nil {
				return err
			}
			all = without(all, others)
		}
		words, err := train(textsOf(all))
		if err != nil {
			return err
		}
		if err := write(filepath.Join(out, "tools.bin"), words); err != nil {
			return err
		}
	}
	if glove == "" {
		return nil
	}
	words, err := readEnglish(glove)
	if err != nil {
		return err
	}
	if words, err = english(words); err != nil {
		return err
	}
	return write(filepath.Join(out, "english.bin"), words)
}

func write(path string, words []Word) error {
	data, err := encode(words)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %d words, %d bytes, sha256 %x\n", path, len(words), len(data), sha256.Sum256(data))
	return nil
}

// Word is one row of a table: a stem, its weight and a vector of length one.
type Word struct {
	Stem   string
	Weight float64
	Vector []float64
}

// encode writes words for semantic.ReadWordVectors.
func encode(words []Word) ([]byte, error) {
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
	b := []byte("words1\n")
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
