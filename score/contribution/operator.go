package contribution

import (
	"regexp"
	"slices"
	"strings"
)

// An Operator is one of the moves of the protocol, invoked in a rationale by its sign or its name.
type Operator struct {
	Sign string `json:"sign"`
	Name string `json:"name"`

	hints []string // lower case; without one of them there is no need to look for the words
	words *regexp.Regexp
	mute  bool // the sign means other things too, so that only the name counts
}

// op names an operator. A name of two words is known in any case and with a space; a single word is a
// common verb unless it is written like a name.
func op(sign, name string, also ...string) Operator {
	pattern, hints := `\b`+name+`\b`, []string{strings.ToLower(name)}
	if strings.Contains(name, "-") {
		forms := append([]string{name}, also...)
		hints = nil
		for i, f := range forms {
			first, _, _ := strings.Cut(strings.ToLower(f), "-")
			hints = append(hints, first)
			forms[i] = strings.ReplaceAll(f, "-", `[-\s]+`)
		}
		pattern = `(?i)\b(?:` + strings.Join(forms, "|") + `)\b`
	}
	return Operator{Sign: sign, Name: name, hints: hints, words: regexp.MustCompile(pattern)}
}

// Operators are all of them.
var Operators = []Operator{
	op("⊘", "Level-Split"),
	op("𝓛", "Recode"),
	op("⌂", "Materialize"),
	op("≡", "Invariant-Extract", "Invariant-Extraction"),
	op("✂", "Exclusion-Test"),
	op("⟂", "Object-Transpose", "Object-Transposition"),
	{Sign: "↑", Name: "Amplify", hints: []string{"amplify"}, words: regexp.MustCompile(`\bAmplify\b`), mute: true}, // the arrow also says “more”
	op("🔧", "DIY"),
	op("⊕", "Cross-Domain"),
	op("◊", "Paradox-Hunt"),
	op("ΔE", "Exception-Quarantine", "Anomaly-Quarantine"),
	op("∿", "Dephase"),
	op("†", "Theory-Kill"),
	op("⊞", "Scale-Check"),
	op("⚡", "Quickie"),
	op("👁", "HAL"),
	op("🎭", "Potency-Check", "Potency-Control", "Chastity-vs-Impotence"),
}

// toolkits are the operators that each role is expected to use.
var toolkits = map[Role][]string{
	HypothesisGenerator: {"Level-Split", "Cross-Domain", "Paradox-Hunt"},
	TestDesigner:        {"Exclusion-Test", "Materialize", "Object-Transpose", "Potency-Check"},
	AdversarialCritic:   {"Exception-Quarantine", "Theory-Kill", "Scale-Check", "Cross-Domain"},
}

// operatorsIn names the operators that a rationale invokes, in the order of [Operators].
func operatorsIn(rationale string) []string {
	names, lower := []string{}, strings.ToLower(rationale)
	for _, o := range Operators {
		hinted := slices.ContainsFunc(o.hints, func(h string) bool { return strings.Contains(lower, h) })
		if !o.mute && strings.Contains(rationale, o.Sign) || hinted && o.words.MatchString(rationale) {
			names = append(names, o.Name)
		}
	}
	return names
}

// sign is how an operator is written beside its name.
func sign(name string) string {
	i := slices.IndexFunc(Operators, func(o Operator) bool { return o.Name == name })
	return Operators[i].Sign + " " + name
}
