package live

import (
	"context"
	"fmt"
	"slices"

	"waymark/episodic"
	"waymark/storage"
)

// Record stores episodes and returns when they are durable. [outcomes] decides the outcome of each. source is the
// reporter; the source that an episode itself names is kept as its label. If no episode is valid, nothing is written.
func (e *Engine) Record(ctx context.Context, source string, episodes []episodic.Episode) (RecordResult, error) {
	r := RecordResult{Rejected: []Rejection{}}
	valid := make([]report, 0, len(episodes))
	for i := range episodes {
		ep, err := e.checked(source, episodes[i])
		if one := (report{line: i + 1, ep: ep}); err != nil {
			r.reject(one, err, false)
		} else {
			valid = append(valid, one)
		}
	}
	known, err := e.appendEpisodes(ctx, valid, &r)
	if err == nil && len(known) > 0 {
		err = e.compare(ctx, known, &r)
	}
	slices.SortStableFunc(r.Rejected, func(a, b Rejection) int { return a.Line - b.Line })
	return r, err
}

// report is a reported episode. If its id is recorded with other content, seq is the event under its id.
type report struct {
	line int
	ep   *episodic.Episode
	seq  uint64
	was  *episodic.Grown // the recorded episode; nil: erased
}

func (r *RecordResult) reject(of report, why error, conflict bool) {
	r.Rejected = append(r.Rejected, Rejection{Line: of.line, ID: of.ep.ID, Error: why.Error(), Conflict: conflict})
}

// verdict is the result for a valid episode whose id is recorded with other content.
type verdict uint8

const (
	grown     verdict = iota // its further steps are appended to the recorded ones
	duplicate                // nothing is written
	conflict                 // refused
)

// standing is the comparison of a reported episode with the episode that the log has under its id.
type standing struct {
	erased   bool   // the recorded episode was erased
	differs  string // the first contradiction; empty: none
	growable bool   // both have a session and the same source, and their steps are identified only by their order
	more     bool   // it has steps or an outcome that are not recorded
}

// outcomes is a decision table for an id that is recorded: the first row that applies decides. A new id is appended, and
// the recorded bytes are a duplicate. All paths that record whole episodes use it; single steps are recorded by
// [Engine.Perform].
var outcomes = []struct {
	name    string
	applies func(s *standing) bool
	outcome verdict
}{
	{"an erased episode", func(s *standing) bool { return s.erased }, conflict},
	{"a contradiction", func(s *standing) bool { return s.differs != "" }, conflict},
	{"the recorded content, or an earlier state", func(s *standing) bool { return !s.more }, duplicate},
	{"a later state", func(s *standing) bool { return s.growable }, grown},
	{"other steps, which cannot follow", func(*standing) bool { return true }, conflict},
}

func (s *standing) outcome() verdict {
	for i := range outcomes {
		if outcomes[i].applies(s) {
			return outcomes[i].outcome
		}
	}
	return conflict
}

// checked returns a reported episode in the form in which it is stored, without the data that is not kept. The error
// describes why the episode is invalid.
func (e *Engine) checked(source string, ep episodic.Episode) (*episodic.Episode, error) {
	ep.Steps = slices.Clone(ep.Steps)
	if ep.Label == "" && ep.Source != source {
		ep.Label = ep.Source
	}
	ep.Source = source
	if e.opts.DropIntents {
		ep.Intent = ""
	}
	if e.opts.DropDigests {
		for j := range ep.Steps {
			ep.Steps[j].Inputs, ep.Steps[j].Outputs = nil, nil
		}
	}
	if err := ep.Normalise(); err != nil {
		return &ep, err
	}
	if err := ep.Validate(e.opts.Now()); err != nil || e.opts.KeepSecrets {
		return &ep, err
	}
	return redacted(&ep), nil
}

// appendEpisodes stores the episodes whose ids are new and returns those whose ids are recorded with other
// content.
func (e *Engine) appendEpisodes(ctx context.Context, valid []report, r *RecordResult) (known []report, err error) {
	var sent []report // what was appended
	invalid := len(r.Rejected)
	a, err := e.append(ctx, false, func(w *writer) ([]entry, error) {
		entries := make([]entry, 0, len(valid))
		sent, r.Rejected = nil, r.Rejected[:invalid]
		for _, one := range valid {
			entry, err := w.episodeEntry(one.ep)
			if err != nil {
				r.reject(one, err, false)
				continue
			}
			entries, sent = append(entries, entry), append(sent, one)
		}
		return entries, nil
	})
	for i, receipt := range a.receipts {
		switch receipt.Status {
		case storage.Stored:
			r.Accepted++
		case storage.Duplicate:
			r.Duplicates++
		default:
			sent[i].seq = receipt.Seq
			known = append(known, sent[i])
		}
	}
	r.Seq = a.seq
	return known, err
}

// episodeEntry resolves the ids of an episode and encodes it.
func (w *writer) episodeEntry(ep *episodic.Episode) (entry, error) {
	for i := range ep.Steps {
		id, err := w.state.Resolve(ep.Steps[i].Tool)
		if err != nil {
			return entry{}, fmt.Errorf("step %q: %w", ep.Steps[i].ID, err)
		}
		ep.Steps[i].Tool = id
	}
	return newEntry(kindEpisode, "episode/"+ep.ID, ep)
}
