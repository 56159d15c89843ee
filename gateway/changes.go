package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"waymark/catalog"
	"waymark/catalog/inspect"
)

// PartChange is what is different in one part of a contract, with some of what stands around it, quoted so that
// nothing hides in it.
type PartChange struct {
	Part string `json:"part"`
	Was  string `json:"was"`
	Now  string `json:"now"`
}

// changesOf says what is different between the approved tool and what its server offers now.
func changesOf(was *catalog.Tool, now map[string][]byte, parts []string) (changes []PartChange) {
	if was == nil { // approved, and not seen since
		return nil
	}
	before := partsOf(was)
	for _, part := range parts {
		c := PartChange{Part: part}
		c.Was, c.Now = difference(string(before[part]), string(now[part]))
		changes = append(changes, c)
	}
	return changes
}

// Changes says what is different between two contracts.
func Changes(was, now *catalog.Tool) []PartChange {
	a, b := partsOf(was), partsOf(now)
	return changesOf(was, b, slices.DeleteFunc(slices.Clone(partNames[:]), func(part string) bool { return string(a[part]) == string(b[part]) }))
}

func partsOf(t *catalog.Tool) map[string][]byte {
	a := t.Annotations
	if a == nil {
		a = &catalog.Annotations{}
	}
	annotations, _ := json.Marshal(hints{ReadOnly: a.ReadOnly, Destructive: a.Destructive, Idempotent: a.Idempotent, OpenWorld: a.OpenWorld}) // bools: cannot fail
	return map[string][]byte{
		"name": []byte(t.Name), "title": []byte(a.Title), "description": []byte(t.Description), "annotations": catalog.Canonical(annotations),
		"inputSchema": catalog.Canonical(t.InputSchema), "outputSchema": catalog.Canonical(t.OutputSchema),
	}
}

// What is shown of a difference: the bytes around it, and of it.
const aroundChange, ofChange = 40, 600

// difference is the part of two texts that is not the same, quoted. Texts that look alike are quoted down to the
// letter.
func difference(was, now string) (string, string) {
	head := 0
	for head < min(len(was), len(now)) && was[head] == now[head] {
		head++
	}
	tail := 0
	for tail < min(len(was), len(now))-head && was[len(was)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	alike := strings.Join(strings.Fields(inspect.Skeleton(was)), "") == strings.Join(strings.Fields(inspect.Skeleton(now)), "")
	quote := func(s string) string {
		switch {
		case alike:
			return strconv.QuoteToASCII(s)
		case strings.Contains(s, "`") || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
			return strconv.Quote(s)
		}
		return "`" + s + "`"
	}
	cut := func(s string) string {
		from, to := max(0, head-aroundChange), min(len(s), len(s)-tail+aroundChange)
		for from > 0 && !utf8.RuneStart(s[from]) {
			from--
		}
		for to < len(s) && !utf8.RuneStart(s[to]) {
			to++
		}
		before, after := "", ""
		if from > 0 {
			before = "…"
		}
		if to < len(s) {
			after = "…"
		}
		if to-from > ofChange {
			after = fmt.Sprintf("… (%d bytes)", to-from)
			for to = from + ofChange; !utf8.RuneStart(s[to]); to-- {
			}
		}
		return before + quote(s[from:to]) + after
	}
	return cut(was), cut(now)
}
