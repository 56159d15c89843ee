package contribution

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A fact of the table holds where a phrase is said, or a pattern matches, in some texts of a delta.
type fact struct {
	In       []string `json:"in"` // fields of the payload, or rationale; empty: all texts
	Says     string   `json:"says"`
	Matches  string   `json:"matches"`
	Quotable bool     `json:"quotable"`
}

// yes is the words of a fact that has none of its own.
func yes(holds bool) string {
	if holds {
		return "yes"
	}
	return ""
}

// findFacts fills in the facts of a valid delta: those of the table, then those that take counting or more than one field.
// items is the artifact after the message, so that an EDIT shows the whole item.
func (d *Delta) findFacts(items ledger) {
	p := d.payload
	all := strings.Join(d.texts(), "\n")
	whole := d.whole(items)
	f := map[string]string{
		"any": "yes", d.Operation: "yes", d.Section: "yes",
		"faults": strings.Join(d.faults, "; "), "notes": strings.Join(d.Notes, "; "), "rated": yes(p["score"] != nil),
	}
	d.facts = f
	texts := map[string]string{ // others are fields of the payload
		"rationale": d.rationale, "calculation": cmp.Or(p.text("calculation"), all),
		"whole potency_check": whole.text("potency_check"),
	}
	for name, rule := range tables().Facts {
		said := all
		if rule.In != nil {
			parts := make([]string, len(rule.In))
			for i, part := range rule.In {
				parts[i] = cmp.Or(texts[part], p.text(part))
			}
			said = strings.Join(parts, "\n")
		}
		if rule.Says != "" {
			f[name], f[name+" denied"] = tables().Phrases[rule.Says].find(said, rule.Quotable)
		} else {
			f[name] = yes(pattern(rule.Matches).MatchString(said))
		}
	}
	var signed []string
	for _, o := range tables().Operators {
		f["names "+o.Name] = yes(o.isIn(all))
		if slices.Contains(d.Operators, o.Name) {
			f["rationale names "+o.Name] = "yes"
			signed = append(signed, o.Sign+" "+o.Name)
		}
	}
	fact := func(name string, holds bool) { f[name] = yes(holds) }

	// Universal criteria. An anchor elsewhere in the delta does not prove what one sentence attributes to Brenner,
	// hence the facts bare_claim (a sentence without), sourced_claim (one with) and anchored (any at all).
	bare, sourced := attributions(all)
	f["bare_claim"], f["sourced_claim"] = bare, yes(sourced)
	f["cited"], f["fake"], f["odd"] = d.cites.String(), listed(d.cites.fake), listed(d.cites.odd)
	fact("anchored", len(d.cites.sections)+d.cites.markers > 0)
	fact("unchecked", d.cites.unchecked)
	f["operators"] = listed(signed)
	f["apart"] = f["apart_words"] + f["item"]
	fact("restates", restates(d.rationale, strings.Join(collect(nil, map[string]any(p)), " ")))

	// The hypothesis generator's. Wishes are a red flag of the rubric ("the organism decides to"), but animals have some.
	fact("creature", pattern("creature").MatchString(f["wish"]))
	f["wont_cant"] = mixedUp(all)
	fact("third_marked", d.Operation != Kill && d.Section == hypothesisSlate && isThird(p))
	fact("third_in_artifact", items.has(hypothesisSlate, isThird))

	// The test designer's. Discrimination is counted: n hypotheses with n different definite outcomes are told apart,
	// fewer outcomes leave some alike. The rating of a test has four parts of 0 to 3, so its sum is at most 12; all 3s
	// are inflated, and 10 and more are optimistic.
	outcomes := map[string]string{discriminativeTests: "expected_outcomes", predictionsTable: "predictions"}[d.Section]
	expected, definite := whole.list(outcomes), map[string]bool{}
	for _, o := range expected {
		o = strings.Trim(strings.Join(strings.Fields(strings.ToLower(o)), " "), " .;,!")
		if !pattern("indefinite").MatchString(o) {
			definite[o] = true
		}
	}
	parts, sum := p.rating()
	ratio, rated := parts["likelihood_ratio"]
	f["hypotheses"], f["different"], f["sum"] = strconv.Itoa(len(expected)), strconv.Itoa(len(definite)), strconv.Itoa(sum)
	fact("outcomes", outcomes != "" && (d.Operation == Add || d.Operation == Edit && whole[outcomes] != nil))
	fact("at_most_one", len(expected) < 2)
	fact("all_alike", len(definite) < 2)
	fact("some_alike", len(definite) < len(expected))
	fact("even_odds", rated && ratio == 0)
	fact("test", d.Section == discriminativeTests && d.Operation != Kill)
	fact("test_with_check", f["test"] != "" && f["own_check_missing"] == "")
	fact("all_parts", len(parts) == 4)
	fact("all_threes", sum == 12)
	fact("optimistic", sum >= 10)
	fact("overclaims", ratio > 0 && p["expected_outcomes"] != nil && len(distinct(p.list("expected_outcomes"))) < 2)

	// The adversarial critic's. A scale check is marked, or has a calculation, or names the operator, or is one by its
	// look: a calculation with units. Evidence for a KILL is counted in points: items, sections and records it refers to.
	named := isScaleCheck(p) || p.text("calculation") != "" || f["names Scale-Check"] != ""
	fact("scale_check", named || f["units"] != "" && f["calculating"] != "")
	fact("scale_in_artifact", items.has(assumptionLedger, isScaleCheck))
	fact("claims_mechanism", d.Operation != Kill && (f["mechanism"] != "" || f["mechanism_word"] != ""))
	fact("registers", d.Section == anomalyRegister && d.Operation != Kill)
	fact("observed", p.text("name") != "" && p.text("observation") != "" && len(p.list("conflicts_with")) > 0)
	points := pattern("point").FindAllString(p.text("reason")+"\n"+d.rationale, -1)
	points = slices.DeleteFunc(distinct(points), func(id string) bool { return d.TargetID != nil && id == *d.TargetID })
	f["points"] = listed(points)
	fact("several_points", len(points) >= 2)
	fact("alternative", d.Operation != Kill && (p.flag("real_third_alternative") || isThird(p)))
}

// whole returns the payload, laid over the edited item if the artifact has it.
func (d *Delta) whole(items ledger) Item {
	whole := Item{}
	if d.Operation == Edit && d.TargetID != nil {
		maps.Copy(whole, items.find(d.Section, *d.TargetID))
	}
	maps.Copy(whole, d.payload)
	return whole
}

// restates reports whether nine of ten words of the rationale, and at least four, stand in the payload.
func restates(rationale, payload string) bool {
	long := func(s string) []string { return pattern("long_word").FindAllString(strings.ToLower(s), -1) }
	known, words, same := distinct(long(payload)), long(rationale), 0
	for _, w := range words {
		if _, ok := slices.BinarySearch(known, w); ok {
			same++
		}
	}
	return same >= 4 && 10*same >= 9*len(words)
}

// mixedUp returns a sentence that says of one thing that it cannot and that it will not, in quotes.
func mixedUp(text string) string {
	for _, s := range sentences(strings.ReplaceAll(text, "’", "'")) {
		levels, _ := tables().Phrases["level_words"].find(s, false)
		if pattern("cannot").MatchString(s) && pattern("will_not").MatchString(s) && levels == "" {
			return quoted(s)
		}
	}
	return ""
}
