package contribution

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A finding is what the rules see of one criterion: a score that they can stand behind, the highest score
// that they cannot exclude, what they saw, and, where the two scores differ, what a person has to look at.
type finding struct {
	score, upper int
	saw          string
	ask          string
}

func sure(score int, format string, args ...any) finding {
	return finding{score, score, fmt.Sprintf(format, args...), ""}
}

func (f finding) orUpTo(upper int, ask string) finding {
	if upper > f.score {
		f.upper, f.ask = upper, ask
	}
	return f
}

// best is the finding of the largest score, then of the largest upper one, then the first in words.
func best(list []finding) finding {
	return slices.MaxFunc(list, func(a, b finding) int {
		if a.score != b.score {
			return a.score - b.score
		}
		if a.upper != b.upper {
			return a.upper - b.upper
		}
		return strings.Compare(b.saw, a.saw)
	})
}

// A scene is what a delta is judged in: the valid deltas of its message, the transcript, the artifact.
type scene struct {
	deltas   []*Delta
	anchors  *Anchors
	artifact *Artifact
	whole    map[string]finding // of the message, where that is what a criterion looks at
}

// once finds what belongs to the message, whichever delta asks.
func (s *scene) once(name string, look func() finding) finding {
	f, known := s.whole[name]
	if !known {
		f = look()
		s.whole[name] = f
	}
	return f
}

// automatic scores one criterion of a valid delta by rule.
func (s *scene) automatic(name string, d *Delta) finding {
	switch name {
	case "structural":
		return structure(d)
	case "citation":
		return citation(d, s.anchors)
	case "rationale":
		return rationale(d)
	case "level_separation":
		return levels(d)
	case "third_alternative":
		return s.once(name, s.thirdAlternative)
	case "paradox":
		return paradox(d)
	case "discriminative":
		return s.discriminative(d)
	case "potency":
		return s.potency(d)
	case "object_transposition":
		return transposition(d)
	case "calibration":
		return calibration(d)
	case "scale_check":
		return s.once(name, func() finding { return s.bestOf(scaleCheck) })
	case "quarantine":
		return s.once(name, func() finding { return s.bestOf(quarantine) })
	case "kill_justification":
		return killing(d)
	case "real_third_alternative":
		return s.once(name, func() finding { return s.bestOf(realThird) })
	}
	panic("contribution: no criterion " + name)
}

// bestOf is the best finding among the deltas of the message. Whether something is there at all is asked
// of the contribution: a critic who quarantines an anomaly in one delta and does the scale check in the
// next has done both.
func (s *scene) bestOf(look func(*Delta) finding) finding {
	list := make([]finding, len(s.deltas))
	for i, d := range s.deltas {
		list[i] = look(d)
	}
	return best(list)
}

// words are everything a delta says.
func (d *Delta) words() string {
	return strings.Join(append(d.Payload.words(), d.Rationale), "\n")
}

func structure(d *Delta) finding {
	switch {
	case len(d.Faults) > 0:
		return sure(1, "%s", strings.Join(d.Faults, "; "))
	case len(d.Notes) > 0:
		return sure(2, "%s", strings.Join(d.Notes, "; "))
	}
	return sure(3, "all fields as the format wants them")
}

func citation(d *Delta, known *Anchors) finding {
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
	case c.count() == 0 && d.Operation == Add && d.Section == HypothesisSlate:
		return sure(1, "no anchor and no marker").orUpTo(2, "is anything here taken from a source?")
	case c.count() == 0:
		return sure(2, "no anchor and no marker").orUpTo(3, "is anything here taken from a source, or inferred?")
	case c.unchecked:
		return sure(2, "%s", cited).orUpTo(3, "no transcript or evidence pack was sent, so the anchors were not looked up")
	}
	return sure(3, "%s", cited)
}

// attributions finds a sentence that speaks for Brenner without a citation in it, and counts those with one.
func attributions(d *Delta) (bare string, sourced int) {
	for _, words := range append(d.Payload.words(), d.Rationale) {
		words = protocolWords.ReplaceAllString(words, "")
		for _, sentence := range sentenceEnd.Split(words, -1) {
			switch {
			case !brenner.MatchString(sentence):
			case sectionCite.MatchString(sentence) || evidenceCite.MatchString(sentence) || markerCite.MatchString(sentence):
				sourced++
			case bare == "":
				bare = sentence
			}
		}
	}
	return bare, sourced
}

