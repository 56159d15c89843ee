// Command wordvectors makes the word vectors of package semantic/wordvectors from the texts of a tool catalogue:
//
//	tools.jsonl ─▶ stems of names, descriptions, parameters ─▶ who stands near whom ─▶ PPMI ─▶ truncated SVD ─▶ vectors.bin
//
// Only words and numbers leave it. Equal input gives equal bytes.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"

	"waymark/semantic/wordvectors"
)

func main() {
	tools := flag.String("tools", "", "`file` of tools, one JSON object a line")
	exclude := flag.String("exclude", "", "`file` of tools; servers that offer one of the same name and description are left out")
	out := flag.String("out", "semantic/wordvectors/vectors.bin", "`file` to write")
	flag.Parse()
	if err := run(*tools, *exclude, *out); err != nil {
		fmt.Fprintln(os.Stderr, "wordvectors:", err)
		os.Exit(1)
	}
}

func run(tools, exclude, out string) error {
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
	data, err := wordvectors.Encode(words)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, data, 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %d words of %d tools, %d bytes, sha256 %x\n", out, len(words), len(all), len(data), sha256.Sum256(data))
	return nil
}
