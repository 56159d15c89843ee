package contribution

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"waymark/rubric"
)

// TranscriptSections is how many sections the transcript has that the format was made for.
const TranscriptSections = 236

// How much a violation weighs.
const (
	SeverityError   = "error" // the artifact is not valid
	SeverityWarning = "warning"
	SeverityInfo    = "info"
)

// A Violation is a rule that an artifact breaks. The first letter of its id tells the severity, the second
// the section.
type Violation struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Item     string `json:"item,omitempty"`
	Line     int    `json:"line,omitempty"` // of a Markdown artifact
	Fix      string `json:"fix"`
}

// A LintReport is an artifact checked.
type LintReport struct {
	Artifact string `json:"artifact"` // its session
	Valid    bool   `json:"valid"`    // no error
	Summary  struct {
		Errors   int `json:"errors"`
		Warnings int `json:"warnings"`
		Info     int `json:"info"`
	} `json:"summary"`
	Violations []Violation `json:"violations"`
}

// Lint checks an artifact. Items that were killed count for nothing. Without anchors citations may point
// to the sections 1 to [TranscriptSections], and records of evidence are not looked up.
func Lint(a Artifact, anchors *Anchors) (LintReport, error) {
	return lint(a, anchors, nil)
}

// lint adds what reading the document found, and the lines where its items are.
func lint(a Artifact, anchors *Anchors, doc *document) (LintReport, error) {
	if err := anchors.check(); err != nil {
		return LintReport{}, err
	}
	n := 0
	for _, s := range Sections[1:] {
		n += len(*a.list(s))
	}
	if n > MaxItems {
		return LintReport{}, rubric.Refuse("artifact", "%d items are more than %d", n, MaxItems)
	}
	l := linter{a: a, known: anchors.corpus()}
	if l.known.max == 0 {
		l.known.max = TranscriptSections
	}
	if doc != nil {
		l.lines, l.found = doc.lines, doc.violations
	}
	l.metadata()
	l.ids()
	l.thread()
	l.hypotheses()
	l.predictions()
	l.tests()
	l.assumptions()
	l.critiques()
	l.citations()
	l.references()
	return l.report(), nil
}

type linter struct {
	a     Artifact
	known *corpus
	lines map[string]int
	found []Violation
}

func violation(id, item string, line int, fix, format string, args ...any) Violation {
	severity := map[byte]string{'E': SeverityError, 'W': SeverityWarning, 'I': SeverityInfo}[id[0]]
	return Violation{id, severity, fmt.Sprintf(format, args...), item, line, fix}
}

func (l *linter) add(id, item, fix, format string, args ...any) {
	l.found = append(l.found, violation(id, item, l.lines[item], fix, format, args...))
}

// report sorts by severity, rule and item.
func (l *linter) report() LintReport {
	rank := map[string]int{SeverityError: 0, SeverityWarning: 1, SeverityInfo: 2}
	slices.SortStableFunc(l.found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(rank[a.Severity], rank[b.Severity]), strings.Compare(a.ID, b.ID),
			strings.Compare(strings.TrimRight(a.Item, "0123456789."), strings.TrimRight(b.Item, "0123456789.")), cmp.Compare(idNumber(a.Item), idNumber(b.Item)))
	})
	r := LintReport{Artifact: l.a.Metadata.text("session_id"), Violations: l.found}
	if r.Violations == nil {
		r.Violations = []Violation{}
	}
	for _, v := range r.Violations {
		switch v.Severity {
		case SeverityError:
			r.Summary.Errors++
		case SeverityWarning:
			r.Summary.Warnings++
		default:
			r.Summary.Info++
		}
	}
	r.Valid = r.Summary.Errors == 0
	return r
}

