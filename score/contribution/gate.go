package contribution

import "fmt"

// A Gate is a failure that no score makes up for.
type Gate struct {
	Gate        string `json:"gate"`
	Consequence string `json:"consequence"`
	Delta       int    `json:"delta,omitempty"` // its number in deltas, from 1; absent for others
	Line        int    `json:"line,omitempty"`  // of the text
	Detail      string `json:"detail"`
}

type gate int

const (
	gateJSON gate = iota
	gatePotency
	gateAnchor
	gateKill
	gateThird
)

// fails is the gate as it is reported.
func (g gate) fails(delta, line int, format string, args ...any) Gate {
	names := [...][2]string{
		gateJSON:    {"invalid_json", "delta_rejected"},
		gatePotency: {"missing_potency_check", "test_rejected"},
		gateAnchor:  {"fake_anchor", "contribution_flagged"},
		gateKill:    {"kill_without_rationale", "kill_rejected"},
		gateThird:   {"third_alternative_missing", "set_incomplete"},
	}
	return Gate{names[g][0], names[g][1], delta, line, fmt.Sprintf(format, args...)}
}

// thirdGate reports whether a set of hypotheses that was changed is without a third alternative. The set is
// that of the artifact, or else what the deltas add.
func thirdGate(after *Artifact, deltas []Delta) (Gate, bool) {
	changed, found := false, false
	for i := range deltas {
		d := &deltas[i]
		if !d.Valid() || d.Section != HypothesisSlate {
			continue
		}
		changed = changed || d.Operation == Add || after != nil
		found = found || d.Operation != Kill && d.Payload.thirdAlternative()
	}
	if after != nil {
		found = after.hasThirdAlternative()
	}
	if !changed || found {
		return Gate{}, false
	}
	return gateThird.fails(0, 0, "none of the hypotheses is marked or named as the third alternative"), true
}
