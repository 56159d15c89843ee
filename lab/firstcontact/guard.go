package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/suggest/semantic"
)

// guardTexts is how many tools of the catalogues must have a word of the thesaurus that the needs have, too: less
// common words could only have come from the needs.
const guardTexts = 5

// guard prints the entries of the thesaurus that stand in the needs, of both halves, and hardly anywhere else.
func guard(o options) error {
	entries := semantic.DefaultThesaurus().Entries()
	in := func(text []string) map[int]bool {
		found := map[int]bool{}
		has := map[string]bool{}
		for _, s := range text {
			has[s] = true
		}
		for e, stems := range entries {
			if has[stems[0]] && contains(text, stems) {
				found[e] = true
			}
		}
		return found
	}
	asked, texts := map[int]bool{}, map[int]int{}
	files, err := filepath.Glob(filepath.Join(o.reworded, "*.needs.jsonl"))
	if err != nil {
		return err
	}
	for _, f := range files {
		needs, err := lines(f, func(need) bool { return true })
		if err != nil {
			return err
		}
		for _, n := range needs {
			for e := range in(semantic.Tokens(n.A + ". " + n.B)) {
				asked[e] = true
			}
		}
	}
	catalogs, err := filepath.Glob(filepath.Join(o.datasets, "*", "tools.jsonl"))
	if err != nil {
		return err
	}
	for _, f := range catalogs {
		tools, err := lines(f, func(catalog.Tool) bool { return true })
		if err != nil {
			return err
		}
		for _, t := range tools {
			for e := range in(semantic.Tokens(t.Name + " " + t.Description)) {
				texts[e]++
			}
		}
	}
	n := 0
	for e, stems := range entries {
		if asked[e] && texts[e] < guardTexts {
			fmt.Printf("%q: in the texts of %d tools\n", strings.Join(stems, " "), texts[e])
			n++
		}
	}
	fmt.Printf("%d of %d entries stand in the needs and in fewer than %d tools\n", n, len(entries), guardTexts)
	return nil
}

// contains reports whether words stand in text one after another.
func contains(text, words []string) bool {
	for i := range text {
		if i+len(words) <= len(text) && slices.Equal(text[i:i+len(words)], words) {
			return true
		}
	}
	return false
}
