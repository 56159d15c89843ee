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

// query is one question to a model.
type query struct {
	*Model
	*scratch
	mode      Mode
	wording   requestText
	last      int32 // the last known one, or episodic.NoTool
	cluster   int32 // the cluster that stands for the situation, -1 = none
	allow     []string
	profile   string         // that answers
	rated     int32          // the node of rate, -1 = none
	rate      episodic.Rate  // of that node after the last step
	around    *rank.Around   // the graph as it is seen from the context
	learned   *learned       // what the ranking is of
	ranking   *rank.Answer   // nil where nothing can be ranked: in an exploration, and after unknown steps alone
	reference bool           // scores are those of the reference, without what was learned
	planned   *rank.Plan     // if a plan was asked for; ranking is its answer
	looking   bool           // a search: what is asked for decides, not what usually comes next
	kinds     []catalog.Kind // of the results; empty: both
	bound     float64        // of confidences: below 1 for an intent that nothing serves
	warnings  []string

	withheld *Exclusions
}

// requestText is what was asked in words.
type requestText struct {
	wished   string             // the intent as it was asked
	intent   string             // with misspelt words corrected
	match    *semantic.Matching // with all texts; nil if nothing asked for it
	endpoint map[int32]float64  // nearness of texts by an embeddings endpoint, by their numbers
}

// checkSizes applies the limits that keep the cost of a question bounded. What an element means is checked later.
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

// newQuery starts a query; close must follow.
func (m *Model) newQuery(context []string, intent string, allow []string) (*query, error) {
	if err := checkSizes(context, intent, allow); err != nil {
		return nil, err
	}
	s := scratchWithCapacity(m.Counts.Buffers, len(m.IDs))
	s.begin()
	q := &s.asked
	wished := strings.TrimSpace(intent)
	if intent = wished; intent != "" {
		intent = m.measures.texts.texts().Matcher().Spelled(wished, m.said)
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
		q.nodes.inFlight[u] = true
	}
	// Patterns that match no id are most likely misspelt; an empty answer alone would not say so.
	if len(m.IDs) > 0 && !slices.ContainsFunc(m.IDs, q.permitted) {
		q.warn(WarnNothingAllowed)
	}
	return q, nil
}

// close hands the buffers back to the pool. The query must not be used after it: it lives in them.
func (q *query) close() {
	if q.wording.match != nil {
		q.wording.match.Close()
	}
	if q.around != nil {
		q.around.Close()
	}
	s, pool := q.scratch, q.Counts.Buffers
	*q = query{} // keeps no model alive
	pool.Put(s)
}

// matching is the intent compared with all texts.
func (q *query) matching() *semantic.Matching {
	if q.wording.match == nil {
		q.wording.match = q.measures.texts.texts().Matcher().Match(q.wording.intent)
	}
	return q.wording.match
}

// textCandidates is how many texts that an endpoint places near the intent are candidates.
const textCandidates = 256

// nearByEndpoint notes which texts an embeddings endpoint places near the intent.
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