func (l *linter) metadata() {
	m := l.a.Metadata
	if m.text("session_id") == "" {
		l.add("EM-002", "", "name the session", "metadata.session_id is missing")
	}
	created, okCreated := instant(m["created_at"])
	if !okCreated {
		l.add("EM-003", "", "write it like 2026-01-31T09:00:00Z", "metadata.created_at is no ISO 8601 time")
	}
	updated, okUpdated := instant(m["updated_at"])
	if !okUpdated {
		l.add("EM-003b", "", "write it like 2026-01-31T09:00:00Z", "metadata.updated_at is no ISO 8601 time")
	}
	if !slices.Contains([]string{"draft", "active", "closed"}, m.text("status")) {
		l.add("EM-004", "", "set it to draft, active or closed", "metadata.status %s is none of draft, active, closed", quoted(m.text("status")))
	}
	if list, _ := m["contributors"].([]any); len(list) == 0 {
		l.add("WM-001", "", "list who contributed", "metadata.contributors is empty")
	}
	if okCreated && okUpdated && updated.Before(created) {
		l.add("WM-002", "", "an artifact is not updated before it is created", "metadata.updated_at is before created_at")
	}
	if v, ok := m["version"].(float64); !ok || v != math.Trunc(v) {
		l.add("IM-002", "", "count versions from 1", "metadata.version is no whole number")
	}
}

// ids looks at the form of ids and for those that come twice, killed items included.
func (l *linter) ids() {
	for _, s := range Sections[1:] {
		seen := map[string]bool{}
		for i, it := range *l.a.list(s) {
			id := it.id()
			if !layouts[s].id.MatchString(id) {
				l.add("ES-003", id, "ids are "+layouts[s].prefix+"1, "+layouts[s].prefix+"2, …", "%s[%d] has the id %s", s, i, quoted(id))
			} else if seen[id] {
				l.add("ES-004", id, "give each item an id of its own", "%s comes twice in %s", id, s)
			}
			seen[id] = true
		}
	}
}

func (l *linter) thread() {
	rt := l.a.Sections.ResearchThread
	if rt.text("statement") == "" {
		l.add("ER-001", "RT", "EDIT research_thread with a statement", "the research thread has no statement")
	}
	if rt.text("context") == "" {
		l.add("ER-002", "RT", "EDIT research_thread with a context", "the research thread has no context")
	}
	if len(rt.texts("anchors")) == 0 {
		l.add("WR-001", "RT", "cite a section such as §42, or mark it [inference]", "the research thread has no anchors")
	}
}

// wants reports the items of a section without a field.
func (l *linter) wants(s Section, id, name string) {
	for _, it := range l.a.active(s) {
		if it.text(name) == "" {
			l.add(id, it.id(), "add "+name, "%s has no %s", it.id(), name)
		}
	}
}

func (l *linter) least(s Section, id string, n int) {
	if have := len(l.a.active(s)); have < n {
		l.add(id, "", "ADD to "+string(s), "%s has %d active items, at least %d are needed", s, have, n)
	}
}

func (l *linter) hypotheses() {
	l.least(HypothesisSlate, "EH-001", 3)
	if n := len(l.a.active(HypothesisSlate)); n > MaxHypotheses {
		l.add("EH-002", "", "KILL or merge some", "hypothesis_slate has %d active items, at most %d are possible", n, MaxHypotheses)
	}
	if !l.a.hasThirdAlternative() {
		l.add("EH-003", "", "mark one hypothesis with third_alternative: true", "no active hypothesis is the third alternative")
	}
	l.wants(HypothesisSlate, "EH-004", "claim")
	for _, h := range l.a.active(HypothesisSlate) {
		anchors := h.texts("anchors")
		if len(anchors) == 0 {
			l.add("WH-001", h.id(), "cite a section such as §42, or mark it [inference]", "%s has no anchors", h.id())
		}
		if slices.ContainsFunc(anchors, pureInference) {
			l.add("WP-P02", h.id(), "write [inference] from §n", "%s is inferred, but not said from what", h.id())
		}
	}
}

// pureInference reports whether an anchor is an inference without a source.
func pureInference(anchor string) bool {
	s := strings.ToLower(anchor)
	return s == "inference" || strings.Contains(s, "[inference]") && !strings.Contains(s, "from")
}

func (l *linter) predictions() {
	l.least(PredictionsTable, "EP-001", 3)
	hypotheses := l.a.active(HypothesisSlate)
	for _, p := range l.a.active(PredictionsTable) {
		said := p.perHypothesis("predictions")
		different := map[string]bool{}
		for _, h := range hypotheses {
			if o := plain(cmp.Or(said[h.id()], said[strings.ToLower(h.id())])); o != "" {
				different[o] = true
			}
		}
		if len(different) < 2 && len(hypotheses) > 1 {
			l.add("WP-001", p.id(), "predict different outcomes for two hypotheses at least", "%s tells no active hypotheses apart", p.id())
		}
	}
}

