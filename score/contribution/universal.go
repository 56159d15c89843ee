package contribution

import "strings"

// structure is criterion 1: the format.
func structure(d *Delta) finding {
	switch {
	case len(d.Faults) > 0:
		return sure(1, "%s", strings.Join(d.Faults, "; "))
	case len(d.Notes) > 0:
		return sure(2, "%s", strings.Join(d.Notes, "; "))
	}
	return sure(3, "all fields as the format wants them")
}

// citation is criterion 2: anchors and markers.
func citation(d *Delta, known *corpus) finding {
	c := cite(d, known)
	cited := c.String()
	bare, sourced := attributions(d)
	switch {
	case len(c.fake) > 0:
		return sure(0, "%s does not exist", listed(c.fake))
	case bare != "" && len(c.sections) == 0 && c.markers == 0:
		return sure(0, "speaks for Brenner without an anchor: %s", quoted(bare))
	case bare != "" && sourced == 0:
		return sure(1, "%s, but not where it speaks for Brenner", cited).orUpTo(2, "does an anchor elsewhere in the delta belong to "+quoted(bare)+"?")
	case len(c.odd) > 0:
		return sure(1, "%s is no anchor", listed(c.odd)).orUpTo(2, "is "+listed(c.odd)+" a source, and which?")
	case bare != "":
		return sure(2, "%s; one mention of Brenner has none", cited)
	case c.count() == 0 && d.Operation == Add && d.Section == hypothesisSlate:
		return sure(1, "no anchor and no marker").orUpTo(2, "is anything here taken from a source?")
	case c.count() == 0:
		return sure(2, "no anchor and no marker").orUpTo(3, "is anything here taken from a source, or inferred?")
	case c.unchecked:
		return sure(2, "%s", cited).orUpTo(3, "no transcript or evidence pack was sent, so the anchors were not looked up")
	}
	return sure(3, "%s", cited)
}

// attributions returns the first sentence that attributes something to Brenner without a citation, and the number of
// those with one.
func attributions(d *Delta) (bare string, sourced int) {
	for _, words := range append(d.Payload.words(), d.Rationale) {
		words = protocolWords.ReplaceAllString(words, "")
		for _, sentence := range patterns()["sentence_end"].Split(words, -1) {
			switch {
			case !patterns()["brenner"].MatchString(sentence):
			case sectionCite.MatchString(sentence) || evidenceCite.MatchString(sentence) || markerCite.MatchString(sentence):
				sourced++
			case bare == "":
				bare = sentence
			}
		}
	}
	return bare, sourced
}

// rationale is criterion 3: operators, why, and what for.
func rationale(d *Delta) finding {
	if d.Rationale == "" {
		return sure(0, "there is none")
	}
	operators := operatorsIn(d.Rationale)
	why, apart := ways()["why_words"].say(d.Rationale), ways()["apart_words"].say(d.Rationale) || patterns()["item_id"].MatchString(d.Rationale)
	var saw, lacks []string
	have := func(ok bool, yes, no string) {
		if ok {
			saw = append(saw, yes)
		} else {
			lacks = append(lacks, no)
		}
	}
	have(len(operators) > 0, "names "+listed(signs(operators)), "which operator was used")
	have(why, "says why", "why")
	have(apart, "says what it tells apart", "which alternatives it helps to tell apart")
	switch {
	case len(operators) == 0 && restates(d):
		return sure(0, "says the payload once more").orUpTo(1, "does it say anything that the payload does not?")
	case len(lacks) == 0:
		return sure(3, "%s", strings.Join(saw, ", "))
	case len(operators) == 0 && why && apart:
		return sure(2, "%s; names no operator", strings.Join(saw, ", "))
	case len(operators) == 0:
		return sure(1, "names no operator").orUpTo(2, "no words were recognised that say "+strings.Join(lacks[1:], ", or "))
	case len(saw) == 2:
		return sure(2, "%s", strings.Join(saw, ", ")).orUpTo(3, "no words were recognised that say "+lacks[0])
	}
	return sure(1, "%s", strings.Join(saw, ", ")).orUpTo(3, "no words were recognised that say "+strings.Join(lacks, ", or "))
}

// restates reports whether nine of ten words of the rationale, and at least four, stand in the payload.
func restates(d *Delta) bool {
	inPayload := map[string]bool{}
	for _, w := range longWords(strings.Join(d.Payload.words(), " ")) {
		inPayload[w] = true
	}
	words := longWords(d.Rationale)
	same := 0
	for _, w := range words {
		if inPayload[w] {
			same++
		}
	}
	return same >= 4 && 10*same >= 9*len(words)
}
