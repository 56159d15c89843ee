package live

import (
	"cmp"
	"context"
	"fmt"

	"waymark/episodic"
	"waymark/suggest"
)

// Feedback stores the outcome of a suggestion. A repeated call counts again.
func (e *Engine) Feedback(ctx context.Context, source string, f Feedback) (seq uint64, err error) {
	if f.Outcome != "" && f.Outcome != episodic.Unknown && !f.Outcome.Known() {
		return 0, &suggest.RequestError{Kind: suggest.Invalid, Field: "outcome", Detail: fmt.Sprintf("unknown outcome %q: want success, failure or unknown", f.Outcome)}
	}
	if f.SuggestionID != "" {
		answer, known := e.answers.Get(f.SuggestionID)
		if !known && (f.ID == "" || f.Context == nil) {
			return 0, &suggest.RequestError{Kind: suggest.NotFound, Field: "suggestion_id",
				Detail: fmt.Sprintf("%q is not among the last %d answers; send context and id instead", f.SuggestionID, servedLimit)}
		}
		if known {
			f.Context = answer.Context
			f.ID = cmp.Or(f.ID, answer.First)
		}
	}
	if f.ID == "" {
		return 0, &suggest.RequestError{Kind: suggest.Invalid, Field: "id", Detail: "is empty; say which suggestion is meant"}
	}
	if f.Outcome == "" {
		f.Outcome = episodic.Unknown
	}
	a, err := e.append(ctx, true, func(w *writer) (_ []entry, err error) {
		v := feedback{Used: f.Used, Outcome: f.Outcome, Source: source}
		for i, spelling := range f.Context {
			id, err := w.knownTool(fmt.Sprintf("context[%d]", i), spelling)
			if err != nil {
				return nil, err
			}
			v.Context = append(v.Context, id)
		}
		if v.ID, err = w.knownTool("id", f.ID); err != nil {
			return nil, err
		}
		one, err := newEntry(kindFeedback, "", &v)
		return []entry{one}, err
	})
	return a.seq, err
}
