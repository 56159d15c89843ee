package contribution

import (
	"slices"

	"waymark/rubric"
)

// A Role is who contributes.
type Role string

const (
	HypothesisGenerator Role = "hypothesis_generator"
	TestDesigner        Role = "test_designer"
	AdversarialCritic   Role = "adversarial_critic"
)

// Roles are all of them.
var Roles = []Role{HypothesisGenerator, TestDesigner, AdversarialCritic}

func (r Role) check(place string) error {
	if !slices.Contains(Roles, r) {
		return rubric.Refuse(place, "%s is none of %s, %s, %s", quoted(string(r)), Roles[0], Roles[1], Roles[2])
	}
	return nil
}

// criterion is one of the fourteen; levels are what the scores 0, 1, 2 (and 3) mean.
type criterion struct {
	name, title, question string
	weight                rubric.Decimal
	conditional           bool
	levels                []string
}

var (
	one, half       = rubric.Whole(1), rubric.Hundredths(50)
	oneAndHalf, two = rubric.Hundredths(150), rubric.Whole(2)
)

var universal = []criterion{
	{"structural", "Structural correctness", "Does the output follow the delta format?", one, false, []string{
		"no JSON, a required field of the delta is missing, or the operation does not fit",
		"a delta, but in the wrong section or with a malformed payload",
		"a delta with minor issues, such as an optional field left out",
		"as the format wants it"}},
	{"citation", "Citation compliance", "Are anchors and inference markers used correctly?", one, false, []string{
		"claims a source without an anchor, or with one that does not exist",
		"anchors are used, but not consistently; inference and claims are mixed",
		"correct anchors, small omissions",
		"every reference has its anchor, every inference its marker"}},
	{"rationale", "Rationale quality", "Does the rationale explain the contribution?", half, false, []string{
		"missing, or the payload once more",
		"there, but vague",
		"says why and names operators, but not completely",
		"says why, by which operators, and what it does for the session"}},
}

var own = map[Role][]criterion{
	HypothesisGenerator: {
		{"level_separation", "Level separation", "Are levels of explanation kept apart?", oneAndHalf, false, []string{
			"levels are obviously mixed up",
			"some awareness, separation incomplete",
			"clear separation, minor blending",
			"crisp; mechanism and specification cleanly typed"}},
		{"third_alternative", "Third alternative", "Is there a genuine third alternative?", two, false, []string{
			"none",
			"a placeholder: both could be wrong",
			"specific, but derived from the others",
			"orthogonal; it would invalidate both others"}},
		{"paradox", "Paradox exploitation", "Are paradoxes put to use?", half, true, []string{
			"ignored, or resolved too early",
			"noted, but no hypothesis comes from it",
			"motivates the hypothesis; the missing rule is named"}},
	},
	TestDesigner: {
		{"discriminative", "Discriminative power", "Does the test tell hypotheses apart?", two, false, []string{
			"the same outcome for all",
			"weak: a likelihood ratio of 2:1 at best",
			"clearly different predictions with some overlap",
			"digital: one outcome for each, all plausible"}},
		{"potency", "Potency check", "Can no effect be told from a failed assay?", two, false, []string{
			"no check",
			"a check that would not notice a failed assay",
			"adequate, minor gaps",
			"positive control, sensitivity and timing"}},
		{"object_transposition", "Object transposition", "Were other experimental systems considered?", half, true, []string{
			"the object is taken as given",
			"others are mentioned",
			"others are weighed by cost and benefit"}},
		{"calibration", "Score calibration", "Is the test's own score realistic?", half, true, []string{
			"inflated (all 3) or absent",
			"some calibration, optimistic",
			"honest and conservative"}},
	},
	AdversarialCritic: {
		{"scale_check", "Scale check", "Are physical constraints calculated?", oneAndHalf, false, []string{
			"none, or waved through",
			"in words only",
			"a calculation, incomplete",
			"quantities, units, result, and what it rules out"}},
		{"quarantine", "Anomaly quarantine", "Are anomalies tracked, neither swept away nor destructive?", oneAndHalf, false, []string{
			"ignored, or used to kill a framework early",
			"mentioned, not quarantined",
			"quarantined with a plan",
			"tracked with status, and aware of Occam's broom"}},
		{"kill_justification", "Kill justification", "Does the evidence justify the kill?", oneAndHalf, true, []string{
			"taste or convenience",
			"one piece of weak evidence",
			"several points, room for doubt",
			"decisive: the core mechanism is contradicted, no rescue is left"}},
		{"real_third_alternative", "Real third alternative", "Does the critique offer an alternative?", oneAndHalf, false, []string{
			"skepticism alone",
			"a vague one",
			"specific, not fully developed",
			"concrete, with mechanism and testable predictions"}},
	},
}

// names of all criteria, whatever the role.
var criterionNames = func() []string {
	var names []string
	for _, c := range universal {
		names = append(names, c.name)
	}
	for _, r := range Roles {
		for _, c := range own[r] {
			names = append(names, c.name)
		}
	}
	return names
}()

func criteriaOf(r Role) []criterion { return slices.Concat(universal, own[r]) }

// rubrics are the criteria of each role as data of the kernel.
var rubrics = func() map[Role]*rubric.Rubric {
	byRole := map[Role]*rubric.Rubric{}
	for _, role := range Roles {
		def := rubric.Definition{
			ID: "contribution." + string(role), Title: "Contribution of a " + string(role), Aggregate: rubric.Sum, BandsOn: rubric.OnPercent,
			Bands: []rubric.Band{
				{Verdict: "A", AtLeast: new(rubric.Whole(90))}, {Verdict: "B", AtLeast: new(rubric.Whole(80))},
				{Verdict: "C", AtLeast: new(rubric.Whole(70))}, {Verdict: "D", AtLeast: new(rubric.Whole(60))}, {Verdict: "F"},
			},
			Warnings: []rubric.Warning{{Name: warnLowQuality, Below: rubric.Whole(50), Text: "the composite is below half of the maximum"}},
		}
		for _, c := range criteriaOf(role) {
			d := rubric.Dimension{
				Name: c.name, Title: c.title, Description: c.question, Weight: c.weight, Conditional: c.conditional,
				Scale: rubric.Scale{Max: rubric.Whole(len(c.levels) - 1), Integer: true},
			}
			for i, l := range c.levels {
				d.Anchors = append(d.Anchors, rubric.Anchor{From: rubric.Whole(i), Text: l})
			}
			def.Dimensions = append(def.Dimensions, d)
		}
		byRole[role] = rubric.MustNew(def)
	}
	return byRole
}()
