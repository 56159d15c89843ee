package live

import "waymark/suggest"

// WhatIf orders the candidates of a question by other weights. It is no answer to anybody, so it is not logged.
func (e *Engine) WhatIf(m *suggest.Model, r suggest.NextRequest, weights map[string]float64) (suggest.WhatIf, error) {
	explain := true
	r.Limit, r.Explain, r.Withheld = suggest.MaxLimit, &explain, e.withheld()
	a, err := m.Next(r)
	if err != nil {
		return suggest.WhatIf{}, err
	}
	return suggest.Reweigh(a, weights)
}
