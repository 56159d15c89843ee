package contribution

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"waymark/score"
)

// Anchors say what citations can point to: a transcript of sections §1 to §Max, and records of an
// evidence pack such as EV-001#E1. What is absent cannot be checked; an empty list has no record at all.
type Anchors struct {
	Max      int      `json:"max,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
}

func (a *Anchors) check() error {
	if a == nil {
		return nil
	}
	if a.Max < 0 || a.Max > 1_000_000 {
		return score.Refuse("anchors.max", "%d is not 0 to 1000000", a.Max)
	}
	for i, e := range a.Evidence {
		if !pattern("evidence").MatchString(e) {
			return score.Refuse(fmt.Sprintf("anchors.evidence[%d]", i), "%s does not read like EV-001 or EV-001#E1", quoted(e))
		}
	}
	return nil
}

// Citations are the anchors and markers of some texts.
type citations struct {
	sections, records []string // §42, §42-45; EV-001
	markers           int      // [inference] and the like
	fake              []string // cited, but not there
	odd               []string // entries of a list of anchors that are no anchors
	unchecked         bool     // something is cited that nothing was sent to check against
}

// cite reads the citations of texts, and of a list of anchors, whose markers may stand without brackets. A range such as
// §42-45 is fake if it runs backwards or ends outside of the transcript; the number of a pack alone, EV-001, is known if
// one of its records is.
func (a *Anchors) cite(list []string, texts ...string) (c citations) {
	if a == nil {
		a = &Anchors{}
	}
	for _, entry := range list {
		for _, part := range pattern("anchor_end").Split(pattern("remark").ReplaceAllString(entry, ""), -1) {
			if pattern("bare_marker").MatchString(part) {
				c.markers++
			}
			if part != "" && !pattern("anchor").MatchString(part) {
				c.odd = append(c.odd, excerpt(entry, 60))
			}
		}
	}
	text := strings.Join(texts, "\n\n")
	c.markers += len(pattern("marker").FindAllString(text, -1))
	for _, m := range pattern("section").FindAllStringSubmatch(text, -1) {
		cited, end := "§"+m[1], m[1]
		if m[2] != "" {
			cited, end = cited+"-"+m[2], m[2]
		}
		from, err := strconv.Atoi(m[1])
		to, errTo := strconv.Atoi(end)
		switch {
		case m[3] != "":
			c.odd = append(c.odd, cited+m[3])
			continue
		case err != nil || errTo != nil || from < 1 || to < from || a.Max > 0 && to > a.Max:
			c.fake = append(c.fake, cited)
		case a.Max == 0:
			c.unchecked = true
		}
		c.sections = append(c.sections, cited)
	}
	c.records = pattern("record").FindAllString(text, -1)
	for _, e := range c.records {
		isIt := func(known string) bool { return known == e || strings.HasPrefix(known, e+"#") }
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
	case refs != "" && c.markers > 0:
		return "cites " + refs + ", the rest is marked as inference or the like"
	case refs != "":
		return "cites " + refs
	case c.markers > 0:
		return "cites nothing, but is marked as inference or the like"
	}
	return ""
}

// attributions returns the first sentence that attributes something to Brenner without a citation, in quotes, and
// reports whether another one has a citation.
func attributions(text string) (bare string, sourced bool) {
	for _, sentence := range sentences(pattern("protocol").ReplaceAllString(text, "")) {
		if !pattern("brenner").MatchString(sentence) {
			continue
		}
		if (&Anchors{}).cite(nil, sentence).String() != "" {
			sourced = true
		} else if bare == "" {
			bare = quoted(sentence)
		}
	}
	return bare, sourced
}

func sentences(text string) []string { return pattern("sentence_end").Split(text, -1) }
