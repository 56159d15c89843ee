package suggest

import (
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest/learn/rank"
	"waymark/suggest/semantic"
)

// query is one request to a model.
type query struct {
	*Model
	*scratch
	mode      Mode
	wording   requestText
	last      int32 // the last known node of the context, or episodic.NoTool
	cluster   int32 // the cluster of the last step, else of the best match; -1 = none
	allow     []string
	profile   string         // the profile that answers
	rated     int32          // the node of rate, -1 = none
	rate      episodic.Rate  // of that node after the last step
	around    *rank.Around   // the graph around the context
	learned   *learned       // the models that made the ranking
	ranking   *rank.Answer   // nil in exploration mode, and if only the graph has evidence
	reference bool           // scores are those of the reference, without learned models
	planned   *rank.Plan     // set for the plan of an intent; ranking is its answer
	isSearch  bool           // a search: ranks by the words of the query, not by the usual next step
	kinds     []catalog.Kind // of the results; empty: both
	bound     float64        // upper bound of confidences: below 1 for a foreign intent
	warnings  []string

	withheld *Exclusions
}

// requestText is the intent or query of a request.
type requestText struct {
	wished   string             // the intent as written in the request
	intent   string             // with misspelt words corrected
	match    *semantic.Matching // match with all texts; nil until first used
	endpoint map[int32]float64  // by number of a text, its nearness by an embeddings endpoint
}

// checkSizes applies the limits that bound the cost of a request. The elements themselves are checked later.
func checkSizes(context []string, intent string, allow []string) error {
	if len(context) > MaxContext {
		return &RequestError{Invalid, "context", fmt.Sprintf("has %d elements, at most %d", len(context), MaxContext)}
	}
	if len(intent) > MaxQuery {
		return &RequestError{Invalid, "intent", fmt.Sprintf("has %d bytes, at most %d", len(intent), MaxQuery)}
	}
	if len(allow) > MaxAllow {
		return &RequestError{Invalid, "allow", fmt.Sprintf("has %d patterns, at most %d", len(allow), MaxAllow)}
	}
	for i, pattern := range allow {
		if pattern == "" {
			return &RequestError{Invalid, fmt.Sprintf("allow[%d]", i), "is empty"}
		}
	}
	return nil
}

// newQuery starts a query, which must be closed.
func (m *Model) newQuery(context []string, intent string, allow []string) (*query, error) {
	if err := checkSizes(context, intent, allow); err != nil {
		return nil, err
	}
	s := scratchWithCapacity(m.Counts.Buffers, len(m.IDs))
	s.begin()
	q := &s.query
	wished := strings.TrimSpace(intent)
	if intent = wished; intent != "" {
		intent = m.measures.texts.texts().Matcher().Spelled(wished, m.hasStemOutsideIndex)
	}
	*q = query{Model: m, scratch: s, wording: requestText{wished: wished, intent: intent}, last: episodic.NoTool, cluster: -1, rated: -1, allow: allow, bound: 1, reference: true, warnings: []string{}}
	for i, spelling := range context {
		if spelling == "" {
			q.close()
			return nil, &RequestError{Invalid, fmt.Sprintf("context[%d]", i), "is empty"}
		}
		n, ok, err := m.node(spelling)
		if err != nil {
			q.close()
			return nil, &RequestError{Invalid, fmt.Sprintf("context[%d]", i), err.Error()}
		}
		if !ok {
			q.warn(WarnUnknownContext)
			q.spelled = append(q.spelled, spelling)
			continue
		}
		q.context, q.spelled = append(q.context, n), append(q.spelled, m.IDs[n])
	}
	q.distinct = append(q.distinct, q.context...)
	slices.Sort(q.distinct)
	q.distinct = slices.Compact(q.distinct)
	q.around = m.graph.Around(q.context)
	if len(q.context) > 0 {
		q.last = q.context[len(q.context)-1]
		q.cluster = m.cluster(q.last)
	}
	switch {
	case q.wording.intent != "":
		q.mode = Active
	case len(context) > 0:
		q.mode = Passive
	default:
		q.mode = Exploration
	}
	for _, u := range q.distinct {
		q.addCandidate(u)
		q.nodes.inContext[u] = true
	}
	// Patterns that match no id are most likely misspelt. The warning distinguishes this from other empty answers.
	if len(m.IDs) > 0 && !slices.ContainsFunc(m.IDs, q.permitted) {
		q.warn(WarnNothingAllowed)
	}
	return q, nil
}

// close returns the buffers to the pool. The query must not be used afterwards, because it is part of the buffers.
func (q *query) close() {
	if q.wording.match != nil {
		q.wording.match.Close()
	}
	if q.around != nil {
		q.around.Close()
	}
	s, pool := q.scratch, q.Counts.Buffers
	*q = query{} // so that the pool keeps no model alive
	pool.Put(s)
}

// matching returns the match of the intent with all texts, computed on first use.
func (q *query) matching() *semantic.Matching {
	if q.wording.match == nil {
		q.wording.match = q.measures.texts.texts().Matcher().Match(q.wording.intent)
	}
	return q.wording.match
}

// textCandidates is the number of texts nearest to the intent by an embeddings endpoint that become candidates.
const textCandidates = 256

// nearByEndpoint stores the texts nearest to the intent by an embeddings endpoint, given the vector of the intent.
func (q *query) nearByEndpoint(vector []float32) {
	if q.wording.endpoint != nil || len(vector) == 0 {
		return
	}
	q.wording.endpoint = map[int32]float64{}
	for _, hit := range q.measures.texts.vectors.Near(vector, textCandidates) {
		q.wording.endpoint[hit.Doc] = hit.Score
	}
}

// warn adds a warning once, in order of appearance.
func (q *query) warn(w string) {
	if !slices.Contains(q.warnings, w) {
		q.warnings = append(q.warnings, w)
	}
}
