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

// criteria returns the rubric: fourteen criteria with weights, scales and levels. It is one rubric for all roles.
// Criteria of other roles do not apply, so the maxima are those of the original rubric: 19 for a generator, 21.5 for a
// designer, and for a critic 25.5 in a KILL and else 21.
var criteria = sync.OnceValue(func() *score.Rubric { return score.MustLoad(rubricData) })

// tables are decoded on first use, because most commands never need them. A phrase becomes a pattern of whole words.
var tables = sync.OnceValue(func() tableSet {
	t := score.MustDecode[tableSet](tableData)
	for name, ways := range t.Phrases {
		words := strings.Join(ways, "|")
		t.Patterns[name] = regexp.MustCompile(`(?i)\b(?:` + words + `)\b`)
	}
	return t
})

type tableSet struct {
	// Roles maps each role to its operators, and Gates each gate to its consequence.
	Roles    map[Role][]string `json:"roles"`
	Gates    map[string]string `json:"gates"`
	Warnings map[string]string `json:"warnings"`

	Operators []operator `json:"operators"`

	Kinds map[string]*jsonschema.Schema `json:"kinds"`
	// Order is the order of the sections.
	Order    []string           `json:"order"`
	Sections map[string]section `json:"sections"`
	// Phrases maps a name to alternative wordings of one thing.
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

// fits reports whether a field of a payload has the form of a kind. The schemas are part of the program and valid.
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
		// Need is "required", "expected" or empty; it applies to an ADD.
		Need string `json:"need"`
	} `json:"fields"`
}

// facts maps each fact about one delta to the words that show it, or to "" if it does not hold.
type facts map[string]string

// hold reports whether all named facts hold. A name after "!" requires that the fact does not hold.
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

// A factRow sets a fact if the facts of If hold and the searched texts contain the phrase Says without a negator before
// it, or match the pattern Matches. In lists the fields of the payload or earlier facts to search; if empty, all texts
// are searched.
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

// findFacts sets the facts of a delta: first those that need code, such as counts, then those of the table.
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

	// An anchor elsewhere in the delta does not prove the attribution of one sentence to Brenner. Hence there are three
	// facts: bare_claim (a sentence without an anchor), sourced_claim (one with) and anchored (any).
	c := a.cite(p.list("anchors"), all)
	bare, sourced := attributions(all)
	f["bare_claim"] = bare
	f.set("sourced_claim", sourced)
	f.set("anchored", c.sections != nil || c.marked)
	f.set("unchecked", c.unchecked)
	f["cited"], f["fake"], f["odd"] = c.String(), listed(c.fake), listed(c.odd)
	d.fake = c.fake

	// Evidence for a KILL is counted in points: the items, sections and records that the text refers to.
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

// findOutcomes counts outcomes. To distinguish n hypotheses, a test needs n different definite outcomes; with fewer,
// some hypotheses predict the same.
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

// findRating reads the test's own score of four parts, 0 to 3 each, so the sum is at most 12. All 3s count as inflated,
// and a sum of 10 or more as optimistic.
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
// If Applies is set, the criterion applies only to deltas with that fact; Otherwise is the reason if it does not apply.
type criterion struct {
	Role      Role   `json:"role"`
	Applies   string `json:"applies"`
	Otherwise string `json:"otherwise"`
	// Among lists facts. For the first of them that any delta of the message has, the best finding among the deltas
	// with that fact counts. A delta with the fact Own keeps its own finding.
	Among []string `json:"among"`
	Own   string   `json:"own"`
	Rows  []struct {
		If []string `json:"if"`
		Finding
	} `json:"rows"`
}

// A Finding is the result of the rules of one criterion: the score that the text proves, the highest score that it does
// not exclude, the observation (Saw), and the question for a person if the two scores differ (NeedsHuman).
type Finding struct {
	Score int    `json:"score"`
	Upper int    `json:"upper"`
	Saw   string `json:"saw"`

	NeedsHuman string `json:"needs_human"`
}

func (c criterion) isOf(r Role) bool { return len(c.Rows) > 0 && (c.Role == "" || c.Role == r) }

// compare orders findings by score, then by upper score, then by Saw in descending order.
func (f Finding) compare(g Finding) int {
	return cmp.Or(f.Score-g.Score, f.Upper-g.Upper, cmp.Compare(g.Saw, f.Saw))
}

// find scores a delta by the rules. Facts in Among may come from any delta of the message: a critic who quarantines an
// anomaly in one delta and does the scale check in the next has done both.
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
