package run

// CapabilityRun is how one capability fared in a run: the one asked for, or one within it.
type CapabilityRun struct {
	ID         string
	Path       string    // of its node; empty: it is what was run
	Outcome    NodeState // NodeDone, or NodeFailed because of what its tools did; empty if that says nothing of it
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

// CapabilityRuns lists the capabilities of a run that has ended, as far as they were begun.
func (p *Plan) CapabilityRuns(s Status) []CapabilityRun {
	var all []CapabilityRun
	outcome := func(r *CapabilityRun, state NodeState, kind Failure) {
		switch {
		case state == NodeDone:
			r.Outcome = NodeDone
		case state == NodeFailed && kind.Held():
			r.Outcome, r.ErrorKind = NodeFailed, kind
		}
	}
	if def, ok := p.defs[p.request.Capability]; ok && len(def.Tasks) > 0 {
		r := CapabilityRun{ID: def.ID, DurationMS: s.EndedAt.Sub(s.StartedAt).Milliseconds()}
		state, kind := NodeDone, p.Failure(s)
		if s.State == Failed {
			state = NodeFailed
		}
		outcome(&r, state, kind)
		all = append(all, r)
	}
	for i, n := range p.nodes {
		now := s.Nodes[i]
		if n.kind == kindTool || now.State != NodeDone && now.State != NodeFailed {
			continue
		}
		def := p.defs[n.task.Tool]
		r := CapabilityRun{ID: def.ID, Path: n.path, DurationMS: now.DurationMS}
		outcome(&r, now.State, now.ErrorKind)
		all = append(all, r)
	}
	return all
}
