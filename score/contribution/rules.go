package contribution

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"waymark/score"
)

//go:embed contribution.yaml
var rubricData []byte

//go:embed tables.yaml
var tableData []byte

// criteria has the fourteen criteria with weights, scales and levels. It is one rubric for all roles: criteria of other
// roles do not apply, which leaves the maxima of the seed, 19, 21.5, 25.5 for a KILL and 21.
var criteria = sync.OnceValue(func() *score.Rubric { return score.MustLoad(rubricData) })

// tables are decoded at their first use: most commands never need them. A phrase becomes a pattern of whole words.
var tables = sync.OnceValue(func() tableSet {
	t := score.MustDecode[tableSet](tableData)
	for name, ways := range t.Phrases {
		words := strings.Join(ways, "|")
		t.Patterns[name] = regexp.MustCompile(`(?i)\b(?:` + words + `)\b`)
	}
	return t
})

type tableSet struct {
	// Roles has the operators of each role, Gates their consequences.
	Roles    map[Role][]string `json:"roles"`
	Gates    map[string]string `json:"gates"`
	Warnings map[string]string `json:"warnings"`

	Operators []operator `json:"operators"`

	Kinds map[string]*jsonschema.Schema `json:"kinds"`
	// Order is that of the sections.
	Order    []string           `json:"order"`
	Sections map[string]section `json:"sections"`
	// Phrases are sets of ways to say one thing.
	Phrases map[string][]string `json:"phrases"`

	Patterns map[string]*regexp.Regexp `json:"patterns"`

	Facts []factRow `json:"facts"`

	Criteria map[string]criterion `json:"criteria"`
}

func pattern(name string) *regexp.Regexp { return tables().Patterns[name] }

// An operator is one of the moves of the protocol, invoked in a rationale by its sign or its name.
type operator struct {
	Sign string         `json:"sign"`
	Name string         `json:"name"`
	Says *regexp.Regexp `json:"says"`
}

// fits reports whether a field of a payload has the form of a kind, whose schema is part of the program and valid.
func fits(kind string, v any) bool {
	schema, _ := tables().Kinds[kind].Resolve(nil)
	return schema.Validate(v) == nil
}

// A section is a part of a research artifact.
type section struct {
	Prefix string         `json:"prefix"`
	IDs    *regexp.Regexp `json:"ids"`
	Fields []struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
		// Need is required, expected or empty in an ADD.
		Need string `json:"need"`
	} `json:"fields"`
}

// Facts are the findings about one delta: the words that show each fact, empty if it does not hold.
type facts map[string]string

// hold reports whether all named facts hold, or, with "!" before the name, do not.
func (f facts) hold(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		positive, negated := strings.CutPrefix(name, "!")
		return (f[positive] == "") != negated
	})
}

// set sets a fact that has no words of its own.
func (f facts) set(name string, holds bool) {
	f[name] = ""
	if holds {
		f[name] = "yes"
	}
}

// A factRow sets a fact where other facts hold, and some texts of a delta have a phrase that no negator denies, or match
// a pattern. In has fields of the payload or earlier facts; empty: all texts.
type factRow struct {
	Fact    string   `json:"fact"`
	If      []string `json:"if"`
	In      []string `json:"in"`
	Says    string   `json:"says"`
	Unless  string   `json:"unless"`
	Matches string   `json:"matches"`
}

// apply sets the fact of the row, unless an earlier row has set it. said is the text to search.
func (row factRow) apply(f facts, said string) {
	switch {
	case f[row.Fact] != "" || !f.hold(row.If):
	case row.Says != "":
		f[row.Fact], f[row.Fact+" denied"] = find(row.Says, cmp.Or(row.Unless, "negator"), said)
	case row.Matches == "":
		f.set(row.Fact, true)
	case pattern(row.Matches).MatchString(said):
		f[row.Fact] = quoted(pattern(row.Matches).FindString(said))
	}
}

// findFacts sets the facts of a delta: those that take counting, then those of the table.
func (d *Delta) findFacts(a *Anchors) {
	p, all := d.payload, d.text()
	f := facts{"faults": strings.Join(d.faults, "; "), "notes": strings.Join(d.Notes, "; ")}
	d.facts = f
	for _, name := range []string{"any", d.Operation, d.Section} {
		f.set(name, true)
	}
	for name := range p {
		f.set("flag "+name, p.flag(name))
	}
	var signed []string
	for _, o := range tables().Operators {
		f.set("names "+o.Name, o.Says.MatchString(all))
		invoked := o.Says.MatchString(d.rationale)
		f.set("rationale names "+o.Name, invoked)
		if invoked {
			d.Operators = append(d.Operators, o.Name)
			signed = append(signed, o.Sign+" "+o.Name)
		}
	}
	f["operators"] = listed(signed)
	rationale := strings.ToLower(strings.TrimRight(d.rationale, " .!"))
	restates := strings.Contains(strings.ToLower(p.words()), rationale)
	f.set("restates", restates && strings.Count(rationale, " ") >= 3)
	f.set("conflicts", len(p.list("conflicts_with")) > 0)
	d.findOutcomes()
	d.findRating()

	// An anchor elsewhere in the delta does not prove the attribution of one sentence to Brenner, hence bare_claim (a
	// sentence without an anchor), sourced_claim (one with) and anchored (any).
	c := a.cite(p.list("anchors"), all)
	bare, sourced := attributions(all)
	f["bare_claim"] = bare
	f.set("sourced_claim", sourced)
	f.set("anchored", c.sections != nil || c.marked)
	f.set("unchecked", c.unchecked)
	f["cited"], f["fake"], f["odd"] = c.String(), listed(c.fake), listed(c.odd)
	d.fake = c.fake

	// Evidence for a KILL is counted in points: the items, sections and records that it refers to.
	points := pattern("point").FindAllString(p.text("reason")+"\n"+d.rationale, -1)
	points = slices.DeleteFunc(distinct(points), func(id string) bool {
		return d.TargetID != nil && id == *d.TargetID
	})
	f["points"] = listed(points)
	f.set("several_points", len(points) >= 2)

	f["text of rationale"] = d.rationale
	f["calculation or all"] = cmp.Or(p.text("calculation"), all)
	for _, row := range tables().Facts {
		parts := []string{all}
		for i, part := range row.In {
			parts = append(parts[:i], cmp.Or(p.text(part), f[part]))
		}
		row.apply(f, strings.Join(parts, "\n"))
	}
}

