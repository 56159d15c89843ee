package live

import "waymark/suggest"

// Withhold keeps ids out of all answers until it is called again; nil keeps nothing out. What was learned
// of them stays as it is. It is not in the log: whoever decides it says so anew after a start.
func (e *Engine) Withhold(w *suggest.Withheld) { e.withheld.Store(w) }

// Explain says why an id is, or is not, suggested, with what is withheld.
func (e *Engine) Explain(m *suggest.Model, r suggest.ExplainRequest) (suggest.ExplainAnswer, error) {
	r.Withheld = e.withheld.Load()
	return m.Explain(r)
}
