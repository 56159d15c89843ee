package run

// CapabilityRun is how one capability fared in a run: the one asked for, or one within it.
type CapabilityRun struct {
	ID         string
	Path       string    // of its node; empty: it is what was run
	Outcome    NodeState // NodeDone, or NodeFailed because of what its tools did
	ErrorKind  Failure
	DurationMS int64
}

// Failure is whose fault it is that a run failed: that of the first node that failed and may not, else, where what
// came of the nodes is no answer, the tools'. It is empty for a run that did not fail.
func (p *Plan) Failure(s Status) Failure {
	if s.State != Failed {
		return ""
	}
	if n := p.firstFailure(s.Nodes, 0); n != nil {
		return n.ErrorKind
	}
	return FailedTool
}

// CapabilityRuns lists the capabilities of a run that has ended, as far as their end says something of them.
func (p *Plan) CapabilityRuns(s Status) (all []CapabilityRun) {
	add := func(r CapabilityRun) {
		if r.Outcome == NodeDone || r.Outcome == NodeFailed && r.ErrorKind.Held() {
			all = append(all, r)
		}
	}
	if def, ok := p.defs[p.request.Capability]; ok && len(def.Tasks) > 0 {
		state := NodeDone
		if s.State == Failed {
			state = NodeFailed
		}
		add(CapabilityRun{def.ID, "", state, p.Failure(s), s.EndedAt.Sub(s.StartedAt).Milliseconds()})
	}
	for i, n := range p.nodes {
		if now := s.Nodes[i]; n.kind != kindTool {
			add(CapabilityRun{p.defs[n.task.Tool].ID, n.path, now.State, now.ErrorKind, now.DurationMS})
		}
	}
	return all
}
