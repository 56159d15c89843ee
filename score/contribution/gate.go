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

// A gate is the name of one; gates has its consequence.
type gate string

const (
	gateJSON    gate = "invalid_json"
	gatePotency gate = "missing_potency_check"
	gateAnchor  gate = "fake_anchor"
	gateKill    gate = "kill_without_rationale"
	gateThird   gate = "third_alternative_missing"
)

var gates = map[gate]string{gateJSON: "delta_rejected", gatePotency: "test_rejected", gateAnchor: "contribution_flagged", gateKill: "kill_rejected",
	gateThird: "set_incomplete"}

// fails is the gate as it is reported.
func (g gate) fails(delta, line int, format string, args ...any) Gate {
	return Gate{string(g), gates[g], delta, line, fmt.Sprintf(format, args...)}
}

// thirdGate reports whether a set of hypotheses that was changed is without a third alternative. The set is
// that of the artifact, or else what the deltas add.
func thirdGate(after *Artifact, deltas []Delta) (Gate, bool) {
	changed, found := false, false
	for i := range deltas {
		d := &deltas[i]
		if !d.Valid() || d.Section != hypothesisSlate {
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
