package council

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"

	"waymark/score/rubric"
)

//go:embed safety.yaml
var safetySource []byte

// patterns are the rules of the gate, as the file has them.
var patterns = rubric.MustDecode[struct {
	Macros   map[string]string `json:"macros"`
	Rules    []rule            `json:"rules"`
	Harmless []rule            `json:"harmless"`
	Phrases  map[string]string `json:"phrases"`
}](safetySource)

// A rule is one pattern of a category.
type rule struct {
	Category Category `json:"category"`
	Name     string   `json:"name"`
	Words    []string `json:"words"` // one of them must occur: a cheap look before the pattern
	Pattern  string   `json:"pattern"`
	Excuses  []string `json:"excuses"`
	Secret   int      `json:"secret"`

	pattern *regexp.Regexp
}

var rules, harmless = compiled(patterns.Rules), compiled(patterns.Harmless)

func compiled(list []rule) []rule {
	for i := range list {
		list[i].pattern = pattern(list[i].Pattern)
	}
	return list
}

func pattern(p string) *regexp.Regexp {
	for name, macro := range patterns.Macros {
		p = strings.ReplaceAll(p, "<"+name+">", macro)
	}
	return regexp.MustCompile(strings.ReplaceAll(p, " ", `\s+`))
}

func phrase(name string) *regexp.Regexp {
	p, ok := patterns.Phrases[name]
	if !ok {
		panic("council: safety.yaml has no phrase " + name)
	}
	return pattern(p)
}

var (
	clauseEnd   = phrase("clause_end")
	sentenceEnd = phrase("sentence_end")
	refusal     = phrase("refusal")
	reported    = phrase("reported")
	prevention  = phrase("prevention")
	evasion     = phrase("evasion")
	prohibition = phrase("prohibition")
	help        = phrase("help")
	offer       = phrase("offer")
)

func (r *rule) mentioned(text string) bool {
	return slices.ContainsFunc(r.Words, func(w string) bool { return strings.Contains(text, w) })
}

func (r *rule) excusedBy(excuse string) bool { return slices.Contains(r.Excuses, excuse) }
