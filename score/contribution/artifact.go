package contribution

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"waymark/score"
)

// An Artifact is the document that a session works on. Items keep whatever fields they bring.
type Artifact struct {
	Metadata Item  `json:"metadata" required:"false"` // ignored
	Sections Parts `json:"sections" required:"false"`
}

// Parts are the sections of an artifact.
type Parts struct {
	ResearchThread      Item   `json:"research_thread" required:"false"`
	HypothesisSlate     []Item `json:"hypothesis_slate" required:"false"`
	PredictionsTable    []Item `json:"predictions_table" required:"false"`
	DiscriminativeTests []Item `json:"discriminative_tests" required:"false"`
	AssumptionLedger    []Item `json:"assumption_ledger" required:"false"`
	AnomalyRegister     []Item `json:"anomaly_register" required:"false"`
	AdversarialCritique []Item `json:"adversarial_critique" required:"false"`
}

// maxHypotheses is how many hypotheses may be active at a time.
const maxHypotheses = 6

// A ledger is the working copy of an artifact, since scoring is a pure function of its request: its items by section while
// deltas are applied; nil if no artifact was sent.
type ledger map[string][]Item

// copied are the items of an artifact, whose own stay as they are.
func (a *Artifact) copied() ledger {
	if a == nil {
		return nil
	}
	s, out := a.Sections, ledger{}
	lists := [][]Item{
		s.HypothesisSlate, s.PredictionsTable, s.DiscriminativeTests,
		s.AssumptionLedger, s.AnomalyRegister, s.AdversarialCritique,
	}
	for i, list := range lists {
		name := tables().Order[1+i]
		for _, it := range list {
			out[name] = append(out[name], maps.Clone(it))
		}
	}
	return out
}

func (a *Artifact) check() error {
	items := a.copied()
	for _, name := range tables().Order {
		s, seen := tables().Sections[name], map[string]bool{}
		for i, it := range items[name] {
			id, place := it.text("id"), fmt.Sprintf("artifact.sections.%s[%d].id", name, i)
			if !s.IDs.MatchString(id) {
				return score.Refuse(place, "%s is no id of this section, whose ids begin with %s", quoted(id), s.Prefix)
			}
			if seen[id] {
				return score.Refuse(place, "%s comes twice", id)
			}
			seen[id] = true
		}
	}
	return nil
}

func (l ledger) find(section, id string) Item {
	i := slices.IndexFunc(l[section], func(it Item) bool { return it.text("id") == id })
	if i < 0 {
		return nil
	}
	return l[section][i]
}

// active are the items of a section that are not killed.
func (l ledger) active(section string) []Item {
	return slices.DeleteFunc(slices.Clone(l[section]), func(it Item) bool { return it.flag("killed") })
}

func (l ledger) has(section string, is func(Item) bool) bool {
	return slices.ContainsFunc(l.active(section), is)
}

// apply carries out a valid delta, so far as later deltas and scores depend on it, or rejects it if the artifact does not
// allow it. Without an artifact it does nothing.
func (l ledger) apply(d *Delta) (warnings []string) {
	if l == nil || len(d.Errors) > 0 || d.Section == researchThread {
		return nil
	}
	if d.Operation == Add {
		if d.Section == hypothesisSlate && len(l.active(hypothesisSlate)) >= maxHypotheses {
			d.reject("there are %d active hypotheses already; KILL one first", maxHypotheses)
			return nil
		}
		l[d.Section] = append(l[d.Section], Item{"id": l.nextID(d.Section)}.with(d.payload))
		return nil
	}
	it := l.find(d.Section, *d.TargetID)
	third, scale := l.has(hypothesisSlate, isThird), l.has(assumptionLedger, isScaleCheck)
	switch killed := it.flag("killed"); {
	case it == nil:
		d.reject("%s has no item %s", d.Section, *d.TargetID)
	case killed && d.Operation == Kill:
		return []string{fmt.Sprintf("skipped: line %d: %s was killed before", d.Line, *d.TargetID)}
	case killed:
		return []string{fmt.Sprintf("skipped: line %d: %s was killed; to bring it back, ADD it anew", d.Line, *d.TargetID)}
	case d.Operation == Edit:
		it.with(d.payload)
		return nil
	default:
		it["killed"] = true
	}
	if third && !l.has(hypothesisSlate, isThird) {
		warnings = append(warnings, "no_third_alternative: "+*d.TargetID+" was the last one")
	}
	if scale && !l.has(assumptionLedger, isScaleCheck) {
		warnings = append(warnings, "no_scale_check: "+*d.TargetID+" was the last one")
	}
	return warnings
}

// with sets the fields that a payload may set.
func (it Item) with(payload Item) Item {
	for name, v := range payload {
		if !slices.Contains(reserved, name) {
			it[name] = v
		}
	}
	return it
}

// nextID is one more than the largest number that a section ever had, so that no id stands for two things.
func (l ledger) nextID(section string) string {
	prefix, largest := tables().Sections[section].Prefix, 0
	for _, it := range l[section] {
		number, _, _ := strings.Cut(strings.TrimPrefix(it.text("id"), prefix), ".") // P2.H1 is 2
		n, _ := strconv.Atoi(number)
		largest = max(largest, n)
	}
	return prefix + strconv.Itoa(largest+1)
}
