package contribution

import (
	"slices"
	"strings"
)

// levels is criterion 4: no wishes inside mechanisms.
func levels(d *Delta) finding {
	words := strings.ReplaceAll(d.words(), "’", "'")
	mechanism := d.Payload.text("mechanism")
	argued := "" // a phrase that the contribution quotes or denies
	for _, m := range patterns()["wishing"].FindAllStringIndex(words, -1) {
		phrase := words[m[0]:m[1]]
		before := sameClause(words, m[0])
		switch {
		case negator.MatchString(before) || patterns()["quoted_here"].MatchString(words[max(0, m[0]-8):m[0]]):
			argued = phrase
		case patterns()["creature"].MatchString(phrase):
			return sure(0, "gives wishes: %s", quoted(phrase)).orUpTo(3, "does "+quoted(phrase)+" mean behaviour, or a mechanism inside?")
		default:
			return sure(0, "gives wishes to a mechanism: %s", quoted(phrase)).orUpTo(1, "is "+quoted(phrase)+" more than a figure of speech?")
		}
	}
	if argued != "" {
		return sure(1, "%s, quoted or denied", quoted(argued)).orUpTo(3, "is "+quoted(argued)+" meant, or what the contribution argues against?")
	}
	for _, sentence := range patterns()["sentence_end"].Split(words, -1) {
		if patterns()["cannot"].MatchString(sentence) && patterns()["will_not"].MatchString(sentence) && !ways()["level_words"].say(sentence) {
			return sure(1, "won't and can't in one sentence").orUpTo(3, "does "+quoted(sentence)+" mix up chastity and impotence?")
		}
	}
	split := slices.Contains(operatorsIn(words), "Level-Split")
	switch {
	case d.Section == hypothesisSlate && d.Operation == Add && mechanism == "":
		return sure(1, "no mechanism, so nothing to separate")
	case split || ways()["level_words"].say(words):
		return sure(2, "speaks of levels, no phrase mixes them up").orUpTo(3, "are mechanism and specification cleanly typed?")
	}
	return sure(1, "no phrase mixes levels up, none tells them apart").orUpTo(3, "are the levels kept apart?")
}

// thirdAlternative is criterion 5, of the whole message.
func (s *scene) thirdAlternative() finding {
	list := []finding{}
	mentioned := false
	for _, d := range s.deltas {
		if d.Operation != Kill && d.Section == hypothesisSlate && d.Payload.thirdAlternative() {
			list = append(list, thirdAlternative(d))
		}
		mentioned = mentioned || patterns()["third_alternative_words"].MatchString(d.words())
	}
	switch {
	case len(list) > 0:
		return best(list)
	case mentioned:
		return sure(1, "a third alternative is mentioned, none is marked").orUpTo(3, "is one of the hypotheses the third alternative?")
	case s.artifact.hasThirdAlternative():
		return sure(0, "none in this message").orUpTo(3, "the artifact has a third alternative; does this contribution work on it?")
	}
	return sure(0, "none is marked or mentioned")
}

// thirdAlternative looks at a hypothesis that is marked as such.
func thirdAlternative(d *Delta) finding {
	claim, mechanism := d.Payload.text("claim"), d.Payload.text("mechanism")
	said := claim + "\n" + mechanism
	switch {
	case d.Operation == Edit:
		return sure(1, "edits the third alternative").orUpTo(3, "the edit does not show the whole hypothesis")
	case ways()["placeholder"].say(said) && (mechanism == "" || ways()["placeholder"].say(mechanism)):
		return sure(1, "a placeholder, no mechanism of its own")
	case mechanism == "":
		return sure(1, "no mechanism").orUpTo(2, "is the claim specific enough?")
	case ways()["blend"].say(said):
		return sure(2, "claim and mechanism; reads like a blend").orUpTo(3, "is it more than a special case or a mixture of the others?")
	}
	return sure(2, "claim and mechanism of its own").orUpTo(3, "is it orthogonal, so that it would invalidate the others?")
}

// paradox is criterion 6.
func paradox(d *Delta) finding {
	words := d.words()
	said, _ := ways()["paradox_words"].in(words)
	hunted := slices.Contains(operatorsIn(d.Rationale), "Paradox-Hunt")
	switch {
	case said == "" && !hunted:
		return sure(0, "no paradox is named").orUpTo(1, "is a paradox described in other words?")
	case ways()["missing_rule"].say(words):
		return sure(1, "names a paradox and what follows").orUpTo(2, "does the hypothesis come from the paradox, and is the missing rule named?")
	}
	return sure(1, "names a paradox").orUpTo(2, "does the hypothesis come from the paradox?")
}
