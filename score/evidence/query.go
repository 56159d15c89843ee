package evidence

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// A Query is a search for the next round. It is about Hypothesis, distinguishes it from Against, and leaves out the
// source Exclude.
type Query struct {
	Intent     Intent `json:"intent"`
	Text       string `json:"text"`
	Hypothesis string `json:"hypothesis"`
	Against    string `json:"against,omitempty"`
	Exclude    string `json:"exclude,omitempty"`
}

// An Intent is the class of a query. hypothesis_support_1 and _2 are for the two heaviest hypotheses. Before a forced
// round there are more, numbered by rank, for the hypotheses that no earlier support query was about.
type Intent string

const (
	discriminateTop2 Intent = "discriminative_top2"
	falsifyLead      Intent = "falsification_lead"
	diversifySources Intent = "source_diversity"
)

// maxQueryWords keeps queries at a length that search engines read to the end.
const maxQueryWords = 48

// queries returns the queries of the round that follows a gate.
//
//	support       "A vent stays open." with its key fact and rationale, and the same of the second
//	discriminate  vent stays open vs heater broken greenhouse cold night
//	falsify       X does not inhibit Y OR X activates Y OR evidence against …
//	diversify     A vent stays open. -site:handbook.example
//
// Round 2 begins with falsification, a forced round with discrimination. There is no query for "none of these".
// Repeated queries would bring the same results, so a forced round also asks for the hypotheses that were never among
// the first two.
func (t *triangulation) queries(gate Gate) []Query {
	if gate == Stop || gate == Exhausted {
		return []Query{}
	}
	var supports, discriminate, diversify []Query
	ranked := t.ranked(true)
	for i, c := range ranked {
		if i < 2 || gate == Forced && !c.asked {
			c.asked = true
			supports = append(supports, support(i, c))
		}
		if source := c.dominantSource(); source != "" {
			text := cutWords(c.Text, maxQueryWords) + " " + excluding(source)
			diversify = append(diversify, Query{diversifySources, text, c.ID, "", source})
		}
	}
	lead := ranked[0]
	falsify := []Query{{Intent: falsifyLead, Text: lead.doubted(), Hypothesis: lead.ID}}
	if len(ranked) > 1 {
		text := t.discriminate(lead.Hypothesis, ranked[1].Hypothesis)
		discriminate = []Query{{discriminateTop2, text, lead.ID, ranked[1].ID, ""}}
	}
	switch {
	case len(t.rounds) == 1:
		return slices.Concat(falsify, supports, discriminate, diversify)
	case gate == Forced:
		return slices.Concat(discriminate, supports, falsify, diversify)
	}
	return slices.Concat(supports, discriminate, falsify, diversify)
}

// support returns a query for the words of a hypothesis with its key fact and rationale, which would confirm it.
func support(place int, c *claim) Query {
	text := cutWords(c.Text+" "+c.KeyFact+" "+c.Rationale, maxQueryWords)
	return Query{Intent: Intent(fmt.Sprint("hypothesis_support_", place+1)), Text: text, Hypothesis: c.ID}
}

// doubted returns a query for the negated claim and for evidence against its rationale.
func (c *claim) doubted() string {
	q := negation(cutWords(c.Text, maxQueryWords/2), c.denies)
	if strings.TrimSpace(c.Rationale) != "" {
		q += " OR evidence against " + cutWords(c.Rationale, maxQueryWords/4)
	}
	return q
}

// discriminate joins the words that only one hypothesis has, those that only the other has, and then the words that
// they share, or else those of the question: "phosphorylation vs ubiquitination p53 protein".
func (t *triangulation) discriminate(a, b Hypothesis) string {
	only := func(a, b Hypothesis) string {
		alone, _ := apart(a.Text, b.Text)
		if len(alone) == 0 {
			alone, _ = apart(a.KeyFact+" "+a.Rationale, b.Text)
		}
		return strings.Join(first(alone, 10), " ")
	}
	_, shared := apart(a.Text, b.Text)
	if len(shared) == 0 {
		shared, _ = apart(t.Question, a.Text+" "+b.Text)
	}
	common := strings.Join(first(shared, 12), " ")
	return strings.TrimSpace(only(a, b) + " vs " + only(b, a) + " " + common)
}

