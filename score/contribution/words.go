package contribution

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// reach is the largest distance of a negation before a phrase, in bytes.
const reach = 40

// find returns, in quotes, the first match of a phrase that is not denied, and the last denied match before it. A match
// is denied if a negator stands before it in the same clause ("no positive control").
func find(phrase, negator, text string) (said, denied string) {
	text = strings.ReplaceAll(text, "’", "'")
	for _, m := range pattern(phrase).FindAllStringIndex(text, -1) {
		before, words := text[max(0, m[0]-reach):m[0]], quoted(text[m[0]:m[1]])
		if !pattern(negator).MatchString(before) {
			return words, denied
		}
		denied = words
	}
	return "", denied
}

// Anchors are the possible targets of citations: a transcript of sections §1 to §Max, and records of an evidence pack
// such as EV-001#E1. If one of the two is absent, its citations cannot be checked; an empty list means that there are
// no records.
type Anchors struct {
	Max      int      `json:"max,omitempty" max:"1000000"`
	Evidence []string `json:"evidence,omitempty"`
}

// maxSections is the largest section of any transcript.
const maxSections = 1_000_000

// citations are the anchors and markers of a text: sections such as §42-45 and records such as EV-001. Citations in
// fake do not exist; entries in odd are not anchors of the transcript or pack. marked is set if the text has a marker
// such as [inference], and unchecked if the anchors needed to check a citation are absent.
type citations struct {
	sections, records, fake, odd []string

	marked, unchecked bool
}

// cite reads the citations of a text and of a list of anchors, in which markers need no brackets. A range such as
// §42-45 is fake if it runs backwards or ends outside of the transcript; §3.2 refers to some other book and is odd.
// EV-001, the number of a pack alone, is known if one of its records is.
func (a *Anchors) cite(list []string, text string) (c citations) {
	a = cmp.Or(a, &Anchors{})
	bare := slices.ContainsFunc(list, pattern("bare_marker").MatchString)
	c.marked = bare || pattern("marker").MatchString(text)
	c.odd = slices.DeleteFunc(list, pattern("anchors").MatchString)
	for _, m := range pattern("section").FindAllStringSubmatch(text, -1) {
		cited := "§" + strings.TrimSuffix(m[1]+"-"+m[2], "-")
		from, _ := strconv.Atoi(m[1])
		to, _ := strconv.Atoi(cmp.Or(m[2], m[1]))
		switch {
		case m[3] != "":
			c.odd = append(c.odd, cited+m[3])
			continue
		case from < 1 || to < from || to > cmp.Or(a.Max, maxSections):
			c.fake = append(c.fake, cited)
		case a.Max == 0:
			c.unchecked = true
		}
		c.sections = append(c.sections, cited)
	}
	c.records = pattern("record").FindAllString(text, -1)
	for _, e := range c.records {
		isIt := func(known string) bool { return strings.HasPrefix(known+"#", e+"#") }
		if a.Evidence == nil {
			c.unchecked = true
		} else if !slices.ContainsFunc(a.Evidence, isIt) {
			c.fake = append(c.fake, e)
		}
	}
	c.fake, c.odd = distinct(c.fake), distinct(c.odd)
	return c
}

// String lists the citations: "cites §42, EV-001". It is empty if there are none.
func (c citations) String() string {
	refs := listed(append(distinct(c.sections), distinct(c.records)...))
	switch {
	case refs != "" && c.marked:
		return "cites " + refs + ", the rest is marked as inference or the like"
	case refs != "":
		return "cites " + refs
	case c.marked:
		return "cites nothing, but is marked as inference or the like"
	}
	return ""
}

// attributions returns the first sentence that attributes something to Brenner without a citation, in quotes, and
// reports whether another one has a citation.
func attributions(text string) (bare string, sourced bool) {
	text = pattern("protocol").ReplaceAllString(text, "")
	for _, s := range pattern("sentence_end").Split(text, -1) {
		switch {
		case !pattern("brenner").MatchString(s):
		case pattern("citation").MatchString(s):
			sourced = true
		case bare == "":
			bare = quoted(s)
		}
	}
	return bare, sourced
}

// An item is a JSON object of a message, with any fields.
type item map[string]any

// text returns a text field, trimmed, or "" if it is missing or of another type.
func (it item) text(name string) string {
	s, _ := it[name].(string)
	return strings.TrimSpace(s)
}

func (it item) flag(name string) bool { return it[name] == true }

// words returns all texts of an item, one per line.
func (it item) words() string { return strings.Join(collect(nil, map[string]any(it)), "\n") }

// list returns the texts of a list or object without blank ones; a single text counts as a list of one.
func (it item) list(name string) []string {
	return slices.DeleteFunc(collect(nil, it[name]), func(s string) bool { return strings.TrimSpace(s) == "" })
}

// collect appends all texts of a value, in the order of its keys.
func collect(to []string, v any) []string {
	switch v := v.(type) {
	case string:
		return append(to, v)
	case []any:
		for _, e := range v {
			to = collect(to, e)
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			to = collect(to, v[k])
		}
	}
	return to
}

// listed joins a list and cuts it after 400 characters.
func listed(list []string) string { return excerpt(strings.Join(list, ", "), 400) }

func quoted(s string) string { return fmt.Sprintf("%q", excerpt(s, 60)) }

// excerpt returns at most n characters on one line, and reads at most 8n bytes.
func excerpt(s string, n int) string {
	s = strings.ToValidUTF8(s[:min(len(s), 8*n)], "")
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return string(runes)
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
