package contribution

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// discriminative is criterion 7: outcomes that differ.
func (s *scene) discriminative(d *Delta) finding {
	outcomes, seen := d.outcomes(s.artifact)
	switch {
	case !seen && d.Section == discriminativeTests:
		return sure(0, "the edit shows no outcomes").orUpTo(3, "send the artifact, so that the whole test can be seen")
	case !seen:
		return sure(0, "no test and no prediction").orUpTo(3, "does this contribution help to tell hypotheses apart?")
	}
	definite := map[string]string{}
	for h, o := range outcomes {
		if o = plain(o); !indefinite.MatchString(o) {
			definite[h] = o
		}
	}
	different := len(slices.Compact(slices.Sorted(maps.Values(definite))))
	saw := fmt.Sprintf("%d different outcomes for %d hypotheses", different, len(outcomes))
	_, parts, _ := d.Payload.rating()
	ratio, rated := parts["likelihood_ratio"]
	switch {
	case len(outcomes) < 2:
		return sure(0, "outcomes for %d hypotheses: nothing to tell apart", len(outcomes))
	case different < 2:
		return sure(0, "%s", saw)
	case rated && ratio == 0:
		return sure(1, "%s, and its own likelihood ratio is below 2:1", saw)
	case different < len(outcomes):
		return sure(2, "%s", saw).orUpTo(3, "is the test meant for the hypotheses that differ?")
	}
	return sure(2, "%s", saw).orUpTo(3, "is each outcome observable, and digital?")
}

// outcomes returns the outcome that each hypothesis predicts. For an edit the artifact supplies the other fields.
func (d *Delta) outcomes(a *Artifact) (map[string]string, bool) {
	name := map[Section]string{discriminativeTests: "expected_outcomes", predictionsTable: "predictions"}[d.Section]
	if name == "" || d.Operation == Kill {
		return nil, false
	}
	it := d.whole(a)
	return it.perHypothesis(name), it[name] != nil || d.Operation == Add
}

// whole returns the payload, laid over the edited item if the artifact has it.
func (d *Delta) whole(a *Artifact) Item {
	if d.Operation != Edit || a == nil {
		return d.Payload
	}
	base := a.find(d.Section, d.TargetID)
	if base == nil {
		return d.Payload
	}
	it := cloned(base)
	maps.Copy(it, d.Payload)
	return it
}

// potency is criterion 8, of the test or else of the tests in the message.
func (s *scene) potency(d *Delta) finding {
	if d.Section == discriminativeTests && d.Operation != Kill {
		check := d.whole(s.artifact).text("potency_check")
		if noPotency(check) {
			return sure(0, "the edit shows no potency check").orUpTo(3, "send the artifact, so that the whole test can be seen")
		}
		return potencyCheck(check)
	}
	return s.once("potency", s.anyPotency)
}

// anyPotency returns the best potency check of the message, for deltas that are no tests.
func (s *scene) anyPotency() finding {
	list := []finding{}
	for _, o := range s.deltas {
		if o.Section == discriminativeTests && o.Operation != Kill && !noPotency(o.Payload.text("potency_check")) {
			list = append(list, potencyCheck(o.Payload.text("potency_check")))
		}
	}
	if len(list) == 0 {
		return sure(0, "no test in this message").orUpTo(3, "is there a potency check for what this contribution builds on?")
	}
	return best(list)
}

// potencyCheck looks for the three parts of a check.
func potencyCheck(check string) finding {
	var saw, lacks []string
	for _, part := range []struct {
		name string
		p    phrases
	}{{"a positive control", ways()["positive_control"]}, {"sensitivity", ways()["sensitivity"]}, {"timing", ways()["timing"]}} {
		if part.p.say(check) {
			saw = append(saw, part.name)
		} else {
			lacks = append(lacks, part.name)
		}
	}
	ask := "no words were recognised that give " + strings.Join(lacks, ", or ")
	switch len(saw) {
	case 3:
		return sure(3, "has %s", listed(saw))
	case 0:
		return sure(1, "a check, but no control, sensitivity or timing").orUpTo(3, ask)
	case 1:
		return sure(1, "has %s", listed(saw)).orUpTo(3, ask)
	}
	return sure(2, "has %s", listed(saw)).orUpTo(3, ask)
}

// transposition is criterion 9: another experimental system.
func transposition(d *Delta) finding {
	words := d.words()
	named := slices.Contains(operatorsIn(d.Rationale), "Object-Transpose")
	said, _ := ways()["other_object"].in(words)
	switch {
	case said == "" && !named:
		return sure(0, "no other system is named").orUpTo(1, "is another system named in words that were not recognised?")
	case ways()["cost_benefit"].say(words):
		return sure(1, "names another system, and costs or benefits").orUpTo(2, "are the systems weighed against each other?")
	}
	return sure(1, "names another system").orUpTo(2, "are cost and benefit weighed?")
}

// calibration is criterion 10: a test's own score.
func calibration(d *Delta) finding {
	sum, parts, complete := d.Payload.rating()
	different := len(slices.Compact(slices.Sorted(maps.Values(d.Payload.perHypothesis("expected_outcomes")))))
	switch {
	case !complete:
		return sure(0, "the score lacks parts, or has impossible ones")
	case sum == 12:
		return sure(0, "all parts are 3")
	case parts["likelihood_ratio"] > 0 && d.Payload["expected_outcomes"] != nil && different < 2:
		return sure(0, "claims a likelihood ratio for outcomes that do not differ")
	case sum >= 10:
		return sure(1, "%d of 12: optimistic", sum).orUpTo(2, "is a sum of "+fmt.Sprint(sum)+" of 12 realistic for this test?")
	}
	return sure(1, "%d of 12, not all alike", sum).orUpTo(2, "are the parts honest about cost, speed and ambiguity?")
}
