package council

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"

	"waymark/score/rubric"
)

//go:embed safety.yaml
var safetySource []byte

// gateTable is what the file has.
type gateTable struct {
	Macros   map[string]string `json:"macros"`
	Rules    []rule            `json:"rules"`
	Harmless []rule            `json:"harmless"`
	Phrases  map[string]string `json:"phrases"`

	phrases map[string]*regexp.Regexp
}

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

// patterns are the rules of the gate, compiled when they are first needed.
var patterns = sync.OnceValue(func() *gateTable {
	t := rubric.MustDecode[gateTable](safetySource)
	for _, list := range [][]rule{t.Rules, t.Harmless} {
		for i := range list {
			list[i].pattern = t.compile(list[i].Pattern)
		}
	}
	t.phrases = map[string]*regexp.Regexp{}
	for name, p := range t.Phrases {
		t.phrases[name] = t.compile(p)
	}
	return &t
})

func (t *gateTable) compile(p string) *regexp.Regexp {
	for name, macro := range t.Macros {
		p = strings.ReplaceAll(p, "<"+name+">", macro)
	}
	return regexp.MustCompile(strings.ReplaceAll(p, " ", `\s+`))
}

// phrase returns the phrase of that name, which the file has.
func phrase(name string) *regexp.Regexp { return patterns().phrases[name] }

func (r *rule) mentioned(text string) bool {
	return slices.ContainsFunc(r.Words, func(w string) bool { return strings.Contains(text, w) })
}

func (r *rule) excusedBy(excuse string) bool { return slices.Contains(r.Excuses, excuse) }
