package evidence

import (
	"slices"
	"strings"
)

// A verb is a word of a claim in one of its forms.
type verb struct {
	base     string
	do       string // its negation begins "does not", "did not", "do not"
	opposite string // in the same form, or ""
}

var verbs = func() map[string]verb {
	m := map[string]verb{}
	add := func(v, opposite string) {
		m[v] = verb{v, "do not", opposite}
		m[third(v)] = verb{v, "does not", third(opposite)}
		m[past(v)] = verb{v, "did not", past(opposite)}
	}
	for _, pair := range tables.Verbs.Pairs {
		add(pair[0], pair[1])
		add(pair[1], pair[0])
	}
	for _, v := range tables.Verbs.Alone {
		add(v, "")
	}
	return m
}()

func third(v string) string {
	switch {
	case v == "":
		return ""
	case strings.HasSuffix(v, "s"), strings.HasSuffix(v, "x"), strings.HasSuffix(v, "ch"), strings.HasSuffix(v, "sh"):
		return v + "es"
	}
	return v + "s"
}

func past(v string) string {
	if p, irregular := tables.Verbs.Past[v]; irregular || v == "" {
		return p
	}
	return strings.TrimSuffix(v, "e") + "ed"
}

var auxiliaries = wordSet("auxiliaries")

// negation returns the claim denied, and with the opposite verb where one is known, as a search would
// ask for it: "X inhibits Y" gives "X does not inhibit Y OR X activates Y". A claim that denies something
// is affirmed. Where no verb is known, it asks for evidence against the claim.
func negation(claim string) string {
	words := strings.Fields(strings.TrimRight(strings.TrimSpace(claim), ".!?"))
	plain := make([]string, len(words))
	for i, w := range words {
		plain[i] = strings.ReplaceAll(strings.ToLower(strings.Trim(w, ".,;:!?()\"'")), "’", "'")
	}
	for i, w := range plain {
		switch {
		case w == "not", w == "never":
			return join(words[:i], nil, words[i+1:])
		case w == "cannot" || strings.HasSuffix(w, "n't"):
			return join(words[:i], []string{affirmed(w)}, words[i+1:])
		}
	}
	for i, w := range plain {
		if auxiliaries[w] {
			return join(words[:i+1], []string{"not"}, words[i+1:])
		}
	}
	i := slices.IndexFunc(plain, func(w string) bool { return verbs[w].do == "does not" })
	if i < 0 {
		i = slices.IndexFunc(plain, func(w string) bool { return verbs[w].do == "did not" })
	}
	for j := 1; i < 0 && j < len(plain); j++ {
		if verbs[plain[j]].do == "do not" && strings.HasSuffix(plain[j-1], "s") { // after a plural; elsewhere it may be a noun
			i = j
		}
	}
	if i < 0 {
		return "no evidence that " + strings.Join(words, " ")
	}
	v := verbs[plain[i]]
	denied := join(words[:i], []string{v.do, v.base}, words[i+1:])
	if v.opposite == "" {
		return denied
	}
	return denied + " OR " + join(words[:i], []string{v.opposite}, words[i+1:])
}

// affirmed is an auxiliary that is joined with "not", without it.
func affirmed(w string) string {
	switch w {
	case "cannot", "can't":
		return "can"
	case "won't":
		return "will"
	}
	return strings.TrimSuffix(w, "n't")
}

func join(before, instead, after []string) string {
	return strings.Join(slices.Concat(before, instead, after), " ")
}

// opposed reports whether one text has a verb and the other its opposite.
func opposed(a, b []string) bool {
	for _, w := range a {
		if v := verbs[w]; v.opposite != "" && slices.Contains(b, v.opposite) && !slices.Contains(a, v.opposite) && !slices.Contains(b, w) {
			return true
		}
	}
	return false
}