func (l *linter) tests() {
	l.least(DiscriminativeTests, "ET-001", 2)
	l.wants(DiscriminativeTests, "ET-002", "procedure")
	tests := l.a.active(DiscriminativeTests)
	before, ranked := 12, true
	for _, t := range tests {
		if len(t.perHypothesis("expected_outcomes")) == 0 {
			l.add("ET-003", t.id(), "add expected_outcomes such as {\"H1\": …, \"H2\": …}", "%s has no expected outcomes", t.id())
		}
		switch check := t.text("potency_check"); {
		case noPotency(check):
			l.add("WT-001", t.id(), "say how a failed assay is told from no effect", "%s has no potency check", t.id())
		case !slices.Contains(cite(&Delta{Rationale: check}, l.known).sections, "§50"):
			l.add("IP-P02", t.id(), "§50 is where that principle stands", "the potency check of %s does not cite §50", t.id())
		}
		sum, _, _ := t.rating()
		if t["score"] == nil {
			l.add("WT-003", t.id(), "add score with likelihood_ratio, cost, speed and ambiguity", "%s has no score", t.id())
		}
		ranked, before = ranked && sum <= before, sum
	}
	if !ranked {
		l.add("WT-002", "", "sort by likelihood_ratio + cost + speed + ambiguity", "the tests are not in the order of their scores")
	}
}

func (l *linter) assumptions() {
	l.least(AssumptionLedger, "EA-001", 3)
	if !l.a.hasScaleCheck() {
		l.add("EA-002", "", "add an assumption with scale_check: true and a calculation", "no active assumption is a scale check")
	}
	l.wants(AssumptionLedger, "EA-003", "statement")
	for _, it := range l.a.active(AssumptionLedger) {
		if it.flag("scale_check") && it.text("calculation") == "" {
			l.add("WA-003", it.id(), "calculate, with numbers and units", "%s is a scale check without a calculation", it.id())
		}
	}
}

func (l *linter) critiques() {
	l.least(AdversarialCritique, "EC-001", 2)
	l.wants(AdversarialCritique, "EC-002", "attack")
	l.wants(AdversarialCritique, "WC-002", "evidence")
	l.wants(AdversarialCritique, "IC-001", "current_status")
	if !slices.ContainsFunc(l.a.active(AdversarialCritique), func(c Item) bool { return c.flag("real_third_alternative") }) {
		l.add("WC-001", "", "mark one with real_third_alternative: true", "no active critique is a real third alternative")
	}
}

// citations looks up every citation of every active item.
func (l *linter) citations() {
	look := func(it Item, id string) {
		if c := cite(&Delta{Payload: it}, l.known); len(c.fake) > 0 {
			l.add("EP-P01", id, "cite what exists: §1 to §"+strconv.Itoa(l.known.max), "%s cites %s, which does not exist", id, listed(c.fake))
		}
	}
	look(l.a.Sections.ResearchThread, "RT")
	for _, s := range Sections[1:] {
		for _, it := range l.a.active(s) {
			look(it, it.id())
		}
	}
}

// relations are how an item may refer to one of another session.
var relations = []string{"extends", "refines", "refutes", "informed_by", "supersedes", "replicates"}

func (l *linter) references() {
	look := func(it Item, id string) {
		if it["references"] == nil {
			return
		}
		list, ok := it["references"].([]any)
		if !ok {
			l.add("ER-REF-001", id, "references is a list", "the references of %s are no list", id)
			return
		}
		for i, e := range list {
			m, ok := e.(map[string]any)
			ref := Item(m)
			switch {
			case !ok:
				l.add("ER-REF-002", id, "a reference is an object with session, item and relation", "references[%d] of %s is no object", i, id)
				continue
			case ref.text("session") == "":
				l.add("ER-REF-003", id, "name the session", "references[%d] of %s has no session", i, id)
			}
			if ref.text("item") == "" {
				l.add("ER-REF-004", id, "name the item", "references[%d] of %s has no item", i, id)
			}
			if !slices.Contains(relations, ref.text("relation")) {
				l.add("ER-REF-005", id, "one of "+strings.Join(relations, ", "), "references[%d] of %s has the relation %s", i, id, quoted(ref.text("relation")))
			}
		}
	}
	look(l.a.Sections.ResearchThread, "RT")
	for _, s := range Sections[1:] {
		for _, it := range l.a.active(s) {
			look(it, it.id())
		}
	}
}
