package evidence

import (
	"slices"
	"strings"
)

// opposites are verbs of claims. A pair means the opposite of one another; of a verb alone none is known.
var opposites = [][2]string{
	{"activate", "inhibit"}, {"increase", "decrease"}, {"raise", "lower"}, {"cause", "prevent"}, {"promote", "suppress"},
	{"enable", "block"}, {"improve", "worsen"}, {"accelerate", "slow"}, {"strengthen", "weaken"}, {"expand", "contract"},
	{"gain", "lose"}, {"start", "stop"}, {"create", "destroy"}, {"attract", "repel"}, {"accept", "reject"},
	{"exceed", "undershoot"}, {"precede", "follow"}, {"include", "exclude"}, {"confirm", "refute"},
	{"bind"}, {"trigger"}, {"explain"}, {"drive"}, {"require"}, {"affect"}, {"depend"}, {"regulate"}, {"contain"}, {"produce"},
	{"lead"}, {"come"}, {"use"}, {"need"}, {"support"}, {"mediate"}, {"control"}, {"determine"}, {"originate"}, {"result"},
	{"leak"}, {"delay"}, {"corrupt"}, {"overload"}, {"exhaust"}, {"damage"}, {"move"}, {"grow"}, {"migrate"}, {"reduce"},
	{"stay"}, {"remain"}, {"hold"}, {"keep"},
}

// A verb is a word of a claim in one of its forms.
type verb struct {
	base     string
	do       string // its negation begins "does not", "did not", "do not"
	opposite string // in the same form, or ""
}

var verbs = func() map[string]verb {
	m := map[string]verb{}
	for _, pair := range opposites {
		for i, v := range pair {
			if v == "" {
				continue
			}
			o := pair[1-i]
			m[v] = verb{v, "do not", o}
			m[third(v)] = verb{v, "does not", third(o)}
			m[past(v)] = verb{v, "did not", past(o)}
		}
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

var pasts = map[string]string{"lose": "lost", "bind": "bound", "lead": "led", "come": "came", "grow": "grew", "drive": "drove",
	"undershoot": "undershot", "hold": "held", "keep": "kept"}

func past(v string) string {
	switch v {
	case "":
		return ""
	case "stop", "repel", "control":
		return v + v[len(v)-1:] + "ed"
	}
	if p, irregular := pasts[v]; irregular {
		return p
	}
	return strings.TrimSuffix(v, "e") + "ed"
}

var auxiliaries = set("is", "are", "was", "were", "can", "could", "will", "would", "has", "have", "had", "does", "do", "did",
	"may", "might", "must", "should")

// Negation returns the claim denied, and with the opposite verb where one is known, as a search would
// ask for it: "X inhibits Y" gives "X does not inhibit Y OR X activates Y". A claim that denies something
// is affirmed. Where no verb is known, it asks for evidence against the claim.
func Negation(claim string) string {
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
