package contribution

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"waymark/score/rubric"
)

// Anchors say what citations can point to: a transcript of sections §1 to §Max, and records of an
// evidence pack such as EV-001#E1. What is absent cannot be checked; an empty list has no record at all.
type Anchors struct {
	Max      int      `json:"max,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
}

// maxEvidence is how many records an evidence pack may name.
const maxEvidence = 10_000

func (a *Anchors) check() error {
	switch {
	case a == nil:
		return nil
	case a.Max < 0 || a.Max > 1_000_000:
		return rubric.Refuse("anchors.max", "%d is not 0 to 1000000", a.Max)
	case len(a.Evidence) > maxEvidence:
		return rubric.AtMost("anchors.evidence", len(a.Evidence), maxEvidence)
	}
	for i, e := range a.Evidence {
		if !evidenceForm.MatchString(e) {
			return rubric.Refuse(fmt.Sprintf("anchors.evidence[%d]", i), "%s does not read like EV-001 or EV-001#E1", quoted(e))
		}
	}
	return nil
}

// A corpus is anchors made ready to be looked up.
type corpus struct {
	max     int             // 0: unknown
	records map[string]bool // with the packs they are in; nil: unknown
}

// corpus of no anchors knows nothing.
func (a *Anchors) corpus() *corpus {
	if a == nil {
		return &corpus{}
	}
	c := &corpus{max: a.Max}
	if a.Evidence != nil {
		c.records = make(map[string]bool, 2*len(a.Evidence))
	}
	for _, e := range a.Evidence {
		pack, _, _ := strings.Cut(e, "#")
		c.records[e], c.records[pack] = true, true
	}
	return c
}

var (
	evidenceForm = regexp.MustCompile(`^EV-[0-9]{1,9}(#E[0-9]{1,9})?$`)

	// A citation in running words. What follows the number tells §3.2 of some other book from §3 at the end
	// of a sentence.
	sectionCite  = regexp.MustCompile(`§+\s?([0-9]+)(?:\s?[-–]\s?§?([0-9]+))?(\.[0-9]+)?`)
	evidenceCite = regexp.MustCompile(`\bEV-[0-9]+(?:#E[0-9]+)?`)
	markerCite   = regexp.MustCompile(`(?i)\[(inference|synthesis|axiomatic)\]|\[external:\s*[^\]\s][^\]]*\]`)

	// An entry of a list of anchors is built of these, with remarks in parentheses and marks of how it is quoted.
	anchorPart = regexp.MustCompile(`(?i)^((§+\s?[0-9]+(\s?[-–]\s?§?[0-9]+)?|EV-[0-9]+(#E[0-9]+)?)(\s*\[(inference|verbatim|paraphrase|quote)\])?|\[?(inference|synthesis|axiomatic)\]?|\[external:\s*[^\]\s][^\]]*\])$`)
	remark     = regexp.MustCompile(`\s*\([^()]*\)`)
	anchorJoin = regexp.MustCompile(`(?i)\s*(,|;|\band\b|\bfrom\b)\s*`)
)

// Citations are what a delta cites.
type citations struct {
	sections  []string // §42, §42-45
	evidence  []string
	markers   int      // [inference] and the like
	fake      []string // cited, but not there
	odd       []string // entries of a list of anchors that are no anchors
	unchecked bool     // something is cited that nothing was sent to check against
}

// cite reads the citations of a delta.
func cite(d *Delta, known *corpus) citations {
	var c citations
	for _, entry := range d.Payload.texts("anchors") {
		c.entry(entry)
	}
	for _, words := range append(d.Payload.words(), d.Rationale) {
		if !strings.ContainsAny(words, "§[") && !strings.Contains(words, "EV-") {
			continue
		}
		for _, m := range sectionCite.FindAllStringSubmatch(words, -1) {
			c.section(m, known)
		}
		for _, e := range evidenceCite.FindAllString(words, -1) {
			c.record(e, known)
		}
		c.markers += len(markerCite.FindAllString(words, -1))
	}
	c.fake, c.odd = distinct(c.fake), distinct(c.odd)
	c.sections, c.evidence = distinct(c.sections), distinct(c.evidence)
	return c
}

// entry looks at the form of one entry of a list of anchors; a marker may stand there without brackets.
func (c *citations) entry(entry string) {
	for _, part := range anchorJoin.Split(remark.ReplaceAllString(entry, ""), -1) {
		switch {
		case part == "":
		case !anchorPart.MatchString(part):
			c.odd = append(c.odd, excerpt(entry, 60))
		case !strings.HasPrefix(part, "[") && strings.ContainsAny(part[:1], "iIsSaA"):
			c.markers++
		}
	}
}

func (c *citations) section(m []string, known *corpus) {
	cited := "§" + m[1]
	if m[2] != "" {
		cited += "-" + m[2]
	}
	if m[3] != "" {
		c.odd = append(c.odd, cited+m[3])
		return
	}
	c.sections = append(c.sections, cited)
	first, err := strconv.Atoi(m[1])
	last := first
	if m[2] != "" && err == nil {
		last, err = strconv.Atoi(m[2])
	}
	switch {
	case err != nil || first < 1 || last < first:
		c.fake = append(c.fake, cited)
	case known.max == 0:
		c.unchecked = true
	case last > known.max:
		c.fake = append(c.fake, cited)
	}
}

func (c *citations) record(e string, known *corpus) {
	c.evidence = append(c.evidence, e)
	switch {
	case known.records == nil:
		c.unchecked = true
	case !known.records[e]:
		c.fake = append(c.fake, e)
	}
}

// String says what is cited: "cites §42, EV-001", "marked as inference or synthesis".
func (c citations) String() string {
	refs := append(slices.Clone(c.sections), c.evidence...)
	switch {
	case len(refs) == 0:
		return "cites nothing, but is marked as inference or the like"
	case c.markers == 0:
		return "cites " + listed(refs)
	}
	return "cites " + listed(refs) + ", the rest is marked as inference or the like"
}

// count is how many things are cited.
func (c citations) count() int { return len(c.sections) + len(c.evidence) + c.markers }

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
