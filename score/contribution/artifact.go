package contribution

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"waymark/score/rubric"
)

// An Artifact is the document that a session works on. Items keep whatever fields they bring.
type Artifact struct {
	Metadata Item  `json:"metadata" required:"false"`
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

// maxItems is how many items an artifact may have.
const maxItems = 10_000

// maxHypotheses is how many hypotheses may be active at a time.
const maxHypotheses = 6

func (a *Artifact) check() error {
	if a == nil {
		return nil
	}
	for _, s := range Sections[1:] {
		seen := map[string]bool{}
		for i, it := range *a.list(s) {
			switch id := it.id(); {
			case !layouts()[s].id.MatchString(id):
				return rubric.Refuse(fmt.Sprintf("artifact.sections.%s[%d].id", s, i), "%s is no id of this section, whose ids begin with %s", quoted(id), layouts()[s].Prefix)
			case seen[id]:
				return rubric.Refuse(fmt.Sprintf("artifact.sections.%s[%d].id", s, i), "%s comes twice", id)
			default:
				seen[id] = true
			}
		}
	}
	return a.checkSize()
}

func (a *Artifact) checkSize() error {
	n := 0
	for _, s := range Sections[1:] {
		n += len(*a.list(s))
	}
	return rubric.AtMost("artifact", n, maxItems)
}

// list returns the items of a section other than the research thread.
func (a *Artifact) list(s Section) *[]Item {
	p := &a.Sections
	return [...]*[]Item{&p.HypothesisSlate, &p.PredictionsTable, &p.DiscriminativeTests, &p.AssumptionLedger, &p.AnomalyRegister,
		&p.AdversarialCritique}[slices.Index(Sections, s)-1]
}

// find is the item of that id in a section other than the research thread, nil if there is none.
func (a *Artifact) find(s Section, id string) Item {
	for _, it := range *a.list(s) {
		if it.id() == id {
			return it
		}
	}
	return nil
}

// active are the items of a section that are not killed.
func (a *Artifact) active(s Section) []Item {
	return slices.DeleteFunc(slices.Clone(*a.list(s)), Item.killed)
}

func (a *Artifact) hasThirdAlternative() bool {
	return a != nil && slices.ContainsFunc(a.active(hypothesisSlate), Item.thirdAlternative)
}

func (a *Artifact) hasScaleCheck() bool {
	return a != nil && slices.ContainsFunc(a.active(assumptionLedger), func(it Item) bool { return it.flag("scale_check") })
}

// nextID is one more than the largest number that a section ever had, so that no id names two things.
func (a *Artifact) nextID(s Section) string {
	largest := 0
	for _, it := range *a.list(s) {
		largest = max(largest, idNumber(it.id()))
	}
	return layouts()[s].Prefix + strconv.Itoa(largest+1)
}

// idNumber is the first number of an id: 2 for T2 and for P2.H1.
func idNumber(id string) int {
	number, _, _ := strings.Cut(strings.TrimLeft(id, "HPTAXC"), ".")
	n, _ := strconv.Atoi(number)
	return n
}

// skip is the reason for a delta without effect.
type skip string

func (s skip) Error() string { return string(s) }

// apply carries out a valid delta, so far as later deltas and scores depend on it. The error of a delta without effect is
// a skip.
func (a *Artifact) apply(d *Delta) (warnings []string, err error) {
	if d.Section == researchThread {
		return nil, nil
	}
	if d.Operation == Add {
		if d.Section == hypothesisSlate && len(a.active(hypothesisSlate)) >= maxHypotheses {
			return nil, fmt.Errorf("there are %d active hypotheses already; KILL one first", maxHypotheses)
		}
		it := Item{"id": a.nextID(d.Section)}
		it.set(d.Payload)
		*a.list(d.Section) = append(*a.list(d.Section), it)
		return nil, nil
	}
	it := a.find(d.Section, d.TargetID)
	switch {
	case it == nil:
		return nil, fmt.Errorf("%s has no item %s", d.Section, d.TargetID)
	case it.killed() && d.Operation == Kill:
		return nil, skip(d.TargetID + " was killed before")
	case it.killed():
		return nil, skip(d.TargetID + " was killed; to bring it back, ADD it anew")
	case d.Operation == Edit:
		it.set(d.Payload)
		return nil, nil
	}
	third, scale := a.hasThirdAlternative(), a.hasScaleCheck()
	it["killed"] = true
	if third && !a.hasThirdAlternative() {
		warnings = append(warnings, "no_third_alternative: "+d.TargetID+" was the last one")
	}
	if scale && !a.hasScaleCheck() {
		warnings = append(warnings, "no_scale_check: "+d.TargetID+" was the last one")
	}
	return warnings, nil
}
