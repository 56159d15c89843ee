package contribution

import (
	"fmt"
	"strings"

	"waymark/score/rubric"
)

// What is warned of.
const (
	warnSprawl       = "hypothesis_sprawl"
	warnUnverified   = "unverified_claim"
	warnWeakAssay    = "weak_assay_design"
	warnNotOfRole    = "score_not_of_role"
	warnContext      = "context_not_used"
	warnNoDelta      = "no_delta"
	warnNotConverged = "not_converging"
	warnCoverage     = "low_operator_coverage"
	warnDeclining    = "declining_quality"
)

// foreign warns of given scores that belong to other roles.
func (m *message) foreign() []string {
	var names []string
	for _, name := range sortedKeys(m.Scores) {
		if _, ok := rubrics()[m.Role].Dimension(name); !ok {
			names = append(names, name)
		}
	}
	if names == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s: scores.%s: not used, since it is no criterion of a %s", warnNotOfRole, strings.Join(names, ", "), m.Role)}
}

// warnings are those of one delta.
func (s *scene) warnings(m *message, d *Delta, out Scored, res rubric.Result) []string {
	var list []string
	warn := func(name, format string, args ...any) {
		list = append(list, fmt.Sprintf("%s: line %d: %s", name, d.Line, fmt.Sprintf(format, args...)))
	}
	for _, w := range res.Warnings {
		more := ""
		if *out.Upper > *out.Composite {
			more = fmt.Sprintf("; up to %v if a person finds more", *out.Upper)
		}
		warn(w.Name, "%v of %v: %s%s", *out.Composite, *out.Max, w.Text, more)
	}
	if c, ok := out.Criteria["scale_check"]; ok && c.Score == 0 && d.claimsMechanism() && !s.artifact.hasScaleCheck() {
		warn(warnUnverified, "a mechanism is claimed without a scale check")
	}
	if c, ok := out.Criteria["potency"]; ok && c.Score < 2 && d.Section == discriminativeTests && d.Operation != Kill {
		warn(warnWeakAssay, "the potency check of a test scores %d of %d", c.Score, c.Max)
	}
	return list
}

// claimsMechanism reports whether a delta proposes how something works.
func (d *Delta) claimsMechanism() bool {
	return d.Operation != Kill && (d.Payload.text("mechanism") != "" || ways()["mechanism_word"].say(d.Payload.text("attack")+"\n"+d.Payload.text("statement")))
}

// A tally counts hypotheses added and killed.
type tally struct{ adds, kills int }

// count looks at the valid deltas of the hypothesis slate.
func count(deltas []Delta) (t tally) {
	for i := range deltas {
		switch d := &deltas[i]; {
		case !d.Valid() || d.Section != hypothesisSlate:
		case d.Operation == Add:
			t.adds++
		case d.Operation == Kill:
			t.kills++
		}
	}
	return t
}

// sprawl warns of hypotheses that are only added.
func sprawl(t tally) []string {
	if t.adds > 3 && t.kills == 0 {
		return []string{fmt.Sprintf("%s: %d hypotheses were added and none was killed", warnSprawl, t.adds)}
	}
	return nil
}
