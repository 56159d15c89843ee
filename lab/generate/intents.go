package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parseEntities reads what may stand behind {name} in the wordings.
func parseEntities() (map[string][]string, error) {
	lines, err := readLines("entities.txt")
	if err != nil {
		return nil, err
	}
	entities := make(map[string][]string)
	for _, l := range lines {
		for choice := range strings.SplitSeq(l.after(1), "|") {
			entities[l.words[0]] = append(entities[l.words[0]], strings.TrimSpace(choice))
		}
	}
	return entities, nil
}

// intent fills a wording. People ask in haste: some requests lose their capital letter,
// some their last punctuation, some gain a word of thanks.
func (h *history) intent(w wording) (string, error) {
	rest := w.text
	var b strings.Builder
	for {
		before, hole, open := strings.Cut(rest, "{")
		b.WriteString(before)
		if !open {
			break
		}
		name, after, _ := strings.Cut(hole, "}")
		choices := h.entities[name]
		if len(choices) == 0 {
			return "", fmt.Errorf("the wording %q speaks of {%s}, which is not in entities.txt", w.text, name)
		}
		b.WriteString(digits(h.dice, pick(h.dice, choices)))
		rest = after
	}
	s := b.String()
	switch first, size := utf8.DecodeRuneInString(s); h.dice.IntN(10) {
	case 0, 1:
		if second, _ := utf8.DecodeRuneInString(s[size:]); unicode.IsLower(second) && w.text[0] != '{' {
			s = string(unicode.ToLower(first)) + s[size:]
		}
	case 2:
		s = strings.TrimRight(s, "?.!")
	case 3:
		if !strings.ContainsAny(s, "?.!") && !strings.Contains(s, "please") {
			s += pick(h.dice, []string{", thanks", " please", "."})
		}
	}
	return s, nil
}

// digits replaces each ~ by a digit, the first one never 0.
func digits(dice *rand.Rand, s string) string {
	b := []byte(s)
	for i, first := 0, true; i < len(b); i++ {
		if b[i] != '~' {
			continue
		}
		if first {
			b[i] = byte('1' + dice.IntN(9))
		} else {
			b[i] = byte('0' + dice.IntN(10))
		}
		first = false
	}
	return string(b)
}

func pick[T any](dice *rand.Rand, list []T) T { return list[dice.IntN(len(list))] }

// draw picks a thing by weight. The weights are not all zero.
func draw[T any](dice *rand.Rand, list []weighted[T]) T {
	sum := 0
	for _, w := range list {
		sum += w.weight
	}
	n := dice.IntN(sum)
	for _, w := range list {
		if n -= w.weight; n < 0 {
			return w.thing
		}
	}
	panic("unreachable: n < sum of weights")
}
