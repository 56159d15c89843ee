package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest"
)

// Feedback stores what became of a suggestion. A repetition of a request counts again.
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
	_, err = e.appendOne(ctx, func(w *writer) (entry, bool, error) {
		v := feedback{ID: f.ID, Used: f.Used, Outcome: f.Outcome, Source: source}
		for i, spelling := range append(slices.Clone(f.Context), f.ID) {
			id, err := w.state.Resolve(spelling)
			if err == nil {
				id, err = catalog.Identifier("id", id, catalog.MaxID)
			}
			field := fmt.Sprintf("context[%d]", i)
			if i == len(f.Context) {
				field = "id"
			}
			switch {
			case err != nil:
				return entry{}, false, &suggest.RequestError{Kind: suggest.Invalid, Field: field, Detail: err.Error()}
			case !w.state.Knows(id):
				return entry{}, false, &suggest.RequestError{Kind: suggest.NotFound, Field: field,
					Detail: fmt.Sprintf("%q is in no catalog and no episode", id)}
			case field == "id":
				v.ID = id
			default:
				v.Context = append(v.Context, id)
			}
		}
		payload, err := encode(kindFeedback, v)
		return entry{kindFeedback, "", payload, &v, nil}, true, err
	})
	return e.Counted(), err
}
