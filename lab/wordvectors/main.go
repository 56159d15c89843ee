// Command wordvectors makes the two tables of package semantic/wordvectors:
//
//	tools.jsonl ─▶ stems of names, descriptions, parameters ─▶ who stands near whom ─▶ PPMI ─▶ truncated SVD ─▶ tools.bin
//	GloVe       ─▶ stems of the commonest English words ─▶ common directions out ─▶ principal components ─▶ english.bin
//
// Only words and numbers leave it. Equal input gives equal bytes.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"waymark/suggest/semantic/wordvectors"
)

func main() {
	tools := flag.String("tools", "", "`file` of tools, one JSON object a line")
	exclude := flag.String("exclude", "", "`file` of tools; servers that offer one of the same name and description are left out")
	glove := flag.String("english", "", "`file` of English word vectors in the text format of GloVe")
	out := flag.String("out", "suggest/semantic/wordvectors", "`folder` to write to")
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

func write(path string, words []wordvectors.Word) error {
	data, err := wordvectors.Encode(words)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %d words, %d bytes, sha256 %x\n", path, len(words), len(data), sha256.Sum256(data))
	return nil
}