// findOutcomes counts outcomes: n hypotheses with n different definite outcomes are told apart, fewer outcomes leave
// some alike.
func (d *Delta) findOutcomes() {
	f, field := d.facts, "expected_outcomes"
	if d.Section == "predictions_table" {
		field = "predictions"
	}
	expected, definite := d.payload.list(field), map[string]bool{}
	for _, o := range expected {
		o = strings.Join(strings.Fields(strings.ToLower(o)), " ")
		if o = strings.Trim(o, " .;,!"); !pattern("indefinite").MatchString(o) {
			definite[o] = true
		}
	}
	f["hypotheses"], f["different"] = fmt.Sprint(len(expected)), fmt.Sprint(len(definite))
	f.set("gives_outcomes", d.payload[field] != nil)
	f.set("at_most_one", len(expected) < 2)
	f.set("all_alike", len(definite) < 2)
	f.set("some_alike", len(definite) < len(expected))
	f.set("same_words", len(distinct(expected)) < 2)
}

// findRating reads the test's own score, four parts of 0 to 3, so the sum is at most 12: all 3s are inflated, and 10 and
// more are optimistic.
func (d *Delta) findRating() {
	f, rating := d.facts, d.payload["score"]
	parts, _ := rating.(map[string]any)
	sum := 0.0
	for _, name := range []string{"likelihood_ratio", "cost", "speed", "ambiguity"} {
		n, _ := parts[name].(float64)
		sum += n
	}
	f["sum"] = fmt.Sprint(sum)
	f.set("rated", rating != nil)
	f.set("all_parts", fits("complete_rating", rating))
	f.set("even_odds", parts["likelihood_ratio"] == 0.0)
	f.set("all_threes", sum == 12)
	f.set("optimistic", sum >= 10)
}

// A criterion is a list of rules for one dimension of the rubric.
// It applies to deltas with the fact Applies, if it has one; Otherwise is the reason why not.
type criterion struct {
	Role      Role   `json:"role"`
	Applies   string `json:"applies"`
	Otherwise string `json:"otherwise"`
	// Among are facts. The best finding counts of those deltas of the message that have the first fact that any
	// of them has. A delta with the fact Own has its own finding nevertheless.
	Among []string `json:"among"`
	Own   string   `json:"own"`
	Rows  []struct {
		If []string `json:"if"`
		Finding
	} `json:"rows"`
}

// A Finding is the result of the rules of one criterion: the score that the text proves, the highest score that it does
// not exclude, what was seen, and, where the two scores differ, the question to a person.
type Finding struct {
	Score int    `json:"score"`
	Upper int    `json:"upper"`
	Saw   string `json:"saw"`

	NeedsHuman string `json:"needs_human"`
}

func (c criterion) isOf(r Role) bool { return len(c.Rows) > 0 && (c.Role == "" || c.Role == r) }

// compare orders findings by score, then upper score, then falling words.
func (f Finding) compare(g Finding) int {
	return cmp.Or(f.Score-g.Score, f.Upper-g.Upper, cmp.Compare(g.Saw, f.Saw))
}

// find scores a delta by the rules. Whether something is there at all is asked of the message: a critic who quarantines
// an anomaly in one delta and does the scale check in the next has done both.
func (c criterion) find(d *Delta, message deltas) Finding {
	for _, fact := range c.Among {
		var found []Finding
		for _, o := range message {
			if o.facts[fact] != "" {
				found = append(found, c.judge(o.facts))
			}
		}
		if len(found) > 0 && d.facts[c.Own] == "" {
			return slices.MaxFunc(found, Finding.compare)
		}
	}
	return c.judge(d.facts)
}

// judge returns the finding of the first row whose facts all hold.
func (c criterion) judge(f facts) Finding {
	words := func(name string) string { return f[name] }
	for _, row := range c.Rows {
		if f.hold(row.If) {
			found := row.Finding
			found.Upper = max(row.Score, row.Upper)
			found.Saw = os.Expand(row.Saw, words)
			found.NeedsHuman = os.Expand(row.NeedsHuman, words)
			return found
		}
	}
	panic("contribution: the last row holds always")
}