func rationale(d *Delta) finding {
	if d.Rationale == "" {
		return sure(0, "there is none")
	}
	operators := operatorsIn(d.Rationale)
	why, apart := whyWords.say(d.Rationale), apartWords.say(d.Rationale) || itemID.MatchString(d.Rationale)
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

func levels(d *Delta) finding {
	words := strings.ReplaceAll(d.words(), "’", "'")
	mechanism := d.Payload.text("mechanism")
	for _, m := range wishing.FindAllStringIndex(words, -1) {
		phrase := words[m[0]:m[1]]
		before := words[max(0, m[0]-reaching):m[0]]
		if negator.MatchString(before) || strings.ContainsAny(before, `"“`) {
			return sure(1, "%s, quoted or denied", quoted(phrase)).orUpTo(3, "is "+quoted(phrase)+" meant, or what the contribution argues against?")
		}
		if creature.MatchString(phrase) {
			return sure(0, "gives wishes: %s", quoted(phrase)).orUpTo(3, "does "+quoted(phrase)+" mean behaviour, or a mechanism inside?")
		}
		return sure(0, "gives wishes to a mechanism: %s", quoted(phrase)).orUpTo(1, "is "+quoted(phrase)+" more than a figure of speech?")
	}
	for _, sentence := range sentenceEnd.Split(words, -1) {
		if cannot.MatchString(sentence) && willNot.MatchString(sentence) && !levelWords.say(sentence) {
			return sure(1, "won't and can't in one sentence").orUpTo(3, "does "+quoted(sentence)+" mix up chastity and impotence?")
		}
	}
	split := slices.Contains(operatorsIn(words), "Level-Split")
	switch {
	case d.Section == HypothesisSlate && d.Operation == Add && mechanism == "":
		return sure(1, "no mechanism, so nothing to separate")
	case split || levelWords.say(words):
		return sure(2, "speaks of levels, no phrase mixes them up").orUpTo(3, "are mechanism and specification cleanly typed?")
	}
	return sure(1, "no phrase mixes levels up, none tells them apart").orUpTo(3, "are the levels kept apart?")
}

func (s *scene) thirdAlternative() finding {
	list := []finding{}
	mentioned := false
	for _, d := range s.deltas {
		if d.Operation != Kill && d.Section == HypothesisSlate && d.Payload.thirdAlternative() {
			list = append(list, thirdAlternative(d))
		}
		mentioned = mentioned || thirdAlternativeWords.MatchString(d.words())
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

func thirdAlternative(d *Delta) finding {
	claim, mechanism := d.Payload.text("claim"), d.Payload.text("mechanism")
	said := claim + "\n" + mechanism
	switch {
	case d.Operation == Edit:
		return sure(1, "edits the third alternative").orUpTo(3, "the edit does not show the whole hypothesis")
	case placeholder.say(said) && (mechanism == "" || placeholder.say(mechanism)):
		return sure(1, "a placeholder, no mechanism of its own")
	case mechanism == "":
		return sure(1, "no mechanism").orUpTo(2, "is the claim specific enough?")
	case blend.say(said):
		return sure(2, "claim and mechanism; reads like a blend").orUpTo(3, "is it more than a special case or a mixture of the others?")
	}
	return sure(2, "claim and mechanism of its own").orUpTo(3, "is it orthogonal, so that it would invalidate the others?")
}

func paradox(d *Delta) finding {
	words := d.words()
	said, _ := paradoxWords.in(words)
	hunted := slices.Contains(operatorsIn(d.Rationale), "Paradox-Hunt")
	switch {
	case said == "" && !hunted:
		return sure(0, "no paradox is named").orUpTo(1, "is a paradox described in other words?")
	case missingRule.say(words):
		return sure(1, "names a paradox and what follows").orUpTo(2, "does the hypothesis come from the paradox, and is the missing rule named?")
	}
	return sure(1, "names a paradox").orUpTo(2, "does the hypothesis come from the paradox?")
}

func (s *scene) discriminative(d *Delta) finding {
	outcomes, seen := d.outcomes(s.artifact)
	switch {
	case !seen && d.Section == DiscriminativeTests:
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
	switch _, parts, _ := d.Payload.rating(); {
	case len(outcomes) < 2:
		return sure(0, "outcomes for %d hypotheses: nothing to tell apart", len(outcomes))
	case different < 2:
		return sure(0, "%s", saw)
	case d.rates("likelihood_ratio") && parts["likelihood_ratio"] == 0:
		return sure(1, "%s, and its own likelihood ratio is below 2:1", saw)
	case different < len(outcomes):
		return sure(2, "%s", saw).orUpTo(3, "is the test meant for the hypotheses that differ?")
	}
	return sure(2, "%s", saw).orUpTo(3, "is each outcome observable, and digital?")
}

// outcomes are what a delta says that each hypothesis expects. An edit shows the rest in the artifact.
func (d *Delta) outcomes(a *Artifact) (map[string]string, bool) {
	name := map[Section]string{DiscriminativeTests: "expected_outcomes", PredictionsTable: "predictions"}[d.Section]
	if name == "" || d.Operation == Kill {
		return nil, false
	}
	it := d.whole(a)
	return it.perHypothesis(name), it[name] != nil || d.Operation == Add
}

// whole is the payload, over the item that an edit changes if an artifact shows it.
func (d *Delta) whole(a *Artifact) Item {
	if d.Operation != Edit || a == nil {
		return d.Payload
	}
	base := a.find(d.Section, d.TargetID)
	if base == nil {
		return d.Payload
	}
	it := base.clone()
	maps.Copy(it, d.Payload)
	return it
}

func (d *Delta) rates(part string) bool {
	_, parts, _ := d.Payload.rating()
	_, ok := parts[part]
	return ok
}

func (s *scene) potency(d *Delta) finding {
	if d.Section == DiscriminativeTests && d.Operation != Kill {
		check := d.whole(s.artifact).text("potency_check")
		if noPotency(check) {
			return sure(0, "the edit shows no potency check").orUpTo(3, "send the artifact, so that the whole test can be seen")
		}
		return potencyCheck(check)
	}
	return s.once("potency", s.anyPotency)
}

// anyPotency is the best check among the tests of the message, for deltas that are no tests.
func (s *scene) anyPotency() finding {
	list := []finding{}
	for _, o := range s.deltas {
		if o.Section == DiscriminativeTests && o.Operation != Kill && !noPotency(o.Payload.text("potency_check")) {
			list = append(list, potencyCheck(o.Payload.text("potency_check")))
		}
	}
	if len(list) == 0 {
		return sure(0, "no test in this message").orUpTo(3, "is there a potency check for what this contribution builds on?")
	}
	return best(list)
}

func potencyCheck(check string) finding {
	var saw, lacks []string
	for _, part := range []struct {
		name string
		p    phrases
	}{{"a positive control", positiveControl}, {"sensitivity", sensitivity}, {"timing", timing}} {
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

func transposition(d *Delta) finding {
	words := d.words()
	named := slices.Contains(operatorsIn(d.Rationale), "Object-Transpose")
	said, _ := otherObject.in(words)
	switch {
	case said == "" && !named:
		return sure(0, "no other system is named").orUpTo(1, "is another system named in words that were not recognised?")
	case costBenefit.say(words):
		return sure(1, "names another system, and costs or benefits").orUpTo(2, "are the systems weighed against each other?")
	}
	return sure(1, "names another system").orUpTo(2, "are cost and benefit weighed?")
}

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

func scaleCheck(d *Delta) finding {
	words := d.words()
	named := d.Payload.flag("scale_check") || d.Payload.text("calculation") != "" || slices.Contains(operatorsIn(words), "Scale-Check")
	calculation := words
	if c := d.Payload.text("calculation"); c != "" {
		calculation = c
	}
	number, units, calc := figures.MatchString(calculation), withUnit.MatchString(calculation), calculating.MatchString(calculation)
	switch {
	case !named && !(units && calc):
		if scaleWords.say(words) {
			return sure(0, "no scale check").orUpTo(1, "is there reasoning about scale?")
		}
		return sure(0, "no scale check")
	case !number || !calc:
		return sure(1, "a scale check without a calculation").orUpTo(2, "is a calculation given in words?")
	case !units:
		return sure(2, "a calculation without units")
	case !ruling.say(words):
		return sure(2, "a calculation with units").orUpTo(3, "does it say what the result rules out?")
	}
	return sure(2, "a calculation with units and a conclusion").orUpTo(3, "is the arithmetic right, to the order of magnitude?")
}

func quarantine(d *Delta) finding {
	p := d.Payload
	if d.Section != AnomalyRegister || d.Operation == Kill {
		if said, _ := anomalyWords.in(d.words()); said != "" {
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
	case p.text("status") != "" && broom.say(d.words()):
		return sure(3, "observation, conflict, plan, status, and Occam's broom")
	}
	return sure(2, "observation, conflict and plan").orUpTo(3, "is it tracked with open eyes for what is swept away?")
}

func killing(d *Delta) finding {
	words := d.Payload.text("reason") + "\n" + d.Rationale
	said, _ := unjustified.in(words)
	evidence, _ := evidenceOf.in(words)
	points := []string{}
	for _, id := range itemID.FindAllString(words, -1) {
		if id != d.TargetID && !strings.HasPrefix(id, "H") {
			points = append(points, id)
		}
	}
	for _, m := range sectionCite.FindAllString(words, -1) {
		points = append(points, m)
	}
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

func realThird(d *Delta) finding {
	p := d.Payload
	said := strings.Join([]string{p.text("attack"), p.text("claim"), p.text("mechanism"), p.text("evidence")}, "\n")
	marked := d.Operation != Kill && (p.flag("real_third_alternative") || p.thirdAlternative())
	switch {
	case !marked && thirdAlternativeWords.MatchString(d.words()):
		return sure(0, "speaks of a third alternative, marks none").orUpTo(2, "is an alternative proposed?")
	case !marked:
		return sure(0, "no alternative is marked").orUpTo(1, "is an alternative proposed without the mark?")
	case placeholder.say(said) && !mechanisms.say(said):
		return sure(1, "a vague alternative")
	case mechanisms.say(said) && testable.say(said):
		return sure(2, "an alternative with a mechanism and something to test").orUpTo(3, "are mechanism and predictions concrete?")
	case mechanisms.say(said) || testable.say(said):
		return sure(2, "a specific alternative").orUpTo(3, "has it a mechanism and testable predictions?")
	}
	return sure(1, "marked, but neither mechanism nor test was recognised").orUpTo(2, "is the alternative specific?")
}
