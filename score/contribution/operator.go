package contribution

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// An operator is one of the moves of the protocol, invoked in a rationale by its sign or its name.
type operator struct {
	Sign  string   `json:"sign"`
	Names []string `json:"names"` // the first one is shown
	Mute  bool     `json:"mute"`  // only the name counts

	hints []string // lower case; without one of them there is no need to look for the words
	words *regexp.Regexp
}

// operators are all of them, compiled.
var operators = sync.OnceValue(func() []operator {
	list := tables().Operators
	for i := range list {
		o := &list[i]
		form := strings.Join(o.Names, "|")
		if strings.Contains(form, "-") {
			form = "(?i:" + strings.ReplaceAll(form, "-", `[-\s]+`) + ")"
		}
		o.words = regexp.MustCompile(`\b(?:` + form + `)\b`)
		for _, name := range o.Names {
			first, _, _ := strings.Cut(strings.ToLower(name), "-")
			o.hints = append(o.hints, first)
		}
	}
	return list
})

// operatorsIn names the operators that a rationale invokes, in the order of the table.
func operatorsIn(rationale string) []string {
	names, lower := []string{}, strings.ToLower(rationale)
	for _, o := range operators() {
		hinted := slices.ContainsFunc(o.hints, func(h string) bool { return strings.Contains(lower, h) })
		if !o.Mute && strings.Contains(rationale, o.Sign) || hinted && o.words.MatchString(rationale) {
			names = append(names, o.Names[0])
		}
	}
	return names
}

// sign is how an operator is written beside its name.
func sign(name string) string {
	i := slices.IndexFunc(operators(), func(o operator) bool { return o.Names[0] == name })
	return operators()[i].Sign + " " + name
}