// apart splits the words of a text into those that only this text has and those that the other text has, too. Words
// keep their spelling and occur once each. Stop words are left out.
func apart(text, other string) (alone, both []string) {
	in := terms(other)
	var seen []string
	for w := range strings.FieldsSeq(text) {
		stems := stems(w)
		if common(stems, seen) == len(stems) {
			continue
		}
		seen = append(seen, stems...)
		slices.Sort(seen)
		if w = strings.Trim(w, ".,;:!?()[]\"'"); common(stems, in) == len(stems) {
			both = append(both, w)
		} else {
			alone = append(alone, w)
		}
	}
	return alone, both
}

func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }

func cutWords(text string, n int) string { return strings.Join(first(strings.Fields(text), n), " ") }

// dominantSource returns the source of more than diversityShare of the snippets that support a hypothesis, or "".
// Snippets without a source count, but never dominate.
func (c *claim) dominantSource() string {
	counts := map[string]float64{}
	n := len(c.supporting)
	for _, p := range c.supporting {
		source := domain(p.Source)
		counts[source]++
		if n >= diversitySnippets && source != "" && counts[source] > float64(diversityShare*float64(n)) {
			return source
		}
	}
	return ""
}

// domain returns the name by which sources are counted: the host of an address without www, or any other name, in lower
// case.
func domain(source string) string {
	d := strings.ToLower(strings.TrimSpace(source))
	if u, err := url.Parse(d); err == nil && u.Host != "" {
		d = u.Hostname()
	}
	return strings.TrimPrefix(d, "www.")
}

// excluding returns the search term that excludes a source.
func excluding(source string) string {
	if strings.Contains(source, ".") && !strings.ContainsAny(source, " \t\"") {
		return "-site:" + source
	}
	return fmt.Sprintf("-%q", source)
}

// opposite returns the base of a verb and the verb of opposite meaning in the same form, "" if none is known.
func opposite(word string) (base, other string) {
	for _, row := range tables.Opposites {
		for i, forms := range row {
			if form := slices.Index(forms, word); form >= 0 {
				return forms[0], row[1-i][form]
			}
		}
	}
	return "", ""
}

// negation returns the negated claim: "X is Y" gives "X is not Y", and "X inhibits Y" gives "X does not inhibit Y OR X
// activates Y". For any other claim, and for one that denies something, it returns "no evidence that" and the claim.
func negation(claim string, denies bool) string {
	claim = strings.TrimRight(claim, ".!? ")
	words := strings.Fields(claim)
	for i, w := range words {
		with := func(instead string) string {
			return strings.Join(slices.Concat(words[:i], []string{instead}, words[i+1:]), " ")
		}
		plain := strings.ToLower(w)
		base, other := opposite(plain)
		switch {
		case denies:
		case slices.Contains(tables.Auxiliaries, plain):
			return with(w + " not")
		case plain == base+"s":
			return with("does not "+base) + " OR " + with(other)
		}
	}
	return "no evidence that " + claim
}

// sameClaim reports whether two claims have nearly the same words and do not differ in a denial, a number or an
// opposite verb. "Holds water at 25 degrees" and "at 30 degrees", "increases yields" and "decreases yields" are
// different claims.
func sameClaim(a, b stance) bool {
	if cosine(a.terms, b.terms) <= mergeCosine || a.denies != b.denies {
		return false
	}
	inA, inB := strings.Fields(a.claim), strings.Fields(b.claim)
	numbers := func(words []string) (n []string) {
		for _, w := range words {
			if strings.ContainsAny(w, "0123456789") {
				n = append(n, w)
			}
		}
		slices.Sort(n)
		return slices.Compact(n)
	}
	turned := func(w string) bool {
		_, o := opposite(w)
		return o != "" && slices.Contains(inB, o) && !slices.Contains(inA, o) && !slices.Contains(inB, w)
	}
	return slices.Equal(numbers(inA), numbers(inB)) && !slices.ContainsFunc(inA, turned)
}
