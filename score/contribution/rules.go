package contribution

import (
	"cmp"
	_ "embed"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"waymark/score"
)

//go:embed contribution.yaml
var criteriaSource []byte

//go:embed tables.yaml
var tablesSource []byte

// criteria has the fourteen criteria with weights, scales and levels. It is one rubric for all roles: those of other roles
// do not apply, which leaves the maxima of the seed, 19, 21.5, 25.5 for a KILL and 21.
var criteria = sync.OnceValue(func() *score.Rubric { return score.MustLoad(criteriaSource) })

// tables are read when they are first needed: most commands never do.
var tables = sync.OnceValue(func() tableSet { return score.MustDecode[tableSet](tablesSource) })

type tableSet struct {
	Roles     map[Role][]string         `json:"roles"` // the operators of each
	Gates     map[string]string         `json:"gates"` // their consequences
	Operators []operator                `json:"operators"`
	Kinds     map[string]kind           `json:"kinds"`
	Order     []string                  `json:"order"` // of the sections
	Sections  map[string]section        `json:"sections"`
	Phrases   map[string]phrase         `json:"phrases"`
	Patterns  map[string]*regexp.Regexp `json:"patterns"`
	Facts     map[string]fact           `json:"facts"`
	Criteria  map[string]criterion      `json:"criteria"`
}

func pattern(name string) *regexp.Regexp { return tables().Patterns[name] }

// An operator is one of the moves of the protocol, invoked in a rationale by its sign or its name.
type operator struct {
	Sign  string         `json:"sign"`
	Name  string         `json:"name"`
	Names *regexp.Regexp `json:"names"`
	Mute  bool           `json:"mute"` // only the name counts
}

func (o operator) isIn(text string) bool {
	return !o.Mute && strings.Contains(text, o.Sign) || o.Names.MatchString(text)
}

// A kind is the form of a field of a payload.
type kind struct {
	Is     string            `json:"is"`
	Schema jsonschema.Schema `json:"schema"`
}

func (k kind) fits(v any) bool {
	schema, err := k.Schema.Resolve(nil)
	if err != nil {
		panic(err)
	}
	return schema.Validate(v) == nil
}

// A section is a part of a research artifact.
type section struct {
	Prefix string         `json:"prefix"`
	IDs    *regexp.Regexp `json:"ids"`
	States []string       `json:"states"` // values of the field status
	Fields []struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
		Need string `json:"need"` // in an ADD: required, expected or empty
	} `json:"fields"`
}

// A criterion is a list of rules for one dimension of the rubric.
type criterion struct {
	Role      Role   `json:"role"`      // empty: all
	Applies   string `json:"applies"`   // the fact that it needs; empty: none
	Otherwise string `json:"otherwise"` // why it does not apply
	// Among are facts: the best finding counts of those deltas of the message that have the first one that any has.
	Among []string `json:"among"`
	Own   string   `json:"own"` // the fact of a delta that stands for itself nevertheless
	Rows  []struct {
		If []string `json:"if"` // facts that hold, or with "!" do not
		finding
	} `json:"rows"`
}

// A finding is what the rules see of one criterion: the score that the text proves, the highest score that it does not
// exclude, what was seen, and, where the two scores differ, the question to a person.
type finding struct {
	Score int    `json:"score"`
	Upper int    `json:"upper"` // 0: the score
	Saw   string `json:"saw"`
	Ask   string `json:"ask"`
}

func (c criterion) isOf(r Role) bool { return len(c.Rows) > 0 && (c.Role == "" || c.Role == r) }

// compare orders findings by score, then upper score, then falling words.
func (f finding) compare(g finding) int {
	return cmp.Or(cmp.Compare(f.Score, g.Score), cmp.Compare(f.Upper, g.Upper), cmp.Compare(g.Saw, f.Saw))
}

// find scores a delta by the rules. Whether something is there at all is asked of the message: a critic who quarantines
// an anomaly in one delta and does the scale check in the next has done both.
func (c criterion) find(d *Delta, message []*Delta) finding {
	best := finding{Score: -1}
	for _, fact := range c.Among {
		for _, o := range message {
			if f := c.judge(o.facts); o.facts[fact] != "" && f.compare(best) > 0 {
				best = f
			}
		}
		if best.Score >= 0 && d.facts[c.Own] == "" {
			return best
		}
	}
	return c.judge(d.facts)
}

// judge is the finding of the first row whose facts all hold.
func (c criterion) judge(facts map[string]string) finding {
	for _, row := range c.Rows {
		fails := func(name string) bool {
			positive, negated := strings.CutPrefix(name, "!")
			return (facts[positive] == "") != negated
		}
		if !slices.ContainsFunc(row.If, fails) {
			words := func(text string) string { return os.Expand(text, func(name string) string { return facts[name] }) }
			return finding{row.Score, max(row.Score, row.Upper), words(row.Saw), words(row.Ask)}
		}
	}
	panic("contribution: the last row holds always")
}
