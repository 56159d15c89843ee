package contribution

import (
	"slices"
	"strings"
)

// scaleCheck is criterion 11: numbers, units, a result and what follows.
func scaleCheck(d *Delta) finding {
	words := d.words()
	named := d.Payload.flag("scale_check") || d.Payload.text("calculation") != "" || slices.Contains(operatorsIn(words), "Scale-Check")
	calculation := words
	if c := d.Payload.text("calculation"); c != "" {
		calculation = c
	}
	number, units, calc := patterns()["figures"].MatchString(calculation), patterns()["with_unit"].MatchString(calculation), patterns()["calculating"].MatchString(calculation)
	switch {
	case !named && !(units && calc):
		if ways()["scale_words"].say(words) {
			return sure(0, "no scale check").orUpTo(1, "is there reasoning about scale?")
		}
		return sure(0, "no scale check")
	case !number || !calc:
		return sure(1, "a scale check without a calculation").orUpTo(2, "is a calculation given in words?")
	case !units:
		return sure(2, "a calculation without units")
	case !ways()["ruling"].say(words):
		return sure(2, "a calculation with units").orUpTo(3, "does it say what the result rules out?")
	}
	return sure(2, "a calculation with units and a conclusion").orUpTo(3, "is the arithmetic right, to the order of magnitude?")
}

// quarantine is criterion 12: anomalies in the register.
func quarantine(d *Delta) finding {
	p := d.Payload
	if d.Section != anomalyRegister || d.Operation == Kill {
		if said, _ := ways()["anomaly_words"].in(d.words()); said != "" {
			return sure(0, "mentions %s, registers nothing", quoted(said)).orUpTo(1, "is an anomaly named that should be in the register?")
		}
		return sure(0, "no anomaly").orUpTo(1, "is there an anomaly that should be in the register?")
	}
	formal := p.text("name") != "" && p.text("observation") != "" && len(p.texts("conflicts_with")) > 0
	plan := p.text("resolution_plan") != ""
	switch {
	case d.Operation == Edit:
		return sure(1, "updates an anomaly").orUpTo(3, "the edit does not show the whole anomaly")
	case !formal:
		return sure(1, "registers an anomaly without observation or conflict")
	case !plan:
		return sure(1, "registers an anomaly without a plan").orUpTo(2, "is a plan or a reason to wait given in other words?")
	case p.text("status") != "" && ways()["broom"].say(d.words()):
		return sure(3, "observation, conflict, plan, status, and Occam's broom")
	}
	return sure(2, "observation, conflict and plan").orUpTo(3, "is it tracked with open eyes for what is swept away?")
}

// killing is criterion 13: evidence for a KILL.
func killing(d *Delta) finding {
	words := d.Payload.text("reason") + "\n" + d.Rationale
	said, _ := ways()["unjustified"].in(words)
	evidence, _ := ways()["evidence_of"].in(words)
	points := []string{}
	for _, id := range patterns()["item_id"].FindAllString(words, -1) {
		if id != d.TargetID && !strings.HasPrefix(id, "H") {
			points = append(points, id)
		}
	}
	points = append(points, sectionCite.FindAllString(words, -1)...)
	points = distinct(append(points, evidenceCite.FindAllString(words, -1)...))
	switch {
	case said != "" && evidence == "" && len(points) == 0:
		return sure(0, "taste or convenience: %s", quoted(said))
	case evidence == "" && len(points) == 0:
		return sure(0, "no evidence is named").orUpTo(1, "is there evidence in words that were not recognised?")
	case len(points) >= 2 && evidence != "":
		return sure(2, "evidence in %s", listed(points)).orUpTo(3, "is the core mechanism contradicted, and no rescue left?")
	}
	return sure(1, "one piece of evidence").orUpTo(3, "how strong is the evidence, and is a rescue left?")
}

// realThird is criterion 14: an alternative, not only doubt.
func realThird(d *Delta) finding {
	p := d.Payload
	said := strings.Join([]string{p.text("attack"), p.text("claim"), p.text("mechanism"), p.text("evidence")}, "\n")
	marked := d.Operation != Kill && (p.flag("real_third_alternative") || p.thirdAlternative())
	switch {
	case !marked && patterns()["third_alternative_words"].MatchString(d.words()):
		return sure(0, "speaks of a third alternative, marks none").orUpTo(2, "is an alternative proposed?")
	case !marked:
		return sure(0, "no alternative is marked").orUpTo(1, "is an alternative proposed without the mark?")
	case ways()["placeholder"].say(said) && !ways()["mechanisms"].say(said):
		return sure(1, "a vague alternative")
	case ways()["mechanisms"].say(said) && ways()["testable"].say(said):
		return sure(2, "an alternative with a mechanism and something to test").orUpTo(3, "are mechanism and predictions concrete?")
	case ways()["mechanisms"].say(said) || ways()["testable"].say(said):
		return sure(2, "a specific alternative").orUpTo(3, "has it a mechanism and testable predictions?")
	}
	return sure(1, "marked, but neither mechanism nor test was recognised").orUpTo(2, "is the alternative specific?")
}
